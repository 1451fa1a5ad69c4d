package workqueue

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var groupsFlag = flag.Int("workqueue.groups", 100_000, "groups in the test of their memory")

// The parts that the exported types hide have properties of their own.

func TestTableBehavesLikeAMapWhileGrowingAndShrinking(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var tab table[int]
	var free freeList[int]
	want := map[int]*entry[int]{}
	hash := func(i int) uint32 { return uint32(i*2654435761) ^ uint32(i>>3) }
	for step := range 200_000 {
		item := r.IntN(5000)
		grow := step/20_000%2 == 0
		if grow || r.IntN(4) == 0 {
			e := tab.findOrInsert(hash(item), &item, &free)
			if old := want[item]; old != nil {
				require.Same(t, old, e)
			}
			want[item] = e
		} else if e := tab.find(hash(item), &item); e != nil {
			require.Same(t, want[item], e)
			tab.remove(e)
			free.put(e, tab.n)
			delete(want, item)
		} else {
			require.Nil(t, want[item])
		}
		require.Equal(t, len(want), tab.n)
		require.LessOrEqual(t, uint64(tab.n), perBucket*max(tab.buckets, segmentSize))
	}
	for item, e := range want {
		require.Same(t, e, tab.find(hash(item), &item))
		tab.remove(e)
		free.put(e, tab.n)
	}
	assert.LessOrEqual(t, tab.buckets, uint64(keptBuckets), "an empty table kept its buckets")
	assert.LessOrEqual(t, free.n, freeListKept+1, "an empty queue kept its entries")
}

func TestTableSurvivesEqualHashes(t *testing.T) {
	t.Parallel()
	var tab table[int]
	var free freeList[int]
	for i := range 500 {
		tab.findOrInsert(7, &i, &free)
	}
	for i := range 500 {
		e := tab.find(7, &i)
		require.Equal(t, i, e.item)
		tab.remove(e)
		require.Nil(t, tab.find(7, &i))
	}
}

func TestDeadlinesComeInOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var d deadlines[int]
	in := map[*entry[int]]bool{}
	check := func() {
		for i, x := range d.items {
			require.EqualValues(t, i, x.entry.heapPos)
			require.Equal(t, x.entry.at, x.at)
			if i > 0 {
				require.LessOrEqual(t, d.items[(i-1)/heapArity].at, x.at)
			}
		}
		for _, x := range d.items[len(d.items):cap(d.items)] {
			require.Nil(t, x.entry, "an entry that was removed is kept in memory")
		}
	}
	for step := range 5000 {
		switch r.IntN(5) {
		case 0, 1:
			e := &entry[int]{heapPos: noHeapPos, at: r.Int64N(1000)}
			d.add(e)
			in[e] = true
		case 2:
			for e := range in {
				e.at -= r.Int64N(500)
				d.advance(e)
				break
			}
		case 3:
			for e := range in {
				d.remove(e)
				delete(in, e)
				require.False(t, e.delayed())
				break
			}
		default:
			if d.len() > 0 {
				e := d.first()
				for other := range in {
					require.LessOrEqual(t, e.at, other.at)
				}
				d.remove(e)
				delete(in, e)
			}
		}
		if step%50 == 0 {
			check()
		}
	}
	for d.len() > 0 {
		d.remove(d.first())
	}
	assert.LessOrEqual(t, cap(d.items), heapMinCap*4)
}

func TestExpiredFailuresAreFreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Exponential[int](ExponentialOptions{Max: time.Minute, IdleAfter: time.Minute}).(*exponential[int])
		for i := range 10_000 {
			l.When(i)
			<-time.After(time.Second)
		}
		// Two minutes' worth of items, not everything that ever failed.
		assert.LessOrEqual(t, len(l.failures.counts), 122)
	})
}

// An item that fails again after its count has expired, and before that was
// removed, is in the list once: as the newest.
func TestExpiredFailureThatIsCountedAgainIsListedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := failures[int]{keep: time.Minute}
		for i := range 10 {
			f.add(i)
		}
		<-time.After(time.Hour)
		f.add(7)
		var listed []int
		for c := f.oldest; c != nil && len(listed) <= 10; c = c.next {
			listed = append(listed, c.item)
		}
		assert.Equal(t, []int{4, 5, 6, 8, 9, 7}, listed)
		assert.Len(t, f.counts, len(listed))
	})
}

// When everything failed at once, as in an outage, and succeeded later, the map
// must not stay as large as it was.
func TestBurstOfFailuresLeavesNoMemoryBehind(t *testing.T) {
	t.Parallel()
	f := failures[int]{keep: time.Hour}
	burst := func(n int) {
		for i := range n {
			f.add(i)
		}
		for i := range n {
			f.forget(i)
		}
	}
	burst(peakKept)
	assert.NotNil(t, f.counts, "a small map is used again")
	burst(peakKept + 1)
	assert.Nil(t, f.counts)
	burst(1)
	assert.NotNil(t, f.counts)
}

// The time is read before the lock is taken, so it may be older than what another
// goroutine has noted meanwhile. The lists that are sorted by time rely on none
// of it getting in.
func TestTimesUnderTheLockNeverRunBackwards(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{Budgets: []time.Duration{time.Second, time.Minute}}).engine
	var r request[string]
	q.prepare(&r, "item")
	q.addLocked(&r, 20)
	q.observeLocked(30)
	e := q.takeLocked(25, nobody)
	assert.EqualValues(t, 30, e.startedAt)
	q.addLocked(&r, 35)
	q.observeLocked(50)
	q.doneLocked(e, q.table.slot(r.hash, &r.item), 45)
	assert.Equal(t, 50+int64(time.Second), e.at)
}

// A timer keeps the queue in memory until it fires.
func TestShutDownStopsTheTimer(t *testing.T) {
	t.Parallel()
	q := NewDelaying(Options[string]{})
	q.AddAfter("a", time.Hour)
	q.ShutDown()
	assert.False(t, q.engine.timer.Stop(), "the timer was still running")
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
	assert.Len(t, e.table.segments, keptBuckets/segmentSize)
	assert.LessOrEqual(t, cap(e.table.segments), 128)
	assert.LessOrEqual(t, e.free.n, freeListKept+1)
	assert.LessOrEqual(t, e.order.nFreeGroups, maxFreeGroups)
}

// A Go map never shrinks: one that had many groups must be replaced, also if some
// groups are always queued, and in small steps. The memory that stays is in
// proportion to those.
func TestManyGroupsLeaveNoMemoryBehind(t *testing.T) {
	for _, stay := range []int{100, 3000} {
		q := New(Options[int]{Group: func(i int) string { return fmt.Sprint(i) }})
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		n := *groupsFlag
		for i := range n {
			q.Add(i)
		}
		groups := &q.engine.order.classes[0].groups
		for q.Len() > stay {
			moved := len(groups.old)
			item, _ := q.Get(t.Context())
			if moved > 0 {
				require.LessOrEqual(t, moved-len(groups.old), groupsMovedAtOnce+1, "many groups moved at once")
			}
			q.Done(item)
		}
		q.Add(n)
		grown := heap() - before
		t.Logf("%d groups, then %d: %d kB stay", n, stay+1, grown>>10)
		assert.Less(t, grown, int64(1<<20+stay*512))
		assert.Equal(t, stay+1, groups.len())
		for i := n - stay; i < n+stay; i++ { // the rest is still found, and no group is there twice
			q.Add(i)
		}
		assert.Equal(t, 2*stay, groups.len())
		for q.Len() > 0 {
			item, _ := q.Get(t.Context())
			q.Done(item)
		}
		assert.Zero(t, groups.len())
	}
}

// While its map is replaced, a class finds every group, whatever comes and goes.
func TestGroupsAreFoundWhileTheirMapIsReplaced(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	o := newOrder[int](nil, true)
	c := &o.classes[0]
	queued := map[string][]*entry[int]{}
	var names []string
	n, replaced := 0, 0
	push := func(name string) {
		e := &entry[int]{member: &member[int]{name: name}}
		o.push(e, 0)
		queued[name] = append(queued[name], e)
		n++
	}
	for i := range 20 * keptGroups {
		names = append(names, fmt.Sprint(i))
		push(names[i])
	}
	for n > 0 {
		wasMoving := c.groups.old != nil
		switch name := names[r.IntN(len(names))]; r.IntN(10) {
		case 0, 1: // a group that may be queued already
			push(name)
		case 2: // out of turn, as raise does
			if entries := queued[name]; len(entries) > 0 {
				o.remove(entries[0])
				queued[name] = entries[1:]
				n--
			}
		default:
			e := o.pop(0)
			require.Same(t, queued[e.member.name][0], e)
			queued[e.member.name] = queued[e.member.name][1:]
			n--
		}
		if c.groups.old != nil && !wasMoving {
			replaced++
		}
		for _, name := range names[:20] {
			g := c.groups.find(name)
			require.Equal(t, len(queued[name]) > 0, g != nil, name)
			require.True(t, g == nil || g.head == queued[name][0])
		}
	}
	assert.Positive(t, replaced)
	assert.Zero(t, c.groups.len())
	assert.Nil(t, c.turn)
}

// A map that is used to its size all the time is not replaced all the time.
func TestMapOfFewGroupsIsKept(t *testing.T) {
	t.Parallel()
	for groups, kept := range map[int]bool{keptGroups: true, keptGroups + 1: false} {
		o := newOrder[int](nil, true)
		m := &o.classes[0].groups
		for range 2 {
			for i := range groups {
				o.push(&entry[int]{member: &member[int]{name: fmt.Sprint(i)}}, 0)
			}
			for o.n > 0 {
				o.pop(0)
			}
		}
		assert.Equal(t, kept, m.peak == groups, "%d groups, peak %d", groups, m.peak)
	}
}

// However many marks wait for one request, no operation under the lock touches
// more than a few of them.
func TestReachedMarksMergeAndAreClosedOutsideTheLock(t *testing.T) {
	t.Parallel()
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var m marks
	m.init()
	var counted []*mark
	var channels []<-chan struct{}
	for range 1000 {
		counted = append(counted, m.enter())
		channels = append(channels, m.seal())
	}
	assert.Equal(t, channels[999], m.seal(), "nothing new since")
	for _, i := range rand.Perm(998) { // all but the first and the last
		assert.Nil(t, m.leave(counted[1+i]))
	}
	assert.Same(t, counted[999], counted[0].next, "reached marks stay in the list")
	assert.Same(t, counted[0], counted[999].prev)
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
	assert.True(t, closed(channels[999]))
	assert.True(t, closed(m.seal()))
}

// Entries are allocated side by side, so one that is in use keeps its neighbours
// in memory. What was let go must not lead from there to anything else.
func TestDroppedEntriesHoldOnToNothing(t *testing.T) {
	t.Parallel()
	q := New(Options[*int]{})
	for range 8 * freeListKept {
		q.Add(new(int))
	}
	var all []*entry[*int]
	for x := q.engine.order.classes[0].head; x != nil; x = x.next {
		all = append(all, x)
	}
	for q.Len() > 0 {
		item, _ := q.Get(t.Context())
		q.Done(item)
	}
	free := map[*entry[*int]]bool{}
	for x := q.engine.free.head; x != nil; x = x.next {
		free[x] = true
	}
	dropped := 0
	for _, x := range all {
		if !free[x] {
			dropped++
			require.Equal(t, entry[*int]{}, *x)
		}
	}
	assert.Greater(t, dropped, 6*freeListKept)
}

// A waiter whose context ends while its wake-up is on the way must pass the
// wake-up on, or the item would lie there with somebody waiting for it.
func TestCancelledWaiterPassesItsInvitationOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{}).engine
		got := make(chan string, 1)
		go func() {
			item, _ := q.get(t.Context(), nobody)
			got <- item
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // the last to come is the first to be invited
			_, ok := q.get(ctx, nobody)
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
		assert.Zero(t, q.waiters.inviting)
	})
}
