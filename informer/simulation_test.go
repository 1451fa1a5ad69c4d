package informer

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/intern"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed of the simulations; 0 means 1")
	howMany   = flag.Int("seeds", 0, "how many seeds the simulations run; 0 means a few")
)

// eachSeed runs a simulation with the seeds that the flags say, each in a bubble
// of its own, and says how to repeat one that failed.
func eachSeed(t *testing.T, few int, simulate func(t *testing.T, seed uint64)) {
	t.Helper()
	first, n := max(*firstSeed, 1), *howMany
	if n == 0 {
		n = few
	}
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					name, _, _ := strings.Cut(t.Name(), "/")
					t.Logf("repeat with: go test ./informer -run '%s$' -seed %d -seeds 1", name, seed)
				}
			})
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

// TestSimulation runs an informer with handlers of every temper over a server
// that changes, disconnects, compacts its history, fails and has unreadable
// objects, all of it chosen by a seed. The observers check promises 1 to 6 with each event; when it is quiet
// again every view must equal the server's state (promise 7), however and
// whenever its handler joined (promise 8).
//
// Run many with -seed N -seeds M.
func TestSimulation(t *testing.T) {
	t.Parallel()
	eachSeed(t, 10, func(t *testing.T, seed uint64) {
		(&simulation{t: t, rnd: rand.New(rand.NewPCG(seed, 0))}).run()
	})
}

type simulation struct {
	t        *testing.T
	rnd      *rand.Rand
	w        *world
	handlers []*simHandler
	removed  []*simHandler
}

// simHandler is an observer with its registration.
type simHandler struct {
	*observer
	r    *Registration
	left int // the number of events when it was removed
}

func (s *simulation) run() {
	c := newCluster()
	opts := Options[*pod]{QueueLimit: 1 + s.rnd.IntN(50)}
	if s.rnd.IntN(2) == 0 {
		opts.Transform = intern.Transform[*pod](intern.NewPool())
	}
	s.w = newWorld(s.t, c, opts)
	for range s.rnd.IntN(30) {
		c.writeAny(s.rnd)
	}
	for range s.rnd.IntN(4) {
		s.join()
	}
	if s.rnd.IntN(4) == 0 {
		c.fail(errors.New("not yet"))
	}
	s.w.run()
	for range 300 {
		s.step()
	}
	s.settle()
	s.w.stop()
}

// step does one thing that may happen.
func (s *simulation) step() {
	switch n := s.rnd.IntN(10); {
	case n == 0 && s.rnd.IntN(2) == 0:
		s.join()
	case n == 0 && len(s.handlers) > 0:
		s.leave(s.rnd.IntN(len(s.handlers)))
	default:
		s.w.misbehave(s.rnd)
	}
	if s.rnd.IntN(3) == 0 {
		synctest.Wait()
	}
}

// misbehave does one thing that a server may do: it changes objects, makes some
// unreadable, ends watches, fails, or does nothing for a while.
func (c *cluster) misbehave(rnd *rand.Rand) {
	switch n := rnd.IntN(100); {
	case n < 74:
		for range 1 + rnd.IntN(20) {
			c.writeAny(rnd)
		}
	case n < 80:
		c.blur(anyPod(rnd))
	case n < 82:
		c.mend()
	case n < 86:
		c.disconnect(false)
	case n < 90:
		c.disconnect(true)
	case n < 92:
		c.fail(errors.New("trouble"))
	case n < 95:
		c.fail(nil)
	default:
		time.Sleep(time.Duration(rnd.IntN(5000)) * time.Millisecond)
	}
}

// anyPod names one of 40 pods.
func anyPod(rnd *rand.Rand) (ns, name string) {
	return string(rune('a' + rnd.IntN(2))), fmt.Sprint(rnd.IntN(20))
}

// writeAny changes one of the pods.
func (c *cluster) writeAny(rnd *rand.Rand) {
	ns, name := anyPod(rnd)
	switch rnd.IntN(10) {
	case 0, 1:
		c.remove(ns, name)
	case 2: // another object takes the name
		c.remove(ns, name)
		c.set(ns, name, rnd.IntN(1000))
	default:
		c.set(ns, name, rnd.IntN(1000))
	}
}

// recover ends all trouble, and returns when the readers have noticed.
func (c *cluster) recover() {
	c.fail(nil)
	time.Sleep(2 * time.Minute) // the longest backoff is one
	c.mend()
	c.set("a", "last", 1)
}

// join adds a handler of some temper.
func (s *simulation) join() {
	h := &simHandler{observer: observe(s.t, s.w.inf)}
	h.exists = s.w.exists
	opts := HandlerOptions{OnPanic: func(HandlerPanic) {}}
	switch s.rnd.IntN(4) {
	case 0:
		opts.Lossless = true
	case 1:
		opts.Bound = 1 + s.rnd.IntN(20)
	}
	if s.rnd.IntN(3) == 0 {
		opts.ResyncPeriod = time.Duration(10+s.rnd.IntN(60)) * time.Second
	}
	pace := time.Duration(s.rnd.IntN(3)*s.rnd.IntN(100)) * time.Millisecond
	panics := s.rnd.IntN(4) == 0
	stallAt, stall := s.rnd.IntN(200), time.Duration(s.rnd.IntN(60))*time.Second
	n := 0
	h.each = func(Event[*pod]) {
		if n++; n == stallAt {
			time.Sleep(stall)
		}
		if pace > 0 {
			time.Sleep(pace)
		}
		if panics && n%5 == 0 {
			panic("a panic in a handler")
		}
	}
	r, err := s.w.inf.AddHandler(h, opts)
	require.NoError(s.t, err)
	h.r = r
	s.handlers = append(s.handlers, h)
}

// leave removes a handler, waiting for it or not.
func (s *simulation) leave(i int) {
	h := s.handlers[i]
	s.handlers = append(s.handlers[:i], s.handlers[i+1:]...)
	if s.rnd.IntN(2) == 0 {
		require.NoError(s.t, h.r.RemoveAndWait(s.t.Context()))
		h.left = h.len()
	} else {
		h.r.Remove()
		h.left = h.len() + 1 // the call that is running
	}
	s.removed = append(s.removed, h)
}

// settle waits for quiet and compares all views with the server.
func (s *simulation) settle() {
	s.w.recover()
	time.Sleep(20 * time.Minute) // the slowest handler
	synctest.Wait()
	require.NoError(s.t, WaitForSync(s.t.Context(), s.w.inf))
	for _, h := range s.handlers {
		require.NoError(s.t, WaitForSync(s.t.Context(), h.r))
		requireSame(s.t, s.w.cluster, s.w.inf, h.observer)
	}
	for _, h := range s.removed {
		require.LessOrEqual(s.t, h.len(), h.left, "promise 9: an event after Remove")
		<-h.r.Done()
	}
	for _, h := range s.w.inf.Health().Handlers {
		require.Zero(s.t, h.Lag, h.Name)
	}
}
