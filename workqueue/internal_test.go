package workqueue

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The parts that the exported types hide have properties of their own.

// A map that had many entries is replaced, and what is in use is still found: one
// entry of each state.
func TestMemoryOfABurstIsReleasedWhileItemsAreInUse(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[int]{})
	never := func(func()) func() { return nil }
	q.AddAfter(-1, time.Hour)
	q.Park(-2, never, time.Hour)
	q.Add(-3)
	running, _ := q.Get(t.Context())
	for i := range oversizedFrom {
		q.Add(i)
	}
	items := &q.engine.items
	assert.Greater(t, items.peak, oversizedFrom)
	for q.Len() > 1 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	assert.LessOrEqual(t, items.peak, slabKept)
	assert.Equal(t, 4, items.len())
	assert.LessOrEqual(t, items.entries.free, slabKept+pageSize)
	q.Done(running)
	for _, item := range []int{-1, -2, oversizedFrom - 1} {
		q.Add(item)
	}
	assert.Equal(t, Stats{Queued: 2, Parked: 1, Added: oversizedFrom + 3}, q.Stats())
	q.ShutDown()
}

// What cannot be compared must not panic under the lock.
func TestTypesWhoseValuesMayNotBeComparableAreChecked(t *testing.T) {
	t.Parallel()
	q := New(Options[any]{})
	for name, f := range map[string]func(any){
		"Add": q.Add, "Done": q.Done, "AddAll": func(item any) { q.AddAll([]any{"b", item}) },
		"InspectItem": func(item any) { q.InspectItem(item) },
	} {
		assert.Panics(t, func() { f([]int{1}) }, name)
	}
	q.Add("a") // the lock is free
	assert.Equal(t, 1, q.Len())
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

func TestExpiredFailuresAreFreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Exponential[int](ExponentialOptions{Max: time.Minute, IdleAfter: time.Minute}).(*exponential[int])
		for i := range 10_000 {
			l.When(i)
			<-time.After(time.Second)
		}
		// Two minutes' worth of items and a third, not everything that ever failed.
		assert.LessOrEqual(t, l.failures.index.n, 121*4/3)
		assert.Equal(t, l.failures.index.n, l.failures.counts.used)
	})
}

// An item that fails again after its count has expired, and before that was
// removed, begins again and is kept, unlike all others.
func TestExpiredFailureThatIsCountedAgainIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f failures[int]
		f.init(time.Minute)
		const n = 100
		for i := range n {
			assert.Zero(t, f.add(failedNow(i)))
		}
		assert.Equal(t, 1, f.add(failedNow(n-1)))
		<-time.After(time.Hour)
		assert.Zero(t, f.count(n-1))
		for i := range n / 2 {
			assert.Equal(t, i, f.add(failedNow(n-1)))
		}
		assert.Equal(t, n/2, f.count(n-1))
		assert.Equal(t, 1, f.index.n, "expired counts remain")
		assert.Equal(t, 1, f.counts.used)
	})
}

// When everything failed at once, as in an outage, and succeeded later, the map
// must not stay as large as it was.
func TestBurstOfFailuresLeavesNoMemoryBehind(t *testing.T) {
	t.Parallel()
	var f failures[int]
	f.init(time.Hour)
	burst := func(n int) {
		for i := range n {
			f.add(failedNow(i))
		}
		for i := range n {
			f.forget(i)
		}
	}
	burst(peakKept)
	assert.NotNil(t, f.counts.pages, "little memory is used again")
	burst(peakKept + 1)
	assert.Nil(t, f.counts.pages)
	assert.Nil(t, f.index.directory)
	burst(1)
	assert.NotNil(t, f.counts.pages)
}

// The time is read before the lock is taken, so it may be older than what another
// goroutine has noted meanwhile. The lists that are sorted by time rely on none
// of it getting in.
func TestTimesUnderTheLockNeverRunBackwards(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{MaxWait: []time.Duration{time.Second, time.Minute}}).engine
	var r request[string]
	q.prepare(&r, "item")
	q.addLocked(&r, 20)
	q.observeLocked(30)
	e := q.takeLocked(25, noHolder)
	assert.EqualValues(t, 30, q.times.at(e.handle).startedAt)
	q.addLocked(&r, 35)
	q.observeLocked(50)
	q.doneLocked(e, 45)
	assert.Equal(t, 50+int64(time.Second), *q.order.classes[0].overdue.at(e.handle))
}

// A timer keeps the queue in memory until it fires.
func TestShutDownStopsTheTimer(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[string]{})
	q.AddAfter("a", time.Hour)
	q.ShutDown()
	assert.False(t, q.engine.timer.Stop(), "the timer was still running")
}

// With the entry twice in the wheel, its lists would be rings of other entries, or never end.
func TestEarlierDelayTakesTheEntryOutOfTheWheelFirst(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[string]{})
	defer q.ShutDown()
	q.AddAfter("a", 2*time.Hour)
	q.AddAfter("b", 2*time.Hour)
	q.AddAfter("a", time.Hour)
	require.Equal(t, 2, q.engine.delays.n)
	q.engine.delays.requireSound(t)
}

// Otherwise a release would find the same entries again and again, and never end.
func TestDueEntriesLeaveTheWheelBeforeTheyAreQueued(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[string]{})
	defer q.ShutDown()
	q.AddAfter("a", time.Hour)
	q.AddAfter("b", time.Hour+1)
	more := q.engine.endDelaysLocked(int64(2 * time.Hour))
	require.False(t, more, "there is nothing left to do")
	assert.Zero(t, q.engine.delays.n)
	assert.Zero(t, q.engine.delays.used)
	assert.Equal(t, 2, q.Len())
}

// A burst must not leave its memory behind.
func TestDrainedQueueGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{Group: func(i int) string { return string(rune(i)) }})
	for i := range 100_000 {
		q.Add(i)
	}
	for q.Len() > 0 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	e := q.engine
	assert.LessOrEqual(t, e.items.peak, slabKept)
	assert.LessOrEqual(t, e.items.entries.free, slabKept+pageSize)
	assert.LessOrEqual(t, e.order.nFreeGroups, maxFreeGroups)
}

// A Go map never shrinks: one that had many groups must be released.
func TestManyGroupsLeaveNoMemoryBehind(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{Group: func(i int) string { return fmt.Sprint(i) }})
	for _, groups := range []int{keptGroups, keptGroups + 1} {
		for i := range groups {
			q.Add(i)
		}
		c := &q.engine.order.classes[0]
		assert.Len(t, c.groups, groups)
		for q.Len() > 0 {
			item, _ := q.Get(t.Context())
			q.Done(item)
		}
		assert.Nil(t, c.nextGroup)
		assert.Equal(t, groups > keptGroups, c.groups == nil, "a map that is used to its size all the time is kept")
	}
}

// However many barriers wait for one request, no operation under the lock touches
// more than a few of them.
func TestReachedBarriersMergeAndAreClosedOutsideTheLock(t *testing.T) {
	t.Parallel()
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var m barriers
	m.init()
	var counted []barrierID
	var channels []<-chan struct{}
	for range 1000 {
		counted = append(counted, m.enter())
		channels = append(channels, m.seal())
	}
	assert.Equal(t, channels[999], m.seal(), "nothing new since")
	for _, i := range rand.Perm(998) { // all but the first and the last
		assert.Nil(t, m.leave(counted[1+i]))
	}
	assert.Len(t, m.sealed, 2, "reached barriers stay in the list")
	first, last := m.sealed[counted[0]], m.sealed[counted[999]]
	assert.Same(t, last, first.next)
	assert.Same(t, first, last.prev)
	reached := m.leave(counted[0])
	assert.False(t, closed(channels[0]))
	assert.Nil(t, m.open.prev.prev, "only the last is left")
	reached.close()
	for _, c := range channels[:999] {
		require.True(t, closed(c))
	}
	assert.False(t, closed(channels[999]))
	assert.Equal(t, channels[999], m.seal())
	m.leave(counted[999]).close()
	assert.Nil(t, m.sealed)
	assert.True(t, closed(channels[999]))
	assert.True(t, closed(m.seal()))
}

// After four billion barriers their identifiers begin again, and must not be those of
// barriers that are still in the list.
func TestBarriersAreToldApartWhenIdentifiersBeginAgain(t *testing.T) {
	t.Parallel()
	var m barriers
	m.init()
	first := m.enter()
	m.seal()
	m.open.id = math.MaxUint32
	last := m.enter()
	m.seal()
	next := m.enter()
	assert.Equal(t, []barrierID{1, math.MaxUint32, 2}, []barrierID{first, last, next}, "neither 0 nor 1")
	m.leave(first).close()
	m.leave(last).close()
	assert.Nil(t, m.leave(next), "open")
}

// Entries are allocated side by side, so one that is in use keeps its neighbours
// in memory. What was released must not lead from there to anything else.
func TestEntriesThatAreNotInUseHoldOnToNothing(t *testing.T) {
	t.Parallel()
	q := New(Options[*int]{Group: func(i *int) string { return fmt.Sprint(*i % 7) }})
	n := 0
	for range 8 * slabKept {
		n++
		i := n
		q.Add(&i)
	}
	e := q.engine
	pages := slices.Clone(e.items.entries.pages[1:])
	links := slices.Clone(e.order.links.pages)
	for q.Len() > 5 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	var held, linked int
	for _, p := range pages {
		for slot := range p.records {
			if p.records[slot] != (entry[*int]{}) {
				held++
			}
		}
	}
	for _, p := range links {
		for slot := range p {
			if p[slot] != (groupLink[*int]{}) {
				linked++
			}
		}
	}
	assert.Equal(t, []int{5, 5}, []int{held, linked})
	dropped := 0
	for _, p := range e.items.entries.pages {
		if p.records == nil {
			dropped++
		}
	}
	assert.LessOrEqual(t, e.items.entries.free, slabKept+5*pageSize)
	assert.Greater(t, len(pages)-len(e.items.entries.pages)+dropped, 6*slabKept/pageSize)
	beside := 0
	for _, p := range e.order.links.pages {
		if p != nil {
			beside++
		}
	}
	assert.LessOrEqual(t, beside, 3*slabKept/sidePageSize, "what is beside the pages goes with them")
}

// A waiter whose context ends while its wake-up is on the way must pass the
// wake-up on, or the item would stay queued while a worker waits.
func TestCancelledWaiterPassesItsSignalOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{}).engine
		got := make(chan string, 1)
		go func() {
			item, _ := q.get(t.Context(), noHolder)
			got <- item
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // the last to come is the first to be invited
			_, ok := q.get(ctx, noHolder)
			assert.False(t, ok)
		}()
		synctest.Wait()

		var r request[string]
		q.prepare(&r, "item")
		q.mu.Lock()
		q.addLocked(&r, 0)
		invited := q.waiters.next(q.order.n)
		q.mu.Unlock()
		cancel()
		synctest.Wait() // the invited one has gone before the signal came
		invited.wake()
		assert.Equal(t, "item", <-got)
		assert.Zero(t, q.waiters.onTheWay)
	})
}

// Forget and the number of an attempt are looked up only while this number is not 0.
func TestEntriesWithRetriesAreCounted(t *testing.T) {
	t.Parallel()
	q := NewRateLimiting(Exponential[string](ExponentialOptions{Base: time.Hour}), Options[string]{})
	e := q.engine
	retrying := func() (n int32) {
		for _, x := range e.items.entries.each {
			if e.retriesLocked(x) > 0 {
				n++
			}
		}
		require.Equal(t, n, e.retrying.Load())
		return n
	}
	q.AddRateLimited("a")
	q.AddRateLimited("a")
	q.AddRateLimited("b")
	q.AddRateLimited("c")
	q.AddAfter("d", time.Hour)
	assert.EqualValues(t, 3, retrying())
	assert.Equal(t, 2, e.retriesOf("a"))
	q.Forget("a")
	q.Forget("a")
	q.Forget("none")
	assert.EqualValues(t, 2, retrying())
	assert.Zero(t, e.retriesOf("a"))
	for _, item := range []string{"b", "c"} {
		q.Add(item)
		got, _ := q.Get(t.Context())
		e.done(got, item == "b") // the other one leaves the queue without being forgotten
		retrying()
	}
	assert.Zero(t, retrying())
	assert.Equal(t, 1, q.NumRequeues("c"), "the limiter remembers it")
	q.AddRateLimited("e")
	e.mu.Lock()
	x := e.items.find("e", hashOf("e"))
	*e.retries.at(x.handle) = math.MaxUint32
	e.mu.Unlock()
	q.AddRateLimited("e")
	assert.EqualValues(t, uint32(math.MaxUint32), e.retriesLocked(x), "no overflow")
	assert.EqualValues(t, 1, retrying())
	q.ShutDown()
	assert.Zero(t, retrying())
}
