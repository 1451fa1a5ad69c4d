package workqueue_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// names returns the items alone.
func names[T comparable](items []workqueue.Item[T]) (all []T) {
	for _, i := range items {
		all = append(all, i.Item)
	}
	return all
}

func TestInspectionWithALimitShowsWhatComesFirstAndCountsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{
			MaxWait: []time.Duration{0, 10 * time.Second},
			Group:   func(s string) string { return s[:1] },
		})
		for i := range 5 {
			q.Add(fmt.Sprint("running", i))
			advance(time.Second)
			mustGet(t, q)
		}
		for i := range 5 {
			q.PriorityClass(1).Add(fmt.Sprint("low", i))
			advance(time.Second)
		}
		advance(9 * time.Second) // low0 to low3 have become overdue
		for i := range 5 {
			q.Add(fmt.Sprint("high", i))
		}
		for i := range 50 {
			q.AddAfter(fmt.Sprint("delayed", i), time.Duration(60-i)*time.Minute)
		}
		in := q.Inspect(3)
		assert.Equal(t, []string{"low0", "high0", "high1"}, names(in.Queued))
		assert.Equal(t, []string{"running0", "running1", "running2"}, names(in.Running))
		assert.Equal(t, []string{"delayed49", "delayed48", "delayed47"}, names(in.Delayed))
		assert.Equal(t, q.Stats(), in.Stats)
		assert.Equal(t, 10, in.Stats.Queued)
		assert.Equal(t, 50, in.Stats.Delayed)
		now := time.Now()
		assert.Equal(t, 0, int(now.Sub(in.PriorityClasses[0].QueuedSince)))
		assert.Equal(t, 14*time.Second, now.Sub(in.PriorityClasses[1].QueuedSince))
		in.PriorityClasses[0].QueuedSince, in.PriorityClasses[1].QueuedSince = time.Time{}, time.Time{}
		assert.Equal(t, []workqueue.PriorityClassInspection{
			{Queued: 5, Groups: 1}, {MaxWait: 10 * time.Second, Queued: 5, Groups: 1},
		}, in.PriorityClasses)

		assert.Equal(t, []string{"low0", "high0", "high1", "high2", "low1"}, names(q.Inspect(5).Queued))
		all := q.Inspect(10_000)
		assert.Len(t, all.Queued, 10)
		assert.Len(t, all.Delayed, 50)
		assert.Equal(t, takeAll(t, q), names(all.Queued), "nothing became overdue meanwhile")
	})
}

func TestInspectionWithoutItems(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	addAll(q, []string{"a", "b"})
	q.AddAfter("c", time.Hour)
	mustGet(t, q)
	for _, limit := range []int{0, -1} {
		in := q.Inspect(limit)
		assert.Empty(t, in.Queued)
		assert.Empty(t, in.Delayed)
		assert.Empty(t, in.Running)
		assert.Equal(t, workqueue.Stats{Queued: 1, Delayed: 1, Running: 1, Added: 2}, in.Stats)
		assert.Equal(t, []workqueue.PriorityClassInspection{{Queued: 1}}, in.PriorityClasses)
	}
}

// What the classes hold is known without a look at any item.
func TestPriorityClassesWithoutAnInspection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
		q.PriorityClass(1).Add("bulk")
		time.Sleep(3 * time.Second)
		addAll(q, []string{"a", "b"})
		time.Sleep(2 * time.Second)
		assert.Equal(t, q.Inspect(10_000).PriorityClasses, q.PriorityClasses())
		assert.Equal(t, []workqueue.PriorityClassInspection{
			{Queued: 2, QueuedSince: time.Now().Add(-2 * time.Second)}, {MaxWait: time.Minute, Queued: 1, QueuedSince: time.Now().Add(-5 * time.Second)},
		}, q.PriorityClasses())
		takeAll(t, q)
		for _, c := range q.PriorityClasses() {
			assert.Zero(t, c.Queued)
			assert.Zero(t, c.QueuedSince)
		}
	})
}

// Whatever the limit, the delayed items shown are the first of all.
func TestInspectionShowsTheEarliestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rnd := newRand(t)
		q := workqueue.NewDelaying(workqueue.Options[int]{})
		for i := range 300 {
			q.AddAfter(i, time.Duration(1+rnd.IntN(100))*time.Second)
			if i%3 == 0 { // some are shortened, and some go
				q.AddAfter(rnd.IntN(i+1), time.Second)
				q.Add(rnd.IntN(i + 1))
			}
		}
		all := q.Inspect(10_000).Delayed
		require.True(t, slices.IsSortedFunc(all, func(a, b workqueue.Item[int]) int { return a.DelayedUntil.Compare(b.DelayedUntil) }))
		for limit := 1; limit < len(all)+3; limit++ {
			some := q.Inspect(limit).Delayed
			require.Len(t, some, min(limit, len(all)))
			for i := range some {
				require.Equal(t, all[i].DelayedUntil, some[i].DelayedUntil, "item %d of at most %d", i, limit)
			}
		}
	})
}

func TestClassAddsToItsClass(t *testing.T) {
	t.Parallel()
	q := workqueue.NewRateLimiting(nil, workqueue.Options[string]{
		MaxWait:       []time.Duration{0, time.Minute, time.Hour},
		PriorityClass: func(string) int { return 2 },
	})
	q.PriorityClass(1).Add("a")
	q.PriorityClass(-1).Add("b")
	q.PriorityClass(99).Add("c")
	q.Add("d")
	classes := map[string]int{}
	for _, item := range q.Inspect(10_000).Queued {
		classes[item.Item] = item.PriorityClass
	}
	assert.Equal(t, map[string]int{"a": 1, "b": 0, "c": 2, "d": 2}, classes)
	q.PriorityClass(2).Add("a") // is not lowered
	q.PriorityClass(0).Add("c") // but raised
	assert.Equal(t, []string{"b", "c", "a", "d"}, takeAll(t, q))
}

func TestInspectionShowsTheAgeOfEachClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
		began := time.Now()
		q.PriorityClass(1).Add("low")
		advance(time.Second)
		q.PriorityClass(1).Add("low too")
		classes := q.Inspect(10_000).PriorityClasses
		assert.Zero(t, classes[0].QueuedSince)
		assert.True(t, began.Equal(classes[1].QueuedSince))
		plain := workqueue.New(workqueue.Options[string]{})
		plain.Add("a")
		assert.Zero(t, plain.Inspect(10_000).PriorityClasses[0].QueuedSince, "keeps no times")
	})
}

func TestOneItemIsInspected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Minute, Max: time.Hour}), workqueue.Options[string]{Name: "q", MaxWait: []time.Duration{0, time.Minute}})
		// in says in which states an item is listed, and nothing else is.
		in := func(item string) (states string) {
			in := q.Inspect(0, item)
			assert.Equal(t, "q", in.Name)
			assert.Equal(t, q.Stats(), in.Stats)
			for i, list := range [][]workqueue.Item[string]{in.Queued, in.Delayed, in.Parked, in.Running} {
				if len(list) > 0 {
					require.Equal(t, []string{item}, names(list))
					states += []string{"queued ", "delayed ", "parked ", "running "}[i]
				}
			}
			return states
		}
		assert.Empty(t, in("none"))
		addAll(q, []string{"a", "b"})
		assert.Equal(t, "queued ", in("b"))
		assert.Equal(t, time.Now(), q.Inspect(0, "b").Queued[0].QueuedSince)
		assert.Equal(t, 2, q.Inspect(0, "b").PriorityClasses[0].Queued)
		mustGet(t, q)
		assert.Equal(t, "running ", in("a"))
		q.AddAfter("a", time.Minute)
		assert.Equal(t, "delayed running ", in("a"))
		q.Park("a", never, time.Minute)
		assert.Equal(t, "parked running ", in("a"))
		assert.Equal(t, time.Now().Add(time.Minute), q.Inspect(0, "a").Parked[0].ParkedUntil)
		assert.Equal(t, []string{"b"}, names(q.Inspect(0, "a", "none", "b").Queued))
		assert.Equal(t, []string{"a"}, names(q.Inspect(0, "a", "none", "b").Running))
		q.ShutDown()
		assert.True(t, q.Inspect(0, "b").ShuttingDown)
	})
}
