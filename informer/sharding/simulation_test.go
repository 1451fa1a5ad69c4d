package sharding

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of the simulation; 0 means 1")
	howMany   = flag.Int("seeds", 0, "how many seeds the simulation runs; 0 means a few")
)

// TestSimulation runs replicas that come, go, crash between any two requests, are
// paused for longer than the renew deadline, are cut off, lose answers, and have clocks that go at
// different speeds, while Leases are edited by hand; all of it chosen by a seed. With each key
// that is handed out it checks promise 1; when it is quiet again, each part has an
// owner, the parts are shared equally, and no change of a key is lost.
//
// Run many with -seed N -seeds M.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, n := max(*firstSeed, 1), *howMany
	if n == 0 {
		n = 15
	}
	var mu sync.Mutex
	total := tally{}
	t.Cleanup(func() { t.Logf("%d seeds: %+v", n, total) })
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("repeat with: go test ./informer/sharding -run 'TestSimulation$' -seed %d -seeds 1", seed)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, rand.New(rand.NewPCG(seed, 0)))
				s.run()
				mu.Lock()
				defer mu.Unlock()
				total.add(s.tally)
			})
		})
	}
}

// tally is what happened, to see that a simulation tests what it says.
type tally struct{ Keys, Crashes, Pauses, Cuts, Edits, Excused, Sessions, Moves int }

func (a *tally) add(b tally) {
	a.Keys += b.Keys
	a.Crashes += b.Crashes
	a.Pauses += b.Pauses
	a.Cuts += b.Cuts
	a.Edits += b.Edits
	a.Excused += b.Excused
	a.Sessions += b.Sessions
	a.Moves += b.Moves
}

// keysPerPart is how many keys each part has.
const keysPerPart = 3

// simulation is the world: a server, replicas, and keys whose versions are written.
type simulation struct {
	t      *testing.T
	rnd    *rand.Rand
	server *fakeServer
	parts  int

	mu      sync.Mutex
	nodes   []*node
	written []int // the version of each key
	done    []int // the version that was reconciled last
	changed chan struct{}
	// inProgress is who works on each part, and whether that may overlap with another.
	inProgress []map[*node]*bool
	// edited is until when a part may have two owners, as Leases were edited by hand.
	edited []time.Time
	quiet  bool
	tally  tally
}

func newSimulation(t *testing.T, rnd *rand.Rand) *simulation {
	s := &simulation{t: t, rnd: rnd, server: newFakeServer(), parts: []int{1, 1, 3, 8, 16}[rnd.IntN(5)], changed: make(chan struct{})}
	s.written, s.done = make([]int, s.parts*keysPerPart), make([]int, s.parts*keysPerPart)
	s.edited, s.inProgress = make([]time.Time, s.parts), make([]map[*node]*bool, s.parts)
	for i := range s.inProgress {
		s.inProgress[i] = map[*node]*bool{}
	}
	return s
}

// node is a process with one replica.
type node struct {
	s       *simulation
	name    string
	conn    *conn
	clock   *driftingClock
	replica *Replica
	stop    context.CancelFunc
	ended   chan error

	mu     sync.Mutex
	resume chan struct{} // not nil while paused
	pauses int
	dead   bool
}

// driftingClock goes faster or slower than time does, and stands in another year.
type driftingClock struct {
	began  time.Time
	offset time.Duration
	rate   float64
	gate   func()
}

func (c *driftingClock) now() time.Time {
	c.gate()
	return c.began.Add(c.offset + time.Duration(float64(time.Since(c.began))*c.rate))
}

func (c *driftingClock) timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(time.Duration(float64(d) / c.rate))
	return t.C, t.Stop
}

// start starts another replica.
func (s *simulation) start() {
	s.mu.Lock()
	seed, network, rate, offset := s.rnd.Uint64(), s.rnd.IntN(8), 0.9+0.2*s.rnd.Float64(), s.rnd.IntN(1000)-500
	slow := time.Duration(1+s.rnd.IntN(40)) * time.Millisecond
	s.mu.Unlock()
	n := &node{s: s, name: fmt.Sprint("node-", len(s.nodes)), ended: make(chan error, 1)}
	n.conn = s.server.connect(rand.New(rand.NewPCG(seed, 1)))
	n.conn.gate = n.wait
	n.conn.slow = slow
	n.conn.late = 0.3
	switch network {
	case 0, 1:
		n.conn.lose = 0.1
	case 2: // a request may be given up before it arrives, and arrive all the same
		n.conn.slow = 6 * time.Second
	}
	n.clock = &driftingClock{began: time.Now(), offset: time.Duration(offset) * time.Hour, rate: rate, gate: n.wait}
	logger := slog.New(slog.DiscardHandler)
	if testing.Verbose() && *howMany == 1 {
		logger = slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", n.name)
	}
	opts := Options{Name: "group", Namespace: "default", Identity: n.name, Parts: s.parts, Work: n.work, Logger: logger}
	require.NoError(s.t, opts.complete())
	var err error
	n.replica, err = newReplica(n.conn, n.clock, opts)
	require.NoError(s.t, err)
	n.replica.rnd = rand.New(rand.NewPCG(seed, 2))
	var ctx context.Context
	ctx, n.stop = context.WithCancel(s.t.Context())
	s.mu.Lock()
	s.nodes = append(s.nodes, n)
	s.mu.Unlock()
	go func() { n.ended <- n.replica.Run(ctx) }()
}

// wait blocks while the process is paused.
func (n *node) wait() {
	n.mu.Lock()
	resume := n.resume
	n.mu.Unlock()
	if resume != nil {
		<-resume
	}
}

// pause stops the process, as SIGSTOP does, or lets it go on.
func (n *node) pause(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case on && n.resume == nil && !n.dead:
		n.resume = make(chan struct{})
		n.pauses++
		n.s.excuse(n)
	case !on && n.resume != nil:
		close(n.resume)
		n.resume = nil
	}
}

// excuse notes that what a process has in progress while it is paused may overlap: the
// gap that no Lease can close.
func (s *simulation) excuse(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, who := range s.inProgress {
		if excused := who[n]; excused != nil {
			*excused = true
		}
	}
}

// crash ends the process at once.
func (n *node) crash() {
	n.mu.Lock()
	if n.dead {
		n.mu.Unlock()
		return
	}
	n.dead = true
	n.mu.Unlock()
	n.s.mu.Lock()
	for _, who := range n.s.inProgress {
		delete(who, n)
	}
	n.s.tally.Crashes++
	n.s.mu.Unlock()
	n.pause(false)
	n.conn.set(func(c *conn) { c.gone = true })
	n.stop()
}

func (n *node) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

func (n *node) pausesSoFar() int {
	n.mu.Lock()
	defer n.mu.Unlock()
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
	// The process may have been paused between the check of the lease and here.
	excused := n.pausesSoFar() != pauses
	s.mu.Lock()
	if n.isDead() {
		s.mu.Unlock()
		return nil
	}
	for other, other0 := range s.inProgress[part.Index] {
		switch {
		case excused, *other0, time.Now().Before(s.edited[part.Index]):
			s.tally.Excused++
		default:
			s.t.Errorf("%v: part %d is worked on by %s (%s), while %s (%s) has a key of it in progress", time.Now(), part.Index, n.name, n.replica.Health().Session, other.name, other.replica.Health().Session)
		}
	}
	s.inProgress[part.Index][n] = &excused
	s.tally.Keys++
	key := part.Index*keysPerPart + i
	version := s.written[key]
	took := time.Duration(s.rnd.IntN(3000)) * time.Millisecond
	ending := time.Duration(s.rnd.IntN(2000)) * time.Millisecond
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

func (s *simulation) coin(p float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.quiet && s.rnd.Float64() < p
}

func (s *simulation) intn(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

func (s *simulation) run() {
	defer s.end()
	for range 1 + s.rnd.IntN(4) {
		s.start()
	}
	for range 60 {
		s.step()
		time.Sleep(time.Duration(s.intn(s.intn(8000)+1)) * time.Millisecond)
	}
	s.settle()
	s.stopAll()
}

// alive returns the processes that have not crashed and were not stopped.
func (s *simulation) alive() []*node {
	return slices.DeleteFunc(slices.Clone(s.nodes), (*node).isDead)
}

// step does one thing that may happen.
func (s *simulation) step() {
	alive := s.alive()
	if len(alive) == 0 {
		if s.intn(3) == 0 {
			s.start()
		}
		return
	}
	n := alive[s.intn(len(alive))]
	switch k := s.intn(100); {
	case k < 30:
		s.write()
	case k < 42:
		if len(alive) < 6 {
			s.start()
		}
	case k < 48: // a rolling update
		n.stop()
		go func() {
			// It is gone when it has ended, as a process is.
			n.ended <- <-n.ended
			n.mu.Lock()
			n.dead = true
			n.mu.Unlock()
		}()
	case k < 52:
		n.crash()
	case k < 62: // in the middle of something
		left := s.intn(12)
		n.conn.set(func(c *conn) {
			c.crash = func() {
				s.mu.Lock()
				left--
				now := left < 0
				s.mu.Unlock()
				if now {
					n.crash()
				}
			}
		})
	case k < 72:
		n.pause(true)
		s.count(func(t *tally) { t.Pauses++ })
	case k < 80:
		n.pause(false)
	case k < 83: // its renewals arrive, but it sees nothing
		n.conn.set(func(c *conn) { c.blind = true })
	case k < 87:
		n.conn.sever(true)
		s.count(func(t *tally) { t.Cuts++ })
	case k < 93:
		n.conn.sever(false)
		n.conn.set(func(c *conn) { c.blind = false })
	default:
		s.edit()
	}
}

func (s *simulation) count(f func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.tally)
}

// write changes some keys.
func (s *simulation) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 1 + s.rnd.IntN(5) {
		s.written[s.rnd.IntN(len(s.written))]++
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// edit edits a Lease by hand. Two replicas may then work on a part, until the older
// one has seen it: for the renew deadline at most, and the time that a key takes to end.
func (s *simulation) edit() {
	all := s.server.snapshot()
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b *lease) int { return strings.Compare(a.Name, b.Name) })
	l := all[s.intn(len(all))]
	s.mu.Lock()
	for i := range s.edited {
		s.edited[i] = time.Now().Add(15 * time.Second)
	}
	s.tally.Edits++
	k := s.rnd.IntN(8)
	other := all[s.rnd.IntN(len(all))].Name
	s.mu.Unlock()
	s.server.edit(l.Name, func(l *lease) *lease {
		switch k {
		case 0:
			return nil
		case 1:
			l.Spec.HolderIdentity = nil
		case 2:
			l.Spec.HolderIdentity = new("somebody")
		case 3:
			l.Spec.HolderIdentity = new(strings.TrimPrefix(other, "group-replica-"))
		case 4:
			l.Labels = nil
		case 5:
			l.Spec.LeaseDurationSeconds = new(int32(1 << 30))
		case 6:
			l.Spec.RenewTime = nil
		case 7:
			l.Spec = leaseSpec{}
		}
		return l
	})
}

// settle ends all trouble, and checks that everything is as it should be.
func (s *simulation) settle() {
	s.mu.Lock()
	s.quiet = true
	s.mu.Unlock()
	if len(s.alive()) == 0 {
		s.start()
	}
	s.calm()
	s.write()
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	alive := s.alive()
	if len(alive) == 0 { // the last one was being stopped
		s.start()
		s.calm()
		time.Sleep(time.Minute)
		synctest.Wait()
		alive = s.alive()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(s.t, s.written, s.done, "the version of each key, and the one that was reconciled")
	var quotas []int
	held := map[int]string{}
	for _, n := range alive {
		h := n.replica.Health()
		require.Equal(s.t, StateMember, h.State, n.name)
		require.Len(s.t, h.Replicas, len(alive), "%s: %+v", n.name, h.Replicas)
		require.Zero(s.t, h.Free)
		require.Len(s.t, h.Held, h.Quota, n.name)
		quotas = append(quotas, h.Quota)
		for _, p := range h.Held {
			require.Empty(s.t, held[p.Part], "part %d, held by %s and %s", p.Part, n.name, held[p.Part])
			require.True(s.t, p.Working)
			held[p.Part] = n.name
		}
	}
	require.Len(s.t, held, s.parts)
	require.LessOrEqual(s.t, slices.Max(quotas)-slices.Min(quotas), 1)
}

// calm ends the trouble of all processes.
func (s *simulation) calm() {
	for _, n := range s.nodes {
		n.pause(false)
		n.conn.sever(false)
		n.conn.set(func(c *conn) {
			c.lose, c.late, c.crash, c.blind = 0, 0, nil, false
			c.slow = min(c.slow, 40*time.Millisecond)
		})
	}
}

// end ends what is running, whatever has failed.
func (s *simulation) end() {
	for _, n := range s.nodes {
		n.pause(false)
		n.stop()
		n.conn.set(func(c *conn) { c.gone = true })
		n.conn.sever(false)
	}
	time.Sleep(time.Minute)
}

// stopAll stops all replicas, and checks that they have left nothing behind.
func (s *simulation) stopAll() {
	for _, n := range s.nodes {
		n.stop()
	}
	for _, n := range s.nodes {
		require.NoError(s.t, <-n.ended, n.name)
		h := n.replica.Health()
		s.tally.Sessions += h.Sessions
		s.tally.Moves += int(h.Took)
		require.Equal(s.t, StateStopped, h.State)
	}
	left := map[string]string{}
	for _, l := range s.server.snapshot() {
		left[l.Name] = l.holder()
	}
	want := map[string]string{}
	for i := range s.parts {
		want[fmt.Sprint("group-part-", i)] = ""
	}
	require.Equal(s.t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(left)))
	require.Equal(s.t, want, left, "the holders of the records")
}
