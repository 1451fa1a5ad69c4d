package sharding

import (
	"context"
	"errors"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// node is a process with one replica.
type node struct {
	s       *simulation
	name    string
	conn    *conn
	clock   *driftingClock
	replica *Replica
	stop    context.CancelFunc
	ended   chan error

	// The following is guarded by s.mu.
	resume chan struct{} // not nil while paused
	paused time.Time     // since when
	pauses int
	stall  bool // the next time that the clock is read, the process is paused before it goes on
	cut    time.Time
	dead   bool
}

// driftingClock goes faster or slower than time does, and stands in another year.
type driftingClock struct {
	began  time.Time
	offset time.Duration
	rate   float64
	// before and after are called before and after the clock is read. The process may be
	// paused in either.
	before, after func()
}

func (c *driftingClock) now() time.Time {
	c.before()
	defer c.after()
	return c.began.Add(c.offset + time.Duration(float64(time.Since(c.began))*c.rate))
}

func (c *driftingClock) timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(time.Duration(float64(d) / c.rate))
	return t.C, t.Stop
}

// wait blocks while the process is paused.
func (n *node) wait() {
	n.s.mu.Lock()
	resume := n.resume
	n.s.mu.Unlock()
	if resume != nil {
		<-resume
	}
}

// maybeStall pauses the process here, if that is due.
func (n *node) maybeStall() {
	n.s.mu.Lock()
	if n.stall {
		n.stall = false
		n.s.tally.add("pause after the clock was read", 1)
		n.pauseLocked(true)
	}
	n.s.mu.Unlock()
	n.wait()
}

// pause stops the process, as SIGSTOP does, or lets it go on. What a process has in
// progress while it is paused may overlap with the next owner's: the gap that no Lease can close.
func (n *node) pause(on bool) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.pauseLocked(on)
}

func (n *node) pauseLocked(on bool) {
	s := n.s
	switch {
	case on && n.resume == nil && !n.dead:
		n.resume, n.paused = make(chan struct{}), time.Now()
		n.pauses++
		s.tally.add("pause", 1)
		for _, who := range s.inProgress {
			if excused := who[n]; excused != nil {
				*excused = true
			}
		}
	case !on && n.resume != nil:
		if time.Since(n.paused) > renewDeadline*5/4 {
			s.tally.add("pause longer than the renew deadline", 1)
		}
		close(n.resume)
		n.resume = nil
	}
}

// sever cuts the process off, or connects it again.
func (n *node) sever(off bool) {
	n.s.mu.Lock()
	switch {
	case off && n.cut.IsZero():
		n.cut = time.Now()
		n.s.tally.add("cut", 1)
	case !off && !n.cut.IsZero():
		if time.Since(n.cut) > leaseDuration*5/4 {
			n.s.tally.add("cut longer than the lease duration", 1)
		}
		n.cut = time.Time{}
	}
	n.s.mu.Unlock()
	n.conn.sever(off)
}

// crash ends the process at once. It returns false if it is dead already.
func (n *node) crash() bool {
	n.s.mu.Lock()
	if n.dead {
		n.s.mu.Unlock()
		return false
	}
	n.dead = true
	for _, who := range n.s.inProgress {
		delete(who, n)
	}
	n.s.mu.Unlock()
	n.pause(false)
	n.conn.set(func(c *conn) { c.gone = true })
	n.stop()
	return true
}

func (n *node) isDead() bool {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	return n.dead
}

func (n *node) pausesSoFar() int {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	return n.pauses
}

// work reconciles the keys of a part: all of them, and then those that change.
func (n *node) work(ctx context.Context, part *Part) error {
	s := n.s
	seen := make([]int, keysPerPart)
	for i := range seen {
		seen[i] = -1
	}
	var pauses int
	reconcile := Guard(part, func(ctx context.Context, i int) (workqueue.Result, error) {
		return workqueue.Result{}, n.reconcile(ctx, part, i, &seen[i], pauses)
	})
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		for i := range seen {
			s.mu.Lock()
			due := seen[i] != s.written[part.Index*keysPerPart+i]
			s.mu.Unlock()
			if !due {
				continue
			}
			if ctx.Err() != nil || n.isDead() {
				return nil
			}
			pauses = n.pausesSoFar()
			n.wait()
			// Not with ctx: what is in progress is finished in a hand-over.
			if _, err := reconcile(part.Context(), i); err != nil && n.s.coin(0.2) {
				return err // Work is called again
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second): // for what has failed
		}
	}
}

// reconcile is what no two replicas may do at once for a part.
func (n *node) reconcile(ctx context.Context, part *Part, i int, seen *int, pauses int) error {
	s := n.s
	n.wait()
	s.mu.Lock()
	// The process may have been paused between the check of the lease and here.
	excused := n.pauses != pauses
	if n.dead {
		s.mu.Unlock()
		return nil
	}
	for other, other0 := range s.inProgress[part.Index] {
		switch {
		case excused, *other0, time.Now().Before(s.edited[part.Index]):
			s.tally.add("excused", 1)
		default:
			s.t.Errorf("%v: part %d is worked on by %s (%s), while %s (%s) has a key of it in progress", time.Now(), part.Index, n.name, n.replica.Health().Session, other.name, other.replica.Health().Session)
		}
	}
	s.inProgress[part.Index][n] = &excused
	s.tally.add("key", 1)
	if last := s.last[part.Index]; last != n {
		if last != nil && last.replica.Health().Lost > 0 {
			s.tally.add("take after a loss", 1)
		}
		s.last[part.Index] = n
	}
	key := part.Index*keysPerPart + i
	version := s.written[key]
	took := time.Duration(s.rnd.IntN(3000)) * time.Millisecond
	ending := time.Duration(s.rnd.Int64N(int64(s.ending)))
	s.mu.Unlock()
	var err error
	select {
	case <-time.After(took):
	case <-ctx.Done():
		err = context.Cause(ctx)
		if errors.Is(err, ErrLost) { // a function that takes its time to end, but less than the gap
			time.Sleep(ending)
		}
	}
	n.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inProgress[part.Index], n)
	n.conn.mu.Lock()
	off := n.conn.cut != nil || n.conn.gone
	n.conn.mu.Unlock()
	switch {
	case err != nil:
		return err
	case off:
		return errNetwork
	}
	s.done[key] = max(s.done[key], version)
	*seen = version
	return nil
}
