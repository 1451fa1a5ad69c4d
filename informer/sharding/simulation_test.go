package sharding

import (
	"context"
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

	"github.com/informerkit/informerkit/informer/health"
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
		require.Equal(s.t, health.ReplicaMember, h.State, n.name)
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
		require.Equal(s.t, health.ReplicaStopped, h.State)
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
