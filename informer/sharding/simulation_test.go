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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of the simulation; 0 means 1")
	howMany   = flag.Int("seeds", 0, "how many seeds the simulation runs; 0 means a few")
)

// TestSimulation runs replicas that come, go, crash between any two requests, are
// paused for longer than the renew deadline, are cut off, lose answers, see events late and lists that are
// old, and have clocks that go at different speeds, while Leases are edited by hand in a third of
// the seeds; all of it chosen by a seed. With each key
// that is handed out it checks promise 1; when it is quiet again, each part has an
// owner, the parts are shared equally, and no change of a key is lost.
//
// Run many with -seed N -seeds M. With 200 or more it also checks that everything that it is about has
// happened in one of them.
//
// Promise informer/sharding/1
// Promise informer/sharding/4
// Promise informer/sharding/5
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, n := max(*firstSeed, 1), *howMany
	if n == 0 {
		n = 15
	}
	total := &tally{counts: map[string]int{}}
	t.Cleanup(func() {
		t.Logf("%d seeds: %v", n, total.counts)
		if n >= 200 && !t.Failed() {
			total.check(t)
		}
	})
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
				total.addAll(s.tally)
			})
		})
	}
}

// tally is what happened and how often, to see that a simulation tests what it says. Its mutex is the last one that is
// locked.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *tally) add(what string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[what] += n
}

func (a *tally) addAll(b *tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for what, n := range b.counts {
		a.add(what, n)
	}
}

// check checks that all that the simulation is about has happened.
func (a *tally) check(t *testing.T) {
	t.Helper()
	want := []string{
		"key", "session", "take", "take after a loss", "edit", "rolling update",
		"clock slower by a tenth or more", "clock faster by a tenth or more",
		"pause", "pause longer than the renew deadline", "pause after the clock was read",
		"cut", "cut longer than the lease duration", "blind", "events late", "stale list", "list again",
	}
	for _, what := range []string{"begin a session", "renew a session", "end a session", "take a part", "give a part up"} {
		want = append(want, "crash before "+what, "crash after "+what, "lost answer to "+what, "late and done: "+what)
	}
	for _, what := range []string{"renew a session", "end a session", "take a part", "give a part up"} {
		want = append(want, "late and refused: "+what)
	}
	for _, what := range want {
		assert.Positive(t, a.counts[what], "%q has not happened", what)
	}
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
	// drift is how much faster or slower a clock may go, and ending how long what is cancelled may
	// take to end: together less than the durations allow.
	drift  float64
	ending time.Duration
	edits  bool // whether Leases are edited
	last   []*node
	quiet  bool
	tally  *tally
}

func newSimulation(t *testing.T, rnd *rand.Rand) *simulation {
	s := &simulation{t: t, rnd: rnd, server: newFakeServer(), parts: []int{1, 1, 3, 8, 16}[rnd.IntN(5)], changed: make(chan struct{}), tally: &tally{counts: map[string]int{}}}
	s.server.count = func(what string) { s.tally.add(what, 1) }
	s.edits = rnd.IntN(3) == 0
	// At a tenth, L-D leaves 2.5 s; the most that promise 1 allows is a fifth.
	s.drift, s.ending = 0.1, 2*time.Second
	if rnd.IntN(3) == 0 {
		s.drift, s.ending = 0.19, 150*time.Millisecond
	}
	s.server.fastest = 1 + s.drift
	s.last = make([]*node, s.parts)
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

// start starts another replica.
func (s *simulation) start() {
	s.mu.Lock()
	seed, network, rate, offset := s.rnd.Uint64(), s.rnd.IntN(8), 1-s.drift+2*s.drift*s.rnd.Float64(), s.rnd.IntN(1000)-500
	slow := time.Duration(1+s.rnd.IntN(40)) * time.Millisecond
	stale := time.Duration(s.rnd.IntN(2)) * 20 * time.Second
	if rate < 0.9 {
		s.tally.add("clock slower by a tenth or more", 1)
	} else if rate > 1.1 {
		s.tally.add("clock faster by a tenth or more", 1)
	}
	s.mu.Unlock()
	n := &node{s: s, name: fmt.Sprint("node-", len(s.nodes)), ended: make(chan error, 1)}
	n.conn = s.server.connect(rand.New(rand.NewPCG(seed, 1)))
	n.conn.identity = n.name
	n.conn.gate = n.wait
	n.conn.slow, n.conn.stale = slow, stale
	n.conn.late = 0.3
	switch network {
	case 0, 1:
		n.conn.lose = 0.1
	case 2: // a request may be given up before it arrives, and arrive all the same
		n.conn.slow = 6 * time.Second
	}
	n.clock = &driftingClock{began: time.Now(), offset: time.Duration(offset) * time.Hour, rate: rate, before: n.wait, after: n.maybeStall}
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
			s.mu.Lock()
			n.dead = true
			s.mu.Unlock()
		}()
		s.tally.add("rolling update", 1)
	case k < 51:
		n.crash()
		s.tally.add("crash", 1)
	case k < 60:
		s.crashLater(n)
	case k < 66:
		n.pause(true)
	case k < 70: // between reading the clock and what follows from it
		s.mu.Lock()
		n.stall = true
		s.mu.Unlock()
	case k < 79:
		n.pause(false)
	case k < 82: // its renewals arrive, but it sees nothing
		n.conn.set(func(c *conn) { c.blind = true })
		s.tally.add("blind", 1)
	case k < 85: // what it sees is late
		lag := time.Duration(s.intn(12000)) * time.Millisecond
		n.conn.set(func(c *conn) { c.lag = lag })
		s.tally.add("events late", 1)
	case k < 89:
		n.sever(true)
	case k < 94:
		n.sever(false)
		n.conn.set(func(c *conn) { c.blind, c.lag = false, 0 })
	case k < 96: // the history is gone, and a watch that ends is not resumed
		s.server.compact()
		n.sever(true)
		n.sever(false)
	case s.edits:
		s.edit()
	}
}

// crashLater crashes a process just before or after a request takes effect.
func (s *simulation) crashLater(n *node) {
	only := []string{"begin a session", "renew a session", "end a session", "take a part", "give a part up"}[s.intn(5)]
	left := s.intn(3)
	n.conn.set(func(c *conn) {
		c.crash = func(at string) {
			if !strings.HasSuffix(at, only) {
				return
			}
			s.mu.Lock()
			left--
			now := left < 0
			s.mu.Unlock()
			if now && n.crash() {
				s.tally.add("crash "+at, 1)
			}
		}
	})
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
	s.tally.add("edit", 1)
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
		n.sever(false)
		s.mu.Lock()
		n.stall = false
		s.mu.Unlock()
		n.conn.set(func(c *conn) {
			c.lose, c.late, c.crash, c.blind, c.lag = 0, 0, nil, false, 0
			c.slow = min(c.slow, 40*time.Millisecond)
		})
	}
}

// end ends what is running, whatever has failed.
func (s *simulation) end() {
	for _, n := range s.nodes {
		s.mu.Lock()
		n.stall = false
		s.mu.Unlock()
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
		s.tally.add("session", h.Sessions)
		s.tally.add("take", int(h.Took))
		require.Equal(s.t, StateStopped, h.State)
	}
	require.Empty(s.t, s.server.early)
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
