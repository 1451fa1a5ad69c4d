package workqueue_test

import (
	"context"
	"errors"
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
		q := workqueue.NewDelaying(workqueue.Options[string]{Name: "q", History: r, MaxWait: []time.Duration{0, time.Minute}})
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
		q := workqueue.NewRateLimiting(workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Second, Max: time.Minute}), workqueue.Options[string]{History: r})
		stop, cancel := context.WithCancel(t.Context())
		attempts := 0
		q.AddAll([]string{"retried", "requeued", "dropped", "parked"})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := workqueue.ProcessWith(stop, q, workqueue.ProcessOptions[string]{Logger: slog.New(slog.DiscardHandler)}, func(_ context.Context, item string) (workqueue.Result, error) {
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
		assert.Equal(t, "workqueue_test.never", r.Of("parked").Entries[3].Object.Name)
		assert.Equal(t, []history.What{history.Added, history.HandedOut, history.Failed, history.Interrupted}, what(r, "interrupted"))
	})
}

// pair is an item as controllers have them.
type pair struct{ Namespace, Name string }

// never is a condition that is not met.
func never(func()) func() { return nil }

func TestHistorySaysHowAParkEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewDelaying(workqueue.Options[string]{History: r})
		var met func()
		q.Add("a")
		q.Park("a", func(m func()) func() { met = m; return nil }, time.Minute)
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
	q := workqueue.New(workqueue.Options[pair]{Name: "q", History: r, MaxWait: []time.Duration{0, time.Minute}})
	why := history.Cause{
		Handler: &history.Part{Name: "enqueue", Informer: "pods", Kind: "Pod"}, Object: history.Key{Namespace: "default", Name: "web-1"},
		Change: history.Change{Type: 2, Origin: 1, Old: 7, New: 8},
	}
	q.AddBecause(pair{"default", "web"}, why)
	q.PriorityClass(1).AddBecause(pair{"default", "db"}, why)
	web, db := r.Of("default/web").Entries[0], r.Of("default/db").Entries[0]
	assert.Equal(t, history.Record{
		What: history.Added, Key: history.Key{Namespace: "default", Name: "web"}, Part: web.Part,
		Cause: why.Handler, Object: why.Object, Change: 2, Origin: 1, Old: 7, New: 8,
	}, web.Record)
	assert.EqualValues(t, 1, db.Class)

	none := workqueue.New(workqueue.Options[*pair]{History: r}) // items without keys
	none.AddBecause(&pair{"default", "odd"}, why)
	assert.Equal(t, 1, none.Len())
	plain := workqueue.New(workqueue.Options[pair]{})
	plain.AddBecause(pair{"default", "web"}, why)
	assert.Equal(t, 1, plain.Len())
}

func TestOneItemIsInspected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Minute, Max: time.Hour}), workqueue.Options[string]{Name: "q", MaxWait: []time.Duration{0, time.Minute}})
		in := q.InspectItem("none")
		assert.False(t, in.Found())
		assert.Equal(t, workqueue.Item[string]{Item: "none"}, in.Item)

		q.AddAll([]string{"a", "b"})
		in = q.InspectItem("b")
		assert.True(t, in.Found() && in.Queued && !in.Running)
		assert.Equal(t, "q", in.Queue)
		assert.Equal(t, 2, in.ClassQueued)
		assert.Equal(t, time.Now(), in.Item.QueuedSince)
		_, _ = q.Get(t.Context())
		in = q.InspectItem("a")
		assert.True(t, in.Found() && in.Running && !in.Queued)
		q.Park("b", never, time.Minute)
		assert.Equal(t, time.Now().Add(time.Minute), q.InspectItem("b").Item.ParkedUntil)
		q.ShutDown()
		assert.True(t, q.InspectItem("b").ShuttingDown)
	})
}

func TestOneItemIsInspectedWithItsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Minute, Max: time.Hour}), workqueue.Options[string]{})
		q.Add("a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, _ = workqueue.ProcessWith(ctx, q, workqueue.ProcessOptions[string]{Logger: slog.New(slog.DiscardHandler)}, func(context.Context, string) (workqueue.Result, error) {
				return workqueue.Result{}, errors.New("no quota")
			})
		}()
		synctest.Wait()
		in := q.InspectItem("a")
		require.NotNil(t, in.Failure)
		assert.EqualError(t, in.Failure.Err, "no quota")
		assert.Equal(t, time.Now().Add(time.Minute), in.Failure.NextAttempt)
		assert.Equal(t, 1, in.Item.Retries)
		assert.Nil(t, q.InspectItem("b").Failure)
	})
}

// A key that is not handed out because its group is paused has a history that says so.
func TestHistoryHasThePausesOfItsGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{})
		q := workqueue.NewDelaying(workqueue.Options[string]{History: r, Group: func(item string) string { return item[:1] }})
		q.AddAll([]string{"a1", "a2", "b1"})
		q.AddAfter("a3", time.Second)
		q.Park("a4", never, 2*time.Second)
		assert.Equal(t, "a1", mustGet(t, q))
		q.Add("a1")
		time.Sleep(time.Millisecond)
		require.NoError(t, q.PauseGroup("a"))
		q.Add("a5")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		q.Done("a1")
		time.Sleep(time.Second)
		require.NoError(t, q.ResumeGroup("a"))

		const s, ms = time.Second, time.Millisecond
		assert.Equal(t, []entry{
			{history.Added, 0, 0, 0, 0}, {history.Paused, ms, 0, 0, 0}, {history.Resumed, 4*s + ms, 0, 0, 0},
		}, entriesOf(r, "a2"), "with the times of the pause")
		for item, want := range map[string][]history.What{
			"a1": {history.Added, history.HandedOut, history.AddedAgain, history.Done, history.Paused, history.Resumed},
			"a3": {history.Delayed, history.Due, history.Paused, history.Resumed},
			"a4": {history.Parked, history.ParkTimedOut, history.Paused, history.Resumed},
			"a5": {history.AddedPaused, history.Resumed},
			"b1": {history.Added},
		} {
			assert.Equal(t, want, what(r, item), item)
		}

		time.Sleep(time.Second)
		q.AddAfter("a6", time.Hour)
		dropped, err := q.DropGroup("a")
		require.NoError(t, err)
		assert.Equal(t, 6, dropped)
		entries := entriesOf(r, "a2")
		assert.Equal(t, []entry{{history.Paused, 5*s + ms, 0, 0, 0}, {history.Withdrawn, 5*s + ms, 0, 0, 0}}, entries[len(entries)-2:])
		assert.Equal(t, []history.What{history.Delayed, history.Withdrawn}, what(r, "a6"))
	})
}
