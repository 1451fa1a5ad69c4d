package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// entry is what these tests compare of an entry of the history.
type entry struct {
	What     history.What
	At       time.Duration // since the start of the recorder
	Duration time.Duration
	Attempt  int
	Class    int
}

// entriesOf returns the history of an item.
func entriesOf(r *history.Recorder, item string) (all []entry) {
	h := r.Of(item)
	for _, e := range h.Entries {
		all = append(all, entry{e.What, e.Time.Sub(h.Since), e.Duration, int(e.Attempt), int(e.Class)})
	}
	return all
}

func addAll[T any](q interface{ Add(item T) }, items []T) {
	for _, item := range items {
		q.Add(item)
	}
}

// what returns what has happened to an item.
func what(r *history.Recorder, item string) (all []history.What) {
	for _, e := range r.Of(item).Entries {
		all = append(all, e.What)
	}
	return all
}

func TestHistoryHasEachStepOfAnItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		time.Sleep(time.Second) // the queue begins later than the recorder
		q := workqueue.NewDelaying(workqueue.Options[string]{Name: "q", Observe: history.Queue[string](r, "q"), MaxWait: []time.Duration{0, time.Minute}})
		q.PriorityClass(1).Add("a")
		q.Add("a")
		time.Sleep(12 * time.Millisecond)
		item, ok := q.Get(t.Context())
		require.True(t, ok)
		q.Add(item)
		q.Add(item)
		time.Sleep(time.Second)
		q.Done(item)
		_, _ = q.Get(t.Context())
		q.AddAfter(item, time.Minute)
		q.AddAfter(item, time.Hour)
		q.Done(item)
		time.Sleep(time.Minute)
		synctest.Wait()
		q.AddAfter(item, time.Second)
		_, _ = q.Get(t.Context())
		q.AddAfter(item, 0)
		q.Done(item)
		q.ShutDown()
		q.Add("b")

		const s, ms = time.Second, time.Millisecond
		assert.Equal(t, []entry{
			{history.Added, s, 0, 0, 1},
			{history.Collapsed, s, 0, 0, 0},
			{history.HandedOut, s + 12*ms, 12 * ms, 0, 0},
			{history.AddedAgain, s + 12*ms, 0, 0, 0},
			{history.Collapsed, s + 12*ms, 0, 0, 0},
			{history.Done, 2*s + 12*ms, s, 0, 0},
			{history.HandedOut, 2*s + 12*ms, s, 0, 0},
			{history.Delayed, 2*s + 12*ms, time.Minute, 0, 0},
			{history.Delayed, 2*s + 12*ms, time.Minute, 0, 0}, // the earlier one wins
			{history.Done, 2*s + 12*ms, 0, 0, 0},
			{history.Due, 62*s + 12*ms, 0, 0, 0},
			{history.Collapsed, 62*s + 12*ms, 0, 0, 0},
			{history.HandedOut, 62*s + 12*ms, 0, 0, 0},
			{history.AddedAgain, 62*s + 12*ms, 0, 0, 0},
			{history.Done, 62*s + 12*ms, 0, 0, 0},
		}, entriesOf(r, "a"))
		assert.Equal(t, []history.What{history.Rejected}, what(r, "b"))
		assert.Equal(t, "q", r.Of("b").Entries[0].Part.Name)
	})
}

func TestHistoryHasOutcomesAndTheirErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewRateLimiting(workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Second, Max: time.Minute}), workqueue.Options[string]{Observe: history.Queue[string](r, "q")})
		stop, cancel := context.WithCancel(t.Context())
		attempts := 0
		addAll(q, []string{"retried", "requeued", "dropped", "parked"})
		done := make(chan struct{})
		go func() {
			defer close(done)
			err := workqueue.ProcessWith(stop, q, workqueue.ProcessOptions[string]{Logger: slog.New(slog.DiscardHandler)}, func(_ context.Context, item string) (workqueue.Result, error) {
				time.Sleep(time.Millisecond)
				switch item {
				case "retried":
					if attempts++; attempts < 3 {
						return workqueue.Result{}, errors.New("no quota")
					}
				case "requeued":
					return workqueue.Result{RequeueAfter: time.Hour}, nil
				case "dropped":
					return workqueue.Result{}, workqueue.Terminal(errors.New("no use"))
				case "parked":
					return workqueue.Result{Until: never, ParkTimeout: time.Hour}, nil
				case "interrupted":
					<-stop.Done()
					return workqueue.Result{}, stop.Err()
				}
				return workqueue.Result{}, nil
			})
			assert.NoError(t, err)
		}()
		time.Sleep(time.Minute)
		q.Add("parked")
		q.Add("interrupted")
		synctest.Wait()
		cancel()
		<-done

		assert.Equal(t, []history.What{
			history.Added, history.HandedOut, history.Failed, history.Retried, history.Due,
			history.HandedOut, history.Failed, history.Retried, history.Due, history.HandedOut, history.Succeeded,
		}, what(r, "retried"))
		all := r.Of("retried").Entries
		assert.EqualError(t, all[2].Err, "no quota")
		assert.Equal(t, time.Millisecond, all[2].Duration)
		assert.EqualValues(t, 1, all[2].Attempt)
		assert.Equal(t, time.Second, all[3].Duration)
		assert.Equal(t, 2*time.Second, all[7].Duration)
		assert.EqualValues(t, 2, all[7].Attempt)
		assert.EqualValues(t, 3, all[10].Attempt)
		assert.Equal(t, []history.What{history.Added, history.HandedOut, history.Succeeded, history.Delayed}, what(r, "requeued"))
		assert.Equal(t, []history.What{history.Added, history.HandedOut, history.Dropped}, what(r, "dropped"))
		assert.EqualError(t, r.Of("dropped").Entries[2].Err, "terminal: no use")
		assert.Equal(t, []history.What{history.Added, history.HandedOut, history.Succeeded, history.Parked, history.AddedParked}, what(r, "parked"))
		assert.Regexp(t, `^history_test\..+ is met$`, r.Of("parked").Entries[3].Object.Name)
		assert.Equal(t, []history.What{history.Added, history.HandedOut, history.Failed, history.Interrupted}, what(r, "interrupted"))
	})
}

// never is a condition that is not met.
var never = workqueue.ConditionFunc(func(func()) func() { return nil })

func TestHistorySaysHowAParkEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewDelaying(workqueue.Options[string]{Observe: history.Queue[string](r, "q")})
		var met func()
		q.Add("a")
		q.Park("a", workqueue.ConditionFunc(func(m func()) func() { met = m; return nil }), time.Minute)
		met()
		q.Park("a", never, time.Minute)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []history.What{history.Added, history.Parked, history.ConditionMet, history.Parked, history.ParkTimedOut}, what(r, "a"))
		assert.Equal(t, time.Minute, r.Of("a").Entries[1].Duration)
	})
}

func TestReasonOfAnAddIsKept(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	q := workqueue.New(workqueue.Options[pair]{Name: "q", Observe: history.Queue[pair](r, "q"), MaxWait: []time.Duration{0, time.Minute}})
	why := history.Cause{
		Handler: &history.Part{Name: "enqueue", Informer: "pods", Kind: "Pod"}, Object: history.Key{Namespace: "default", Name: "web-1"},
		Change: history.Change{Type: 2, Origin: 1, Old: 7, New: 8},
	}
	q.AddBecause(pair{"default", "web"}, &why)
	q.PriorityClass(1).AddBecause(pair{"default", "db"}, &why)
	web, db := r.Of("default/web").Entries[0], r.Of("default/db").Entries[0]
	assert.Equal(t, history.Record{
		What: history.Added, Key: history.Key{Namespace: "default", Name: "web"}, Part: web.Part,
		Cause: why.Handler, Object: why.Object, Change: 2, Origin: 1, Old: 7, New: 8,
	}, web.Record)
	assert.EqualValues(t, 1, db.Class)

	none := workqueue.New(workqueue.Options[*pair]{Observe: history.Queue[*pair](r, "q")}) // items without keys
	none.AddBecause(&pair{"default", "odd"}, &why)
	assert.Equal(t, 1, none.Len())
	plain := workqueue.New(workqueue.Options[pair]{})
	plain.AddBecause(pair{"default", "web"}, &why)
	assert.Equal(t, 1, plain.Len())
}

// process runs fn in one worker until the end of the test.
func process(t *testing.T, q *workqueue.RateLimitingQueue[string], opts workqueue.ProcessOptions[string], fn func(item string) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	opts.Logger = slog.New(slog.DiscardHandler)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		assert.NoError(t, workqueue.ProcessWith(ctx, q, opts, func(_ context.Context, item string) (workqueue.Result, error) {
			return workqueue.Result{}, fn(item)
		}))
	}()
	return func() { cancel(); <-ended }
}

func TestRecorderHasTheLastErrorOfWhatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewRateLimiting(
			workqueue.FastSlow[string](time.Second, time.Hour, 2), workqueue.Options[string]{Observe: history.Queue[string](r, "q")})
		poisoned := true
		stop := process(t, q, workqueue.ProcessOptions[string]{CapturePanics: true}, func(item string) error {
			switch {
			case item == "poison" && poisoned:
				return errors.New("cannot swallow")
			case item == "terminal":
				return workqueue.Terminal(errors.New("no use"))
			case item == "panics":
				panic("oh")
			}
			return nil
		})
		addAll(q, []string{"good", "poison", "terminal"})
		time.Sleep(10 * time.Second)
		q.Add("panics")
		synctest.Wait()

		failures, failing := r.Failures("q", 100)
		require.Len(t, failures, 3)
		assert.Equal(t, 3, failing)
		assert.Equal(t, 2, q.Stats().Failing, "what is dropped is not tried again")
		poison, panics, terminal := failures[0], failures[1], failures[2]
		assert.Equal(t, "poison", poison.Key.Name, "the most attempts first")
		assert.Equal(t, 3, poison.Attempts)
		assert.EqualError(t, poison.Err, "cannot swallow")
		assert.Equal(t, 8*time.Second, time.Since(poison.Time))
		assert.Equal(t, workqueue.Retried, poison.Action)
		assert.Equal(t, time.Hour, poison.NextAttempt.Sub(poison.Time))
		assert.Equal(t, "panics", panics.Key.Name, "then the latest first")
		var captured *workqueue.PanicError
		assert.ErrorAs(t, panics.Err, &captured)
		assert.Equal(t, workqueue.Dropped, terminal.Action)
		assert.Zero(t, terminal.NextAttempt)
		limited, failing := r.Failures("q", 1)
		assert.Len(t, limited, 1)
		assert.Equal(t, 3, failing)
		one, ok := r.Failure("q", "poison")
		assert.True(t, ok)
		assert.Equal(t, poison, one)

		poisoned = false
		q.Add("poison")
		failures, _ = r.Failures("q", 1)
		assert.Zero(t, failures[0].NextAttempt, "it is not delayed any more")
		synctest.Wait()
		failures, failing = r.Failures("q", 100)
		assert.Equal(t, 2, failing, "a success clears it")
		assert.Equal(t, "panics", failures[0].Key.Name)
		_, ok = r.Failure("q", "poison")
		assert.False(t, ok)
		stop()
		_, ok = r.Failure("another", "panics")
		assert.False(t, ok)
		failures, failing = r.Failures("another", 100)
		assert.Zero(t, len(failures)+failing)
	})
}

// A failure whose context the stop has cancelled is not one.
func TestInterruptionIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{Observe: history.Queue[string](r, "q")})
		release := make(chan struct{})
		stop := process(t, q, workqueue.ProcessOptions[string]{}, func(string) error { <-release; return assert.AnError })
		q.Add("a")
		synctest.Wait()
		q.ShutDown()
		close(release)
		stop()
		_, failing := r.Failures("q", 1)
		assert.Zero(t, failing)
	})
}

func TestLastFailuresAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](24*time.Hour, 24*time.Hour, 1), workqueue.Options[string]{Observe: history.Queue[string](r, "q")})
		stop := process(t, q, workqueue.ProcessOptions[string]{}, func(item string) error {
			time.Sleep(time.Millisecond)
			return errors.New(item)
		})
		for i := range 300 {
			q.Add(fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		failures, failing := r.Failures("q", 1000)
		assert.Equal(t, 256, failing)
		assert.Equal(t, "299", failures[0].Key.Name)
		assert.Equal(t, "44", failures[255].Key.Name, "the oldest made room")
		stop()
	})
}

func TestThroughputOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.New(workqueue.Options[int]{Observe: history.Queue[int](r, "q")})
		done := func(n int) {
			for i := range n {
				q.Add(i)
				q.Done(take(t, q))
			}
		}
		last := func(n int) []int { all := r.Throughput("q"); return all[len(all)-n:] }
		require.Len(t, r.Throughput("q"), 30)
		done(3)
		assert.Equal(t, []int{0, 3}, last(2))
		time.Sleep(history.ThroughputPeriod)
		assert.Equal(t, []int{3, 0}, last(2))
		done(1)
		time.Sleep(2 * history.ThroughputPeriod)
		done(2)
		assert.Equal(t, []int{0, 3, 1, 0, 2}, last(5))
		time.Sleep(27 * history.ThroughputPeriod)
		assert.Equal(t, []int{1, 0, 2}, r.Throughput("q")[:3], "the first has gone")
		time.Sleep(1000 * history.ThroughputPeriod)
		assert.Equal(t, make([]int, 30), r.Throughput("q"))

		assert.Nil(t, r.Throughput("another"))
	})
}

// A queue that takes the place of another one begins with nothing.
func TestLaterQueueOfTheSameName(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	for range 2 {
		q := workqueue.New(workqueue.Options[int]{Observe: history.Queue[int](r, "q")})
		q.Add(1)
		item, _ := q.Get(t.Context())
		q.Done(item)
		all := r.Throughput("q")
		assert.Equal(t, 1, all[len(all)-1])
	}
}

// Without a recorder, or for items without keys, there is nothing to observe.
func TestNothingToObserve(t *testing.T) {
	t.Parallel()
	assert.Nil(t, history.Queue[string](nil, "q"))
	assert.Nil(t, history.Queue[*pair](history.New(history.Options{}), "q"))
}

type getter[T any] interface {
	Get(context.Context) (T, bool)
}

// take takes the next item, which must be there at once.
func take[T any](t *testing.T, q getter[T]) T {
	t.Helper()
	item, ok := q.Get(t.Context())
	require.True(t, ok)
	return item
}
