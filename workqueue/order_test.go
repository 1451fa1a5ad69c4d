package workqueue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

func TestUrgentClassesComeFirst(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{
		MaxWait:       []time.Duration{0, time.Minute, time.Hour},
		PriorityClass: func(s string) int { return strings.Count(s, "low") },
	})
	addAll(q, []string{"lowlow", "low", "x"})
	q.PriorityClass(0).Add("y")
	q.PriorityClass(1).Add("z")
	assert.Equal(t, []string{"x", "y", "low", "z", "lowlow"}, takeAll(t, q))
}

// Promise workqueue/7
func TestPriorityIsRaisedByALaterAddAndNeverLowered(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
	for _, s := range []string{"a", "b", "c"} {
		q.PriorityClass(1).Add(s)
	}
	q.PriorityClass(0).Add("b")
	q.PriorityClass(1).Add("b")
	assert.Equal(t, []string{"b", "a", "c"}, takeAll(t, q))

	// The same for a request made while the item is running.
	q.PriorityClass(1).Add("a")
	mustGet(t, q)
	q.PriorityClass(1).Add("b")
	q.PriorityClass(1).Add("a")
	q.PriorityClass(0).Add("a")
	q.Done("a")
	assert.Equal(t, []string{"a", "b"}, takeAll(t, q))
}

// Promise workqueue/7
func TestRetryKeepsTheClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Hour}})
		q.PriorityClass(1).Add("low")
		mustGet(t, q)
		q.AddAfter("low", time.Second)
		q.Done("low")
		advance(time.Second)
		q.Add("new")
		assert.Equal(t, []string{"new", "low"}, takeAll(t, q))
	})
}

// An item that asks to come again at once is no more urgent than before, and
// comes after its peers: it starves neither them nor, with a class for each, others.
func TestRequeueKeepsTheClassAndGoesToTheBack(t *testing.T) {
	t.Parallel()
	for name, requeue := range map[string]func(*workqueue.RateLimitingQueue[string], string){
		"AddAfter 0":        func(q *workqueue.RateLimitingQueue[string], item string) { q.AddAfter(item, 0) },
		"AddAfter negative": func(q *workqueue.RateLimitingQueue[string], item string) { q.AddAfter(item, -time.Second) },
		"AddRateLimited":    func(q *workqueue.RateLimitingQueue[string], item string) { q.AddRateLimited(item) },
		"AddAfter 1 ms": func(q *workqueue.RateLimitingQueue[string], item string) {
			q.AddAfter(item, time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at := workqueue.WithMaxWait[string](nil, 0) // no delay
				q := workqueue.NewRateLimiting(at, workqueue.Options[string]{MaxWait: []time.Duration{0, time.Hour}})
				for _, item := range number(100, "%d") {
					q.PriorityClass(1).Add(item)
				}
				runs := map[string]int{}
				for range 1000 {
					item := mustGet(t, q)
					runs[item]++
					requeue(q, item)
					advance(10 * time.Millisecond)
					q.Done(item)
				}
				for _, item := range number(100, "%d") {
					assert.Equal(t, 10, runs[item], item)
				}
				q.Add("urgent")
				assert.Equal(t, "urgent", mustGet(t, q))
			})
		})
	}
}

// A delay that is replaced by none is still no sign of urgency.
func TestDelayedItemKeepsItsClassWhenAskedForAtOnce(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Hour}})
	q.PriorityClass(1).Add("low")
	q.AddAfter("low", -1) // queued: nothing changes
	q.Add("high")
	assert.Equal(t, "high", mustGet(t, q))
	assert.Equal(t, "low", mustGet(t, q))
	q.AddAfter("low", time.Hour)
	q.Done("low")
	q.AddAfter("low", 0)
	assert.Zero(t, q.Stats().Delayed)
	q.Add("new")
	assert.Equal(t, []string{"new", "low"}, takeAll(t, q))
}

// Promise workqueue/4
func TestGroupsTakeTurns(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{Group: func(s string) string { return s[:1] }})
	addAll(q, []string{"a1", "a2", "a3", "a4", "b1", "c1", "b2"})
	assert.Equal(t, []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}, takeAll(t, q))
}

// An item waits for at most one item of every other group per item before it in
// its own, whatever the others have queued.
//
// Promise workqueue/4
func TestNoisyGroupDelaysOthersByOneItemPerTurn(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{Group: func(s string) string { return s[:1] }})
	for i := range 10_000 {
		q.Add(fmt.Sprint("n", i))
	}
	for i := range 100 {
		q.Add(fmt.Sprint("q", i))
		q.Add(fmt.Sprint("r", i))
	}
	served := map[byte]int{}
	for range 300 {
		item := mustGet(t, q)
		served[item[0]]++
		for _, n := range served {
			for _, other := range served {
				require.LessOrEqual(t, n-other, 1+100*boolToInt(len(served) < 3), "unfair: %v", served)
			}
		}
		q.Done(item)
	}
	assert.Equal(t, map[byte]int{'n': 100, 'q': 100, 'r': 100}, served)
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestGroupsTakeTurnsWithinTheirClass(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{
		MaxWait: []time.Duration{0, time.Hour},
		Group:   func(s string) string { return s[:1] },
	})
	for _, s := range []string{"a1", "a2", "a3", "b1"} {
		q.PriorityClass(1).Add(s)
	}
	for _, s := range []string{"a4", "a5", "b2"} {
		q.PriorityClass(0).Add(s)
	}
	q.PriorityClass(0).Add("a3") // raised, behind its group's others
	assert.Equal(t, []string{"a4", "b2", "a5", "a3", "a1", "b1", "a2"}, takeAll(t, q))
}
