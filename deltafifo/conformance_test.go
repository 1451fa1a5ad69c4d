package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maker builds one implementation of queue. The store is what the consumer of
// the queue will apply its deltas to.
type maker func(limit int, consumer *store) queue

// unbounded is a limit with which producers never wait.
const unbounded = -1

var implementations = map[string]maker{
	"in order": func(limit int, consumer *store) queue {
		return inOrder{New(Options[thing]{Limit: limit, KnownObjects: consumer})}
	},
	"by object": func(limit int, consumer *store) queue {
		return byObject{New(Options[thing]{Limit: limit, KnownObjects: consumer})}
	},
	"model in order": func(limit int, consumer *store) queue {
		return newModel(false, consumer, limit)
	},
	"model by object": func(limit int, consumer *store) queue {
		return newModel(true, consumer, limit)
	},
}

// property is one that a queue must have. Each runs in a bubble of its own, in
// which time is fake and a deadlock fails.
type property struct {
	name  string
	check func(t *testing.T, newQueue maker)
}

// conformance is what holds however a queue is read.
var conformance = []property{
	{"PopReturnsWhatWasWrittenInOrder", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		a1, a2, a3 := newThing("ns/a", "1"), newThing("ns/a", "2"), newThing("ns/a", "3")
		require.NoError(t, q.Add(t.Context(), a1))
		require.NoError(t, q.Update(t.Context(), a2))
		require.NoError(t, q.Delete(t.Context(), a3))
		assert.Equal(t, []delta{
			{Type: Added, Object: a1, Key: keyNamed("ns/a")},
			{Type: Updated, Object: a2, Key: keyNamed("ns/a")},
			{Type: Deleted, Object: a3, Key: keyNamed("ns/a")},
		}, popOnce(t, q))
	}},
	{"OrderAcrossObjectsIsThatOfArrival", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		for _, name := range []string{"c", "a", "b"} {
			require.NoError(t, q.Add(t.Context(), newThing(name, "1")))
		}
		assert.Equal(t, "Added c@1, Added a@1, Added b@1", describe(drain(t, q, nil)))
	}},
	{"ReAddedObjectGoesToTheBack", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		popOnce(t, q)
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		require.NoError(t, q.Update(t.Context(), newThing("a", "3")))
		assert.Equal(t, "Added b@2, Updated a@3", describe(drain(t, q, nil)))
	}},
	{"ConsumerEndsWithTheStateOfTheProducer", func(t *testing.T, newQueue maker) {
		rnd := newRand(t)
		consumer, producer := newStore(), newStore()
		q := newQueue(unbounded, consumer)
		for version := range 2000 {
			obj := newThing([]string{"a", "b", "x/a", "x/b", "y/a"}[rnd.IntN(5)], strconv.Itoa(version))
			switch n := rnd.IntN(40); {
			case n < 10:
				require.NoError(t, q.Add(t.Context(), obj))
				producer.set(obj)
			case n < 20:
				require.NoError(t, q.Update(t.Context(), obj))
				producer.set(obj)
			case n < 30:
				require.NoError(t, q.Delete(t.Context(), obj))
				_ = producer.apply([]delta{{Type: Deleted, Key: keyNamed(obj.Namespace + "/" + obj.Name)}})
			case n == 30:
				_ = producer.apply([]delta{{Type: Replaced, Objects: []thing{obj}}})
				require.NoError(t, q.Replace(t.Context(), []thing{obj}, "list"))
			case n < 36 && q.Len() > 0:
				require.NoError(t, q.pop(t.Context(), consumer.apply))
			}
		}
		drain(t, q, consumer)
		assert.Equal(t, producer.versions(), consumer.versions())
	}},
	{"PopWaitsForAWrite", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		go func() {
			advance(time.Minute)
			_ = q.Add(context.Background(), newThing("a", "1"))
		}()
		start := time.Now()
		assert.Equal(t, "Added a@1", describe(popOnce(t, q)))
		assert.Equal(t, time.Minute, time.Since(start))
	}},
	{"PopEndsWithItsContext", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.Equal(t, context.DeadlineExceeded, q.pop(ctx, mustNotRun(t)))
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		assert.Equal(t, context.DeadlineExceeded, q.pop(ctx, mustNotRun(t)), "an ended context takes nothing")
		assert.Equal(t, 1, q.Len())
		assert.Equal(t, "Added a@1", describe(popOnce(t, q)), "the next pop is not disturbed")
	}},
	{"PopEndsWithClose", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		go func() {
			advance(time.Minute)
			q.Close()
		}()
		assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrClosed)
	}},
	{"ClosedQueueHandsOverWhatRemains", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		q.Close()
		q.Close()
		assert.ErrorIs(t, q.Add(t.Context(), newThing("c", "3")), ErrClosed)
		assert.ErrorIs(t, q.Update(t.Context(), newThing("c", "3")), ErrClosed)
		assert.ErrorIs(t, q.Delete(t.Context(), newThing("a", "3")), ErrClosed)
		assert.ErrorIs(t, q.Replace(t.Context(), nil, "3"), ErrClosed)
		assert.ErrorIs(t, q.Bookmark(t.Context(), "3"), ErrClosed)
		assert.Equal(t, 2, q.Len())
		assert.Equal(t, "Added a@1, Added b@2", describe(drain(t, q, nil)))
		assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrClosed)
		assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrClosed)
	}},
	{"CloseFromWithinProcess", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.pop(t.Context(), func([]delta) error { q.Close(); return nil }))
		assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrClosed)
	}},
	{"FullQueueMakesProducersWaitForThePop", func(t *testing.T, newQueue maker) {
		q := newQueue(2, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Update(t.Context(), newThing("a", "2")))
		go func() {
			advance(time.Minute)
			_ = q.pop(context.Background(), func([]delta) error { return nil })
		}()
		start := time.Now()
		require.NoError(t, q.Update(t.Context(), newThing("a", "3")))
		assert.Equal(t, time.Minute, time.Since(start))
		synctest.Wait() // for the end of the first pop: room is there before
		assert.Equal(t, "Updated a@3", describe(popOnce(t, q)))
	}},
	{"RoomIsMadeByTakingNotByProcessing", func(t *testing.T, newQueue maker) {
		q := newQueue(1, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		start := time.Now()
		go func() {
			_ = q.pop(context.Background(), func([]delta) error { advance(time.Hour); return nil })
		}()
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		assert.Zero(t, time.Since(start), "a producer does not wait for the consumer's work")
		advance(2 * time.Hour)
	}},
	{"BlockedProducerEndsWithItsContext", func(t *testing.T, newQueue maker) {
		q := newQueue(1, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.Equal(t, context.DeadlineExceeded, q.Add(ctx, newThing("b", "2")))
		assert.Equal(t, "Added a@1", describe(drain(t, q, nil)), "a write that failed leaves no trace")
	}},
	{"BlockedProducersEndWithClose", func(t *testing.T, newQueue maker) {
		q := newQueue(1, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		errs := blockProducers(5, func(i int) error { return q.Add(context.Background(), newThing(strconv.Itoa(i), "1")) })
		q.Close()
		for range 5 {
			assert.ErrorIs(t, <-errs, ErrClosed)
		}
		assert.Equal(t, "Added a@1", describe(drain(t, q, nil)))
	}},
	{"EveryBlockedProducerGetsThrough", func(t *testing.T, newQueue maker) {
		q := newQueue(3, newStore())
		for i := range 3 {
			require.NoError(t, q.Add(t.Context(), newThing("first"+strconv.Itoa(i), "1")))
		}
		errs := blockProducers(20, func(i int) error { return q.Add(context.Background(), newThing(strconv.Itoa(i), "1")) })
		got := 0
		for got < 23 {
			got += len(popOnce(t, q))
			synctest.Wait()
			assert.Equal(t, min(3, 23-got), q.Len(), "all room is used, and not more")
		}
		for range 20 {
			assert.NoError(t, <-errs)
		}
	}},
	{"ProducerThatGivesUpDoesNotTakeTheTurnOfAnother", func(t *testing.T, newQueue maker) {
		q := newQueue(1, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		impatient, giveUp := context.WithCancel(t.Context())
		lost := blockProducers(3, func(i int) error { return q.Add(impatient, newThing("x"+strconv.Itoa(i), "1")) })
		kept := blockProducers(1, func(int) error { return q.Add(context.Background(), newThing("b", "2")) })
		giveUp()
		for range 3 {
			assert.ErrorIs(t, <-lost, context.Canceled)
		}
		popOnce(t, q)
		assert.NoError(t, <-kept)
		assert.Equal(t, "Added b@2", describe(popOnce(t, q)))
	}},
	{"LongReplaceFitsIntoAnyRoom", func(t *testing.T, newQueue maker) {
		q := newQueue(1, newStore())
		var objs []thing
		for i := range 100 {
			objs = append(objs, newThing(fmt.Sprintf("%03d", i), "1"))
		}
		require.NoError(t, q.Replace(t.Context(), objs, "1"))
		errs := blockProducers(1, func(int) error { return q.Add(context.Background(), newThing("z", "2")) })
		consumer := newStore()
		drain(t, q, consumer)
		require.NoError(t, <-errs)
		drain(t, q, consumer)
		assert.Len(t, consumer.versions(), 101)
	}},
	{"ReplaceStatesTheWholeCollection", func(t *testing.T, newQueue maker) {
		consumer := newStore()
		q := newQueue(unbounded, consumer)
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "1"), newThing("b", "1")}, "1"))
		drain(t, q, consumer)
		require.NoError(t, q.Add(t.Context(), newThing("queued", "2")))
		require.NoError(t, q.Delete(t.Context(), newThing("b", "3")))
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("b", "4"), newThing("c", "4")}, "4"))
		drain(t, q, consumer)
		assert.Equal(t, map[string]string{"/b": "4", "/c": "4"}, consumer.versions())
		require.NoError(t, q.Replace(t.Context(), nil, "5"))
		drain(t, q, consumer)
		assert.Empty(t, consumer.versions())
	}},
	{"ReplaceIsAllOrNothing", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		for _, bad := range []thing{nil, newThing("ns/", "1")} {
			err := q.Replace(t.Context(), []thing{newThing("a", "1"), bad, newThing("b", "1")}, "1")
			assert.ErrorIs(t, err, ErrInvalidObject)
		}
		assert.Zero(t, q.Len())
		assert.False(t, q.HasSynced())
	}},
	{"GarbageIsRefusedAtTheDoor", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		for _, bad := range []thing{nil, newThing("", "1"), newThing("ns/", "1")} {
			assert.ErrorIs(t, q.Add(t.Context(), bad), ErrInvalidObject)
			assert.ErrorIs(t, q.Update(t.Context(), bad), ErrInvalidObject)
			assert.ErrorIs(t, q.Delete(t.Context(), bad), ErrInvalidObject)
		}
		assert.Zero(t, q.Len())
		assert.False(t, q.HasSynced())
	}},
	{"SlashesInNamesDoNotMixUpObjects", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		inNamespace, inName := newThing("", "1"), newThing("", "2")
		inNamespace.Namespace, inNamespace.Name = "a/b", "c"
		inName.Namespace, inName.Name = "a", "b/c"
		require.NoError(t, q.Add(t.Context(), inNamespace))
		require.NoError(t, q.Add(t.Context(), inName))
		deltas := drain(t, q, nil)
		require.Len(t, deltas, 2)
		assert.NotEqual(t, deltas[0].Key, deltas[1].Key)
	}},
	{"EndedContextWritesNothing", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		obj := newThing("a", "1")
		assert.Equal(t, context.Canceled, q.Add(ctx, obj))
		assert.Equal(t, context.Canceled, q.Update(ctx, obj))
		assert.Equal(t, context.Canceled, q.Delete(ctx, obj))
		assert.Equal(t, context.Canceled, q.Replace(ctx, []thing{obj}, "1"))
		assert.Equal(t, context.Canceled, q.Bookmark(ctx, "1"))
		assert.Zero(t, q.Len())
	}},
	{"SecondPopIsRefused", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		waiting := blockProducers(1, func(int) error { return q.pop(context.Background(), func([]delta) error { return nil }) })
		assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrConcurrentPop, "while one waits")
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, <-waiting)

		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		require.NoError(t, q.pop(t.Context(), func([]delta) error {
			assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), ErrConcurrentPop, "from within process")
			return nil
		}))
		require.NoError(t, q.Add(t.Context(), newThing("c", "3")))
		assert.Equal(t, "Added c@3", describe(popOnce(t, q)))
	}},
	{"WritesFromWithinProcessComeLater", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.pop(t.Context(), func(got []delta) error {
			assert.Zero(t, q.Len(), "what is in process is not pending")
			assert.NoError(t, q.Update(t.Context(), newThing("a", "2")))
			assert.Equal(t, "Added a@1", describe(got))
			assert.Equal(t, 1, q.Len())
			return nil
		}))
		assert.Equal(t, "Updated a@2", describe(popOnce(t, q)))
	}},
	{"ErrorOfProcessIsReturnedAndTheRestGoesOn", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		boom := errors.New("boom")
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		assert.Equal(t, boom, q.pop(t.Context(), func([]delta) error { return boom }))
		assert.Zero(t, q.Len(), "it is not delivered again")
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		assert.Equal(t, "Added b@2", describe(popOnce(t, q)))
	}},
	{"PanicOfProcessGoesThroughAndTheQueueStaysUsable", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		var kept []delta
		assert.PanicsWithValue(t, "boom", func() {
			_ = q.pop(t.Context(), func(got []delta) error { kept = got; panic("boom") })
		})
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		assert.Equal(t, "Added b@2", describe(popOnce(t, q)))
		assert.Equal(t, "Added a@1", describe(kept), "the recovering caller can still report it")
	}},
	{"GoexitInProcessLeavesTheQueueUsable", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = q.pop(context.Background(), func([]delta) error { runtime.Goexit(); return nil })
		})
		wg.Wait()
		require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
		assert.Equal(t, "Added b@2", describe(popOnce(t, q)))
	}},
	{"NilProcessTakesNothing", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		assert.Error(t, q.pop(t.Context(), nil))
		assert.Equal(t, 1, q.Len())
	}},
	{"SyncedOnlyWhenTheListHasBeenProcessed", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		assert.False(t, q.HasSynced())
		require.NoError(t, q.Bookmark(t.Context(), "1"))
		assert.False(t, q.HasSynced())
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "2"), newThing("b", "2")}, "2"))
		assert.False(t, q.HasSynced())
		for q.Len() > 0 {
			require.NoError(t, q.pop(t.Context(), func([]delta) error {
				assert.False(t, q.HasSynced(), "not before process has returned")
				return nil
			}))
		}
		assert.True(t, q.HasSynced())
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("c", "3")}, "3"))
		assert.True(t, q.HasSynced(), "it stays true")
	}},
	{"WithoutAListTheFirstWriteIsTheInitialState", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		assert.False(t, q.HasSynced())
		popOnce(t, q)
		assert.True(t, q.HasSynced())
	}},
	{"AListThatComesInTimeIsTheInitialState", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.pop(t.Context(), func([]delta) error {
			return q.Replace(t.Context(), []thing{newThing("a", "2"), newThing("b", "2")}, "2")
		}))
		assert.False(t, q.HasSynced())
		drain(t, q, nil)
		assert.True(t, q.HasSynced())
	}},
	{"DeletesCountTowardsTheInitialState", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore(newThing("old", "0")))
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "1")}, "1"))
		for q.Len() > 0 {
			assert.False(t, q.HasSynced())
			popOnce(t, q)
		}
		assert.True(t, q.HasSynced())
	}},
	{"WhatIsWrittenAfterTheListDoesNotDelaySynced", func(t *testing.T, newQueue maker) {
		q := newQueue(unbounded, newStore())
		require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "1")}, "1"))
		require.NoError(t, q.pop(t.Context(), func([]delta) error {
			return q.Add(t.Context(), newThing("b", "2"))
		}))
		assert.True(t, q.HasSynced())
		assert.Equal(t, 1, q.Len())
	}},
}

// Promise deltafifo/10
func TestConformance(t *testing.T) {
	for name, newQueue := range implementations {
		t.Run(name, func(t *testing.T) {
			for _, property := range conformance {
				t.Run(property.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { property.check(t, newQueue) })
				})
			}
		})
	}
}

// popOnce pops once, without waiting, and returns a copy of what it got.
func popOnce(t *testing.T, q queue) []delta {
	t.Helper()
	var got []delta
	require.NoError(t, q.pop(t.Context(), func(deltas []delta) error {
		got = slices.Clone(deltas)
		return nil
	}))
	return got
}

// drain pops until nothing is left, applies it to consumer if there is one, and
// returns it.
func drain(t *testing.T, q queue, consumer *store) []delta {
	t.Helper()
	var all []delta
	for q.Len() > 0 {
		require.NoError(t, q.pop(t.Context(), func(deltas []delta) error {
			all = append(all, deltas...)
			if consumer != nil {
				return consumer.apply(deltas)
			}
			return nil
		}))
	}
	return all
}

func mustNotRun(t *testing.T) func([]delta) error {
	return func(got []delta) error {
		t.Errorf("process was called with %s", describe(got))
		return nil
	}
}

// blockProducers starts n calls, waits until all of them wait for something,
// and returns the channel of their outcomes.
func blockProducers(n int, call func(i int) error) <-chan error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- call(i) }()
	}
	synctest.Wait()
	return errs
}

// advance lets time pass in a bubble, where that takes none.
func advance(d time.Duration) { <-time.After(d) }
