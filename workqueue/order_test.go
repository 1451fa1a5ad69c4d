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
		Budgets: []time.Duration{0, time.Minute, time.Hour},
		Class:   func(s string) int { return strings.Count(s, "low") },
	})
	q.AddAll([]string{"lowlow", "low", "x"})
	q.AddClass("y", 0)
	q.AddClass("z", 1)
	assert.Equal(t, []string{"x", "y", "low", "z", "lowlow"}, takeAll(t, q))
}

func TestPriorityIsRaisedByALaterAddAndNeverLowered(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{Budgets: []time.Duration{0, time.Minute}})
	for _, s := range []string{"a", "b", "c"} {
		q.AddClass(s, 1)
	}
	q.AddClass("b", 0)
	q.AddClass("b", 1)
	assert.Equal(t, []string{"b", "a", "c"}, takeAll(t, q))

	// The same for a request made while the item is running.
	q.AddClass("a", 1)
	mustGet(t, q)
	q.AddClass("b", 1)
	q.AddClass("a", 1)
	q.AddClass("a", 0)
	q.Done("a")
	assert.Equal(t, []string{"a", "b"}, takeAll(t, q))
}

func TestRetryKeepsTheClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{Budgets: []time.Duration{0, time.Hour}})
		q.AddClass("low", 1)
		mustGet(t, q)
		q.AddAfter("low", time.Second)
		q.Done("low")
		advance(time.Second)
		q.Add("new")
		assert.Equal(t, []string{"new", "low"}, takeAll(t, q.Queue))
	})
}

// However many urgent items keep coming, an item waits at most its budget plus
// the processing of what was due before it.
func TestNoClassStarves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const (
			budget = 10 * time.Second
			work   = 100 * time.Millisecond
		)
		q := workqueue.New(workqueue.Options[string]{Budgets: []time.Duration{0, budget}})
		added := map[string]time.Time{}
		longest := map[int]time.Duration{}
		for i := range 2000 {
			// Urgent work arrives at exactly the rate at which it can be done:
			// by strict priority, the other class would never have its turn.
			urgent := fmt.Sprint("urgent ", i)
			q.AddClass(urgent, 0)
			added[urgent] = time.Now()
			if i%10 == 0 {
				low := fmt.Sprint("low ", i)
				q.AddClass(low, 1)
				added[low] = time.Now()
			}
			item := mustGet(t, q)
			class := 0
			if strings.HasPrefix(item, "low") {
				class = 1
			}
			waited := time.Since(added[item])
			longest[class] = max(longest[class], waited)
			// What was due before: everything that arrived earlier, at most.
			require.LessOrEqual(t, waited, budget+time.Duration(q.Len()+1)*work, item)
			advance(work)
			q.Done(item)
		}
		assert.GreaterOrEqual(t, longest[1], budget)
		assert.Less(t, longest[1], 2*budget+30*time.Second)
		t.Logf("longest waits: urgent %v, low %v", longest[0], longest[1])
	})
}

// The exact promise: when an item is handed out, nothing queued was due before.
func TestNothingIsHandedOutBeforeWhatWasDueEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRand(t)
		budgets := []time.Duration{0, 3 * time.Second, time.Second, 20 * time.Second}
		q := workqueue.New(workqueue.Options[int]{Budgets: budgets})
		due := map[int]time.Time{}
		for i := range 20_000 {
			if r.IntN(2) == 0 {
				class := r.IntN(len(budgets))
				q.AddClass(i, class)
				due[i] = time.Now().Add(budgets[class])
			} else if q.Len() > 0 {
				item := mustGet(t, q)
				for other, d := range due {
					require.False(t, d.Before(due[item]), "%d waits although it was due before %d", other, item)
				}
				delete(due, item)
				q.Done(item)
			}
			advance(time.Duration(r.IntN(int(200 * time.Millisecond))))
		}
	})
}

func TestGroupsTakeTurns(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{Group: func(s string) string { return s[:1] }})
	q.AddAll([]string{"a1", "a2", "a3", "a4", "b1", "c1", "b2"})
	assert.Equal(t, []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}, takeAll(t, q))
}

// An item waits for at most one item of every other group per item before it in
// its own, whatever the others have queued.
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
		Budgets: []time.Duration{0, time.Hour},
		Group:   func(s string) string { return s[:1] },
	})
	for _, s := range []string{"a1", "a2", "a3", "b1"} {
		q.AddClass(s, 1)
	}
	for _, s := range []string{"a4", "a5", "b2"} {
		q.AddClass(s, 0)
	}
	q.AddClass("a3", 0) // raised, behind its group's others
	assert.Equal(t, []string{"a4", "b2", "a5", "a3", "a1", "b1", "a2"}, takeAll(t, q))
}
