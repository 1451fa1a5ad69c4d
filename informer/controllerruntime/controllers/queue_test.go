package controllers_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	upstream "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/informerkit/informerkit/informer/controllerruntime/controllers"
	"github.com/informerkit/informerkit/workqueue"
)

func add(q *controllers.PriorityQueue[string], priority int, items ...string) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(priority)}, items...)
}

// drain takes all items and returns them with their priorities.
func drain(q *controllers.PriorityQueue[string]) (items []string, priorities []int) {
	for q.Len() > 0 {
		item, priority, _ := q.GetWithPriority()
		q.Done(item)
		items, priorities = append(items, item), append(priorities, priority)
	}
	return items, priorities
}

// Promise controllers/2
func TestUrgentItemsComeFirstAndNoneWaitsForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := controllers.NewPriorityQueue[string](nil, workqueue.Options[string]{Name: "test"})
		add(q, -100, "low", "twice", "raised")
		q.Add("plain")
		add(q, 7, "high")
		add(q, 3, "raised") // the highest counts
		add(q, -5, "high")
		items, priorities := drain(q)
		require.Equal(t, []string{"high", "raised", "plain", "low", "twice"}, items)
		require.Equal(t, []int{7, 3, 0, -100, -100}, priorities)

		// Added again while it is processed: the priority is that of the second time.
		add(q, 5, "again")
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, 5, priority)
		add(q, -1, "again")
		q.Done(item)
		_, priorities = drain(q)
		require.Equal(t, []int{-1}, priorities)

		// A flood of urgent items delays the others until their bound.
		add(q, -100, "low")
		q.Add("plain")
		waited := map[string]time.Duration{}
		for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(time.Second) {
			add(q, 1, "u1", "u2", "u3", "u4")
			for range 4 {
				item, _, _ := q.GetWithPriority()
				q.Done(item)
				if _, seen := waited[item]; !seen {
					waited[item] = time.Since(begin)
				}
			}
		}
		require.InDelta(t, 10, waited["plain"].Seconds(), 2)
		require.InDelta(t, 60, waited["low"].Seconds(), 2)
		require.Equal(t, "test", q.Unwrap().Inspect(0).Name)
	})
}

// A delayed or rate-limited add with a higher priority raises an item that waits, in whatever
// way it waits.
func TestDelayedAddRaisesAnItemThatWaits(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]priorityqueue.AddOpts{
		"delayed":                  {After: time.Hour, Priority: ptr.To(5)},
		"rate limited":             {RateLimited: true, Priority: ptr.To(5)},
		"delayed and rate limited": {After: time.Hour, RateLimited: true, Priority: ptr.To(5)},
	} {
		for state, prepare := range map[string]func(q *controllers.PriorityQueue[string]) (ready func()){
			"queued": func(q *controllers.PriorityQueue[string]) func() {
				add(q, -100, "x")
				return func() {}
			},
			"running and added again": func(q *controllers.PriorityQueue[string]) func() {
				add(q, -100, "x")
				item, _ := q.Get()
				add(q, -100, "x")
				return func() { q.Done(item) }
			},
			"delayed": func(q *controllers.PriorityQueue[string]) func() {
				q.AddWithOpts(priorityqueue.AddOpts{After: time.Millisecond, Priority: ptr.To(-100)}, "x")
				return func() {
					time.Sleep(time.Millisecond)
					synctest.Wait()
				}
			},
			"running and delayed": func(q *controllers.PriorityQueue[string]) func() {
				add(q, -100, "x")
				item, _ := q.Get()
				q.AddWithOpts(priorityqueue.AddOpts{After: time.Millisecond, Priority: ptr.To(-100)}, "x")
				return func() {
					time.Sleep(time.Millisecond)
					synctest.Wait()
					q.Done(item)
				}
			},
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					q := controllers.NewPriorityQueue[string](nil, workqueue.Options[string]{})
					defer q.ShutDown()
					ready := prepare(q)
					q.AddWithOpts(opts, "x")
					ready()
					q.Add("plain")
					items, priorities := drain(q)
					require.Equal(t, []string{"x", "plain"}, items, "each once")
					require.Equal(t, []int{5, 0}, priorities)
				})
			})
		}
	}
}

// A retry that collapses with a request that is there uses no token of the limiter.
func TestDelayedRetryThatCollapsesUsesNoToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := controllers.NewPriorityQueue[string](nil, workqueue.Options[string]{})
		defer q.ShutDown()
		for range 1000 {
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, After: time.Millisecond}, "x")
		}
		began := time.Now()
		q.AddRateLimited("y")
		for item := ""; item != "y"; {
			item, _ = q.Get()
		}
		require.LessOrEqual(t, time.Since(began), 5*time.Millisecond)
	})
}

func TestDelaysOfItemsWithPriorities(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Minute, Max: time.Hour})
		q := controllers.NewPriorityQueue[string](limiter, workqueue.Options[string]{})
		begin := time.Now()
		after := func(want time.Duration, item string, priority int) {
			t.Helper()
			got, p, _ := q.GetWithPriority()
			require.Equal(t, item, got)
			require.Equal(t, priority, p)
			require.Equal(t, want, time.Since(begin))
			q.Done(got)
			begin = time.Now()
		}
		q.AddWithOpts(priorityqueue.AddOpts{After: 3 * time.Second, Priority: ptr.To(-100)}, "a")
		q.AddWithOpts(priorityqueue.AddOpts{After: 9 * time.Second, Priority: ptr.To(4)}, "a")
		after(3*time.Second, "a", 4)
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, "a")
		require.Equal(t, 1, q.NumRequeues("a"))
		after(time.Minute, "a", 0)
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, After: time.Second}, "a")
		after(time.Second, "a", 0)
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, After: time.Hour}, "a")
		after(4*time.Minute, "a", 0)
		q.AddRateLimited("a")
		after(8*time.Minute, "a", 0)
		q.Forget("a")
		require.Zero(t, q.NumRequeues("a"))
		q.AddAfter("a", time.Second)
		after(time.Second, "a", 0)
		q.AddWithOpts(priorityqueue.AddOpts{After: -time.Second}, "a")
		after(0, "a", 0)
	})
}

func TestQueuesShutDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := controllers.NewPriorityQueue[string](nil, workqueue.Options[string]{})
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				_, shutdown := q.Get()
				require.True(t, shutdown)
			})
		}
		synctest.Wait()
		require.False(t, q.ShuttingDown())
		q.ShutDown()
		waiting.Wait()
		require.True(t, q.ShuttingDown())
		add(q, 1, "late")
		require.Zero(t, q.Len())

		q = controllers.NewPriorityQueue[string](nil, workqueue.Options[string]{})
		q.Add("a")
		drained := make(chan struct{})
		go func() {
			q.ShutDownWithDrain()
			close(drained)
		}()
		synctest.Wait()
		item, shutdown := q.Get()
		require.False(t, shutdown, "what is queued is still handed out")
		select {
		case <-drained:
			t.Fatal("it is not done yet")
		default:
		}
		q.Done(item)
		<-drained
	})
}

func TestPrioritiesOfManyGoroutines(t *testing.T) {
	t.Parallel()
	q := controllers.NewPriorityQueue[int](nil, workqueue.Options[int]{})
	var adding, working sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]bool{}
	for range 4 {
		working.Go(func() {
			for {
				item, _, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				mu.Lock()
				seen[item] = true
				mu.Unlock()
				q.Done(item)
			}
		})
	}
	for g := range 4 {
		adding.Go(func() {
			for i := range 1000 {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(i%3 - 1)}, i%100, g)
			}
		})
	}
	adding.Wait()
	q.ShutDownWithDrain()
	working.Wait()
	require.Len(t, seen, 100)
}

// As in controller-runtime, a nil limiter looks at each item by itself.
func TestANilLimiterIsControllerRuntimesDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours := controllers.NewPriorityQueue[int](nil, workqueue.Options[int]{Name: "test"})
		theirs := priorityqueue.New[int]("test")
		waited := func(q upstream.TypedRateLimitingInterface[int]) (all []time.Duration) {
			defer q.ShutDown()
			for range 3 {
				began := time.Now()
				for i := range 300 {
					q.AddRateLimited(i)
				}
				for range 300 {
					item, _ := q.Get()
					q.Done(item)
				}
				all = append(all, time.Since(began))
			}
			return all
		}
		want := []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}
		require.Equal(t, want, waited(ours))
		require.Equal(t, want, waited(theirs))
	})
}
