package workqueue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// work is how long an item takes in these tests. There is one worker.
const work = 10 * time.Millisecond

// serve takes and finishes the next item, in the time that this takes.
func serve[T comparable](t *testing.T, q *workqueue.Queue[T]) T {
	t.Helper()
	item := mustGet(t, q)
	advance(work)
	q.Done(item)
	return item
}

func number(n int, format string) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return items
}

// A backlog of 100,000 items takes a quarter of an hour, so after a minute all
// of it is overdue.
func TestUrgentItemPassesABacklogHoweverOverdueItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
		for _, item := range number(100_000, "background %d") {
			q.PriorityClass(1).Add(item)
		}
		began := time.Now()
		for _, at := range []time.Duration{59 * time.Second, 61 * time.Second, 62 * time.Second, 10 * time.Minute} {
			for time.Since(began) < at {
				serve(t, q)
			}
			urgent := fmt.Sprintf("urgent at %v", at)
			q.Add(urgent)
			others := 0
			for serve(t, q) != urgent {
				others++
			}
			assert.LessOrEqual(t, others, 1, urgent)
		}
		// The same for one that is in the backlog and becomes urgent.
		q.Add("background 99999")
		assert.Contains(t, []string{serve(t, q), serve(t, q)}, "background 99999")
	})
}

// An urgent item behind others of its class waits for one of another class, and
// one more per three of its own.
//
// Promise workqueue/5
func TestUrgentItemsKeepThreeQuartersOfTheHandOuts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute, time.Hour}})
		for i, item := range number(1000, "other %d") {
			q.PriorityClass(1 + i%2).Add(item)
		}
		advance(2 * time.Hour)
		for _, item := range number(30, "urgent %d") {
			q.Add(item)
		}
		served := map[int]int{} // urgent items, by the number of others served before
		others := 0
		for served[others] < 30 && others < 1000 {
			if item := serve(t, q); item[0] == 'o' {
				others++
			} else {
				before := 0
				for _, n := range served {
					before += n
				}
				require.LessOrEqual(t, others, 1+before/3, item)
				served[others]++
				if before == 29 {
					return
				}
			}
		}
		require.Fail(t, "the urgent items never ended")
	})
}

func TestBackgroundItemBehindAnUrgentBurstWaitsForItsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
		addAll(q, number(100_000, "urgent %d"))
		q.PriorityClass(1).Add("background")
		began := time.Now()
		for serve(t, q) != "background" {
		}
		waited := time.Since(began) - work
		assert.GreaterOrEqual(t, waited, time.Minute, "it was not urgent")
		assert.Less(t, waited, time.Minute+4*work)

		// Two classes wait twice as long at most, and then share.
		q = workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute, time.Minute}})
		addAll(q, number(20_000, "urgent %d"))
		for i := range 100 {
			q.PriorityClass(1 + i%2).Add(fmt.Sprint("background ", i))
		}
		began = time.Now()
		var got []string
		for len(got) < 100 {
			if item := serve(t, q); item[0] == 'b' {
				got = append(got, item)
				require.Less(t, time.Since(began)-work, time.Minute+time.Duration(len(got))*4*work, item)
			}
		}
		assert.Equal(t, number(100, "background %d"), got, "each in its turn")
	})
}

// The queue keeps up, but only just: there is always something urgent.
//
// Promise workqueue/6
func TestNothingWaitsLongerThanItsBoundWhileTheQueueKeepsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		maxWait := []time.Duration{0, 10 * time.Second, 20 * time.Second}
		q := workqueue.New(workqueue.Options[string]{MaxWait: maxWait})
		added := map[string]time.Time{}
		longest := [3]time.Duration{}
		add := func(class, i int) {
			item := fmt.Sprint(class, " ", i)
			q.PriorityClass(class).Add(item)
			added[item] = time.Now()
		}
		for _, item := range number(500, "0 backlog %d") { // never worked off
			q.Add(item)
			added[item] = time.Now()
		}
		for i := range 20_000 {
			switch {
			case i%20 == 7:
				add(1, i)
			case i%20 == 17:
				add(2, i)
			default:
				add(0, i)
			}
			item := mustGet(t, q)
			class := int(item[0] - '0')
			longest[class] = max(longest[class], time.Since(added[item]))
			advance(work)
			q.Done(item)
		}
		assert.Less(t, longest[0], 501*work, "the backlog grew")
		for class, bound := range maxWait[1:] {
			assert.GreaterOrEqual(t, longest[1+class], bound)
			assert.Less(t, longest[1+class], bound+8*work)
		}
	})
}

// Both promises, whatever comes: of four hand-outs in a row three are of the most
// urgent class, and an overdue class gets one of four per class that may be.
//
// Promise workqueue/5
// Promise workqueue/6
func TestEveryFourHandOutsKeepBothPromises(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRand(t)
		for range 20 {
			keepsBothPromises(t, r)
		}
	})
}

func keepsBothPromises(t *testing.T, r *rand.Rand) {
	maxWait := []time.Duration{0, 30 * work, 10 * work, 100 * work, 0}[:2+r.IntN(4)]
	q := workqueue.New(workqueue.Options[int]{MaxWait: maxWait})
	queues := make([][]int, len(maxWait)) // by class
	added := map[int]time.Time{}
	unserved := make([]int, len(maxWait)) // hand-outs to others while overdue
	passed := []bool{}                    // hand-outs that passed a more urgent item
	load := r.Float64() * 2
	for i := range 2000 {
		for ; r.Float64() > 1/(1+load); i += 10_000 {
			class := r.IntN(len(maxWait))
			q.PriorityClass(class).Add(i)
			queues[class] = append(queues[class], i)
			added[i] = time.Now()
		}
		if q.Len() == 0 {
			advance(work)
			continue
		}
		urgent := slices.IndexFunc(queues, func(items []int) bool { return len(items) > 0 })
		now := time.Now()
		item := mustGet(t, q)
		class := slices.IndexFunc(queues, func(items []int) bool { return len(items) > 0 && items[0] == item })
		require.GreaterOrEqual(t, class, 0, "not the oldest of its class")
		passed = append(passed, class != urgent)
		last := passed[max(0, len(passed)-4):]
		require.LessOrEqual(t, len(slices.DeleteFunc(slices.Clone(last), func(p bool) bool { return !p })), 1, "of four hand-outs")
		for c := 1; c < len(maxWait); c++ {
			if c == class || len(queues[c]) == 0 || now.Sub(added[queues[c][0]]) < maxWait[c] {
				unserved[c] = 0
				continue
			}
			unserved[c]++
			require.Less(t, unserved[c], 4*(len(maxWait)-1), "class %d of %v is overdue and not served", c, maxWait)
		}
		queues[class] = queues[class][1:]
		advance(work)
		q.Done(item)
	}
}

// Items that come and go at the wrong moments must not make a class miss its
// turns: whenever an overdue turn is due, class 1 is the most urgent with items.
func TestClassThatIsNowAndThenTheMostUrgentGetsItsTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Second, time.Second}})
		for i := range 100 {
			q.PriorityClass(1).Add(fmt.Sprint("one ", i))
			q.PriorityClass(2).Add(fmt.Sprint("two ", i))
		}
		advance(time.Second)
		served := map[string]int{}
		serveOne := func() { served[serve(t, q)[:3]]++ }
		serveOne() // an overdue turn
		for i := range 40 {
			for _, item := range number(3, "urgent %d") {
				q.Add(fmt.Sprint(item, " ", i))
			}
			for range 4 {
				serveOne()
			}
		}
		assert.Equal(t, map[string]int{"urg": 120, "one": 21, "two": 20}, served)
	})
}

func TestGroupsShareTheTurnsOfAnOverdueClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{
			MaxWait: []time.Duration{0, time.Second},
			Group:   func(s string) string { return s[:1] },
		})
		for _, item := range []string{"n1", "n2", "n3", "q1"} {
			q.PriorityClass(1).Add(item)
		}
		advance(time.Second)
		addAll(q, number(6, "u%d"))
		assert.Equal(t, []string{"n1", "u0", "u1", "u2", "q1", "u3", "u4", "u5", "n2", "n3"}, takeAll(t, q))
	})
}
