package workqueue

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the exported methods hide has properties of its own.

// A map that had many entries is replaced, and what is in use is still found: one
// entry of each state.
func TestMemoryOfABurstIsReleasedWhileItemsAreInUse(t *testing.T) {
	t.Parallel()
	const burst = 8 * keptEntries
	q := NewDelaying(Options[int]{Group: func(i int) string { return fmt.Sprint(i) }})
	q.AddAfter(-1, time.Hour)
	q.Park(-2, ConditionFunc(func(func()) func() { return nil }), time.Hour)
	q.Add(-3)
	running, _ := q.Get(t.Context())
	for i := range burst {
		q.Add(i)
		q.AddAfter(burst+i, time.Hour)
		q.Add(burst + i)
	}
	assert.Greater(t, q.peak, burst)
	for q.Len() > 1 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	assert.LessOrEqual(t, q.peak, keptEntries)
	assert.Len(t, q.entries, 4)
	assert.Equal(t, keptEntries, q.nFree)
	q.Done(running)
	for _, item := range []int{-1, -2, 2*burst - 1} {
		q.Add(item)
	}
	assert.Equal(t, Stats{Queued: 2, Parked: 1, Added: 2*burst + 3}, q.Stats())
	q.ShutDown()
}

// Entries that wait to be used again must not lead to anything else.
func TestMemoryOfManyDelaysIsReleased(t *testing.T) {
	t.Parallel()
	for n, kept := range map[int]bool{keptEntries / 2: true, 4 * keptEntries: false} {
		q := NewDelaying(Options[int]{})
		for i := range n {
			q.AddAfter(i, time.Hour)
		}
		for i := range n {
			q.Add(i) // ends the delay
		}
		assert.Empty(t, q.later.deadlines)
		assert.Equal(t, kept, cap(q.later.deadlines) > 0, "after %d delays", n)
		q.ShutDown()
	}
}

func TestFreeEntriesHoldOnToNothing(t *testing.T) {
	t.Parallel()
	q := NewRateLimiting[*int](nil, Options[*int]{Group: func(*int) string { return "g" }})
	q.AddRateLimited(new(int))
	q.Add(new(int))
	item, _ := q.Get(t.Context())
	q.Done(item)
	q.ShutDown()
	require.Equal(t, 2, q.nFree)
	for e := q.free; e != nil; e = e.next {
		assert.Empty(t, e.member.name)
		assert.Same(t, &e.member.place, e.member.place.Next())
		assert.Same(t, e, e.member.place.Value)
		assert.Equal(t, entry[*int]{next: e.next, member: e.member}, *e)
	}
}

// What cannot be compared must not panic with the mutex held.
func TestTypesWhoseValuesMayNotBeComparableAreChecked(t *testing.T) {
	t.Parallel()
	q := NewRateLimiting(nil, Options[any]{})
	defer q.ShutDown()
	never := ConditionFunc(func(func()) func() { return nil })
	for range 2 {
		for name, f := range map[string]func(any){
			"Add": q.Add, "Done": q.Done, "Inspect": func(item any) { q.Inspect(0, item) },
			"AddAfter": func(item any) { q.AddAfter(item, time.Hour) }, "Park": func(item any) { q.Park(item, never, time.Hour) },
			"AddRateLimited": q.AddRateLimited, "Forget": q.Forget,
		} {
			assert.Panics(t, func() { f([]int{1}) }, name)
			assert.Len(t, q.entries, q.Len(), "nothing has changed")
		}
		q.Add("a") // the lock is free
		assert.Equal(t, 1, q.Len())
	}
	type pair struct{ a, b any }
	q.Add(pair{1, 2})
	mustTake := func() any {
		item, ok := q.Get(t.Context())
		require.True(t, ok)
		return item
	}
	q.Done(mustTake())
	item := mustTake() // one item is running: Done compares with it
	assert.Panics(t, func() { q.Done([]int{1}) })
	assert.Panics(t, func() { q.Done(pair{1, []int{2}}) })
	q.Done(pair{1, 3})
	assert.Equal(t, 1, q.Stats().Running)
	q.Done(item)
	assert.Zero(t, q.Stats().Running)
}

// Each entry knows its place in the heap, whatever was put in and taken out.
func TestDeadlinesKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var l later[int]
	var in []*entry[int]
	for range 20_000 {
		switch {
		case len(in) > 0 && r.IntN(2) == 0:
			i := r.IntN(len(in))
			if r.IntN(3) == 0 { // the first one, as release does
				for i = range in {
					if in[i] == l.deadlines[0].entry {
						break
					}
				}
				for _, e := range in {
					require.LessOrEqual(t, l.at(in[i]), l.at(e))
				}
			}
			l.remove(in[i])
			require.Zero(t, in[i].place)
			in[i] = in[len(in)-1]
			in = in[:len(in)-1]
		case len(in) < 100:
			e := &entry[int]{}
			l.add(e, int64(r.IntN(50)))
			in = append(in, e)
		}
		require.Len(t, l.deadlines, len(in))
		for i, d := range l.deadlines {
			require.EqualValues(t, i+1, d.entry.place)
		}
	}
}

func TestExpiredFailuresAreFreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Exponential[int](ExponentialOptions{Max: time.Minute}).(*exponential[int])
		for i := range 10_000 {
			l.When(i)
			<-time.After(time.Second)
		}
		// What failed within twice the eleven minutes, not everything that ever failed.
		assert.LessOrEqual(t, len(l.counts), 2*(11*60+1))
	})
}

// An item that fails again and again is kept, unlike all others.
func TestFailureThatIsCountedAgainIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f failures[int]
		f.keep, f.start = int64(time.Minute), time.Now()
		for i := range 100 {
			assert.Zero(t, f.add(i))
		}
		assert.Equal(t, 1, f.add(99))
		for i := range 100 {
			<-time.After(59 * time.Second)
			assert.Equal(t, 2+i, f.add(99))
		}
		assert.Len(t, f.counts, 1)
		<-time.After(time.Minute + 1)
		assert.Zero(t, f.NumRequeues(99))
		assert.Zero(t, f.add(99))
	})
}

// When everything failed at once, as in an outage, and succeeded later, the map
// must not stay as large as it was.
func TestBurstOfFailuresLeavesNoMemoryBehind(t *testing.T) {
	t.Parallel()
	var f failures[int]
	f.keep, f.start = int64(time.Hour), time.Now()
	for i := range 1000 {
		f.add(i)
	}
	for i := range 1000 {
		f.Forget(i)
	}
	assert.Nil(t, f.counts)
}

// A timer keeps the queue in memory until it fires.
func TestShutDownStopsTheTimer(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[string]{})
	q.AddAfter("a", time.Hour)
	q.ShutDown()
	assert.False(t, q.later.timer.Stop(), "the timer was still running")
}

// A Go map never shrinks: one that had very many groups must be released. A few are used again.
func TestManyGroupsLeaveNoMemoryBehind(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{Group: func(i int) string { return fmt.Sprint(i) }})
	c := &q.order.classes[0]
	for _, n := range []int{keptEntries, 2 * keptEntries} {
		for i := range n {
			q.Add(i)
		}
		assert.Len(t, c.turns.groups, n)
		for q.Len() > 0 {
			item, _ := q.Get(t.Context())
			q.Done(item)
		}
		assert.Nil(t, c.turns.next)
		assert.Zero(t, c.turns.n)
		if n == keptEntries {
			assert.Len(t, c.turns.groups, n)
			for _, g := range c.turns.groups {
				assert.Nil(t, g.first)
			}
		} else {
			assert.Zero(t, c.turns)
		}
	}
}

// A waiter whose context ends at the moment of an Add must not keep the token, or the item
// would stay queued while another worker waits.
func TestCancelledWaiterPassesItsSignalOn(t *testing.T) {
	t.Parallel()
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			q := New(Options[string]{})
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan string, 2)
			for _, ctx := range []context.Context{ctx, t.Context(), ctx} {
				go func() {
					if item, ok := q.Get(ctx); ok {
						got <- item
					}
				}()
			}
			synctest.Wait()
			go cancel()
			go q.Add("item")
			assert.Equal(t, "item", <-got)
			q.ShutDown()
		})
	}
}

// Stats.Failing is the number of entries with retries.
func TestEntriesWithRetriesAreCounted(t *testing.T) {
	t.Parallel()
	q := NewRateLimiting(Exponential[string](ExponentialOptions{Base: time.Hour}), Options[string]{})
	retrying := func() (n int) {
		for _, e := range q.entries {
			if e.retries > 0 {
				n++
			}
		}
		require.Equal(t, n, q.count.retrying)
		require.Equal(t, n, q.Stats().Failing)
		return n
	}
	for _, item := range []string{"a", "a", "b", "c"} {
		q.AddRateLimited(item)
	}
	q.AddAfter("d", time.Hour)
	assert.Equal(t, 3, retrying())
	assert.EqualValues(t, 2, q.entries["a"].retries)
	for _, item := range []string{"a", "a", "none"} {
		q.Forget(item)
	}
	assert.Equal(t, 2, retrying())
	assert.Zero(t, q.entries["a"].retries)
	for _, item := range []string{"b", "c"} {
		q.Add(item)
		got, _ := q.Get(t.Context())
		q.done(got, true, item == "b") // the other one leaves the queue without being forgotten
		retrying()
	}
	assert.Zero(t, retrying())
	assert.Equal(t, 1, q.NumRequeues("c"), "the limiter remembers it")
	q.AddRateLimited("e")
	q.entries["e"].retries = math.MaxUint16
	q.AddRateLimited("e")
	assert.EqualValues(t, math.MaxUint16, q.entries["e"].retries, "no overflow")
	assert.Equal(t, 1, retrying())
	q.ShutDown()
	assert.Zero(t, retrying())
}

// More classes than an entry can tell apart are one class.
func TestManyClasses(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{MaxWait: make([]time.Duration, 1000)})
	assert.Len(t, q.PriorityClasses(), maxClasses)
	q.PriorityClass(999).Add(1)
	q.PriorityClass(255).Add(2)
	assert.Equal(t, 255, q.Inspect(10_000).Queued[0].PriorityClass)
	assert.Equal(t, 2, q.PriorityClasses()[255].Queued)
}
