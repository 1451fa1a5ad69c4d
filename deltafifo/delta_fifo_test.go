package deltafifo

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// newDeltaQueue returns a queue whose consumer has the given objects.
func newDeltaQueue(objs ...thing) (deltaQueue, *store) {
	known := newStore(objs...)
	return deltaQueue{New(Options[thing]{KnownObjects: known})}, known
}

// Promise deltafifo/1
func TestChangesToAQueuedObjectJoinItsListAndKeepItsPlace(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	ctx := t.Context()
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Add(ctx, newThing("b", "2")))
	require.NoError(t, q.Update(ctx, newThing("a", "3")))
	require.NoError(t, q.Delete(ctx, newThing("a", "4")))
	require.NoError(t, q.Add(ctx, newThing("a", "5")))
	assert.Equal(t, 5, q.Len())
	assert.Equal(t, "Added a@1, Updated a@3, Deleted a@4, Added a@5", describe(popOnce(t, q)))
	assert.Equal(t, "Added b@2", describe(popOnce(t, q)))
}

func TestChangesBetweenTwoPopsAreTwoLists(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
	assert.Equal(t, "Added a@1", describe(popOnce(t, q)))
	require.NoError(t, q.Update(t.Context(), newThing("a", "2")))
	assert.Equal(t, "Updated a@2", describe(popOnce(t, q)))
}

// Promise deltafifo/2
func TestDeleteOfWhatTheConsumerHasNotHeardOfIsDropped(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue(newThing("known", "1"))
	ctx := t.Context()
	require.NoError(t, q.Delete(ctx, newThing("unknown", "2")))
	require.NoError(t, q.DeleteFinalStateUnknown(ctx, DeletedFinalStateUnknown[thing]{Key: keyNamed("unknown")}))
	assert.Empty(t, q.ListKeys())

	require.NoError(t, q.Add(ctx, newThing("queued", "3")))
	require.NoError(t, q.Delete(ctx, newThing("queued", "4")))
	require.NoError(t, q.Delete(ctx, newThing("known", "5")))
	assert.Equal(t, "Added queued@3, Deleted queued@4, Deleted known@5", describe(drain(t, q, nil)))
}

func TestWithoutKnownObjectsOnlyQueuedOnesExist(t *testing.T) {
	t.Parallel()
	q := deltaQueue{New(Options[thing]{})}
	ctx := t.Context()
	require.NoError(t, q.Add(ctx, newThing("popped", "1")))
	require.NoError(t, q.pop(ctx, func([]delta) error {
		return q.Delete(ctx, newThing("popped", "2"))
	}))
	require.NoError(t, q.Delete(ctx, newThing("popped", "3")))
	require.NoError(t, q.Add(ctx, newThing("queued", "4")))
	require.NoError(t, q.Replace(ctx, []thing{newThing("listed", "5")}, "5"))
	require.NoError(t, q.Resync(ctx))
	assert.Equal(t, "Added queued@4, Deleted(tombstone) queued@4, Replaced listed@5", describe(drain(t, q, nil)))
}

// Promise deltafifo/2
func TestOfTwoDeletesInARowTheOneThatSawTheEndIsKept(t *testing.T) {
	t.Parallel()
	type step func(q deltaQueue) error
	observed := func(version string) step {
		return func(q deltaQueue) error { return q.Delete(context.Background(), newThing("a", version)) }
	}
	tombstone := func(version string) step {
		return func(q deltaQueue) error {
			return q.DeleteFinalStateUnknown(context.Background(), DeletedFinalStateUnknown[thing]{Key: keyNamed("a"), Object: newThing("a", version)})
		}
	}
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"observed twice: the older":             {[]step{observed("1"), observed("2")}, "Deleted a@1"},
		"tombstone after observed: the older":   {[]step{observed("1"), tombstone("2")}, "Deleted a@1"},
		"observed after tombstone: the newer":   {[]step{tombstone("1"), observed("2")}, "Deleted a@2"},
		"two tombstones: the newer":             {[]step{tombstone("1"), tombstone("2")}, "Deleted(tombstone) a@2"},
		"three: merging goes on":                {[]step{tombstone("1"), observed("2"), tombstone("3")}, "Deleted a@2"},
		"something in between: both are kept":   {[]step{observed("1"), func(q deltaQueue) error { return q.Add(context.Background(), newThing("a", "2")) }, observed("3")}, "Deleted a@1, Added a@2, Deleted a@3"},
		"a list without it adds nothing to one": {[]step{observed("1"), func(q deltaQueue) error { return q.Replace(context.Background(), nil, "2") }}, "Deleted a@1"},
	} {
		t.Run(name, func(t *testing.T) {
			q, _ := newDeltaQueue(newThing("a", "0"))
			for _, step := range tc.steps {
				require.NoError(t, step(q))
			}
			assert.Equal(t, tc.want, describe(popOnce(t, q)))
			assert.Zero(t, q.Len())
		})
	}
}

// Promise deltafifo/4
func TestReplaceAddsOneTombstoneForEachMissingObject(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newDeltaQueue(newThing("known", "1"), newThing("known-and-updated", "1"), newThing("known-and-deleted", "1"), newThing("listed", "1"))
	require.NoError(t, q.Add(ctx, newThing("queued", "2")))
	require.NoError(t, q.Update(ctx, newThing("known-and-updated", "3")))
	require.NoError(t, q.Delete(ctx, newThing("known-and-deleted", "4")))
	require.NoError(t, q.Replace(ctx, []thing{newThing("listed", "5")}, "5"))
	require.NoError(t, q.Replace(ctx, []thing{newThing("listed", "5")}, "5"))
	assert.Equal(t, "Added queued@2, Deleted(tombstone) queued@2, "+
		"Updated known-and-updated@3, Deleted(tombstone) known-and-updated@3, "+
		"Deleted known-and-deleted@4, "+
		"Replaced listed@5, Replaced listed@5, "+
		"Deleted(tombstone) known@1", describe(drain(t, q, nil)))
}

// An object may be in process and queued again; its tombstone has the newer state.
//
// Promise deltafifo/4
func TestTheTombstoneOfAnObjectInProcessHasItsNewestState(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, consumer := newDeltaQueue(newThing("a", "1"))
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	require.NoError(t, q.Pop(ctx, func(Deltas[thing]) error {
		require.NoError(t, q.Update(ctx, newThing("a", "3")))
		return q.Replace(ctx, nil, "4")
	}))
	assert.Equal(t, "Updated a@3, Deleted(tombstone) a@3", describe(drain(t, q, consumer)))
}

func TestReplaceOverAQueuedDeleteIsANewLife(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue(newThing("a", "1"))
	require.NoError(t, q.Delete(t.Context(), newThing("a", "2")))
	require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "3")}, "3"))
	assert.Equal(t, "Deleted a@2, Replaced a@3", describe(popOnce(t, q)))
}

func TestReplacedCarriesTheResourceVersionOfTheList(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Replace(t.Context(), []thing{newThing("a", "3")}, "7"))
	assert.Equal(t, []delta{{Type: Replaced, Object: newThing("a", "3"), Key: keyNamed("a"), ResourceVersion: "7"}}, popOnce(t, q))
}

// Promise deltafifo/7
func TestEmptyReplaceOfAnEmptyStoreIsSyncedAtOnce(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Replace(t.Context(), nil, "1"))
	assert.True(t, q.HasSynced(), "there is nothing to process")

	q, _ = newDeltaQueue(newThing("a", "1"))
	require.NoError(t, q.Replace(t.Context(), nil, "1"))
	assert.False(t, q.HasSynced(), "the deletion of a is to be processed")
	popOnce(t, q)
	assert.True(t, q.HasSynced())
}

// Promise deltafifo/7
func TestOneFailingObjectDoesNotKeepTheQueueFromSyncing(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Replace(t.Context(), []thing{newThing("bad", "1"), newThing("good", "1")}, "1"))
	assert.Error(t, q.pop(t.Context(), func([]delta) error { return errors.New("bad") }))
	assert.False(t, q.HasSynced())
	popOnce(t, q)
	assert.True(t, q.HasSynced())
}

func TestResyncHandsOverWhatIsKnownAndIdle(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, known := newDeltaQueue(newThing("busy", "1"), newThing("idle", "1"), newThing("in-process", "1"))
	require.NoError(t, q.Update(ctx, newThing("in-process", "2")))
	require.NoError(t, q.Update(ctx, newThing("busy", "3")))
	require.NoError(t, q.pop(ctx, func(got []delta) error {
		require.NoError(t, q.Resync(ctx))
		return known.apply(got)
	}))
	assert.Equal(t, "Updated busy@3, Sync idle@1", describe(drain(t, q, known)))
	require.NoError(t, q.Resync(ctx))
	require.NoError(t, q.Resync(ctx))
	assert.Equal(t, "Sync busy@3, Sync idle@1, Sync in-process@2", describe(drain(t, q, known)), "a second resync adds nothing")
}

func TestAnObjectInProcessIsNotForgotten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, tc := range map[string]struct {
		before func(q deltaQueue) error
		during func(q deltaQueue) error
		want   string
	}{
		"delete while it is being added": {
			func(q deltaQueue) error { return q.Add(ctx, newThing("a", "1")) },
			func(q deltaQueue) error { return q.Delete(ctx, newThing("a", "2")) },
			"Deleted a@2",
		},
		"list without it while it is being added": {
			func(q deltaQueue) error { return q.Add(ctx, newThing("a", "1")) },
			func(q deltaQueue) error { return q.Replace(ctx, nil, "2") },
			"Deleted(tombstone) a@1",
		},
		"delete while it is being deleted": {
			func(q deltaQueue) error { return q.Delete(ctx, newThing("known", "1")) },
			func(q deltaQueue) error { return q.Delete(ctx, newThing("known", "2")) },
			"",
		},
		"list without it while it is being deleted": {
			func(q deltaQueue) error { return q.Delete(ctx, newThing("known", "1")) },
			func(q deltaQueue) error { return q.Replace(ctx, nil, "2") },
			"",
		},
		"list without it while it is being updated": {
			func(q deltaQueue) error { return q.Update(ctx, newThing("known", "1")) },
			func(q deltaQueue) error { return q.Replace(ctx, nil, "2") },
			"Deleted(tombstone) known@1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			known := newStore(newThing("known", "0"))
			if name == "delete while it is being added" || name == "list without it while it is being added" {
				known = newStore()
			}
			q := deltaQueue{New(Options[thing]{KnownObjects: known})}
			require.NoError(t, tc.before(q))
			require.NoError(t, q.pop(ctx, func(got []delta) error {
				require.NoError(t, tc.during(q))
				return known.apply(got)
			}))
			assert.Equal(t, tc.want, describe(drain(t, q, known)))
		})
	}
}

func TestAddIfNotPresentPutsBackUnlessThereIsNews(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newDeltaQueue()
	failing := func(deltas Deltas[thing]) error {
		require.NoError(t, q.AddIfNotPresent(deltas))
		return errors.New("later")
	}
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	require.NoError(t, q.Add(ctx, newThing("b", "3")))
	assert.Error(t, q.Pop(ctx, failing))
	assert.Equal(t, []types.NamespacedName{keyNamed("b"), keyNamed("a")}, q.ListKeys(), "it goes to the back")
	require.NoError(t, q.Update(ctx, newThing("a", "4")))
	popOnce(t, q)
	assert.Equal(t, "Added a@1, Updated a@2, Updated a@4", describe(popOnce(t, q)), "its history goes on")

	require.NoError(t, q.Add(ctx, newThing("a", "5")))
	assert.Error(t, q.Pop(ctx, func(deltas Deltas[thing]) error {
		require.NoError(t, q.Update(ctx, newThing("a", "6")))
		return failing(deltas)
	}))
	assert.Equal(t, "Updated a@6", describe(drain(t, q, nil)), "newer news wins")
}

func TestAddIfNotPresentDoesNotKeepTheCallersSlice(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	callers := Deltas[thing]{
		{Type: Added, Key: keyNamed("a"), Object: newThing("a", "1")},
		{Type: Updated, Key: keyNamed("a"), Object: newThing("a", "2")},
	}
	require.NoError(t, q.AddIfNotPresent(callers[:1]))
	require.NoError(t, q.Update(t.Context(), newThing("a", "3")))
	assert.Equal(t, "Added a@1, Updated a@2", describe(callers), "the queue writes nothing into it")
	assert.Equal(t, "Added a@1, Updated a@3", describe(popOnce(t, q)))

	require.NoError(t, q.AddIfNotPresent(callers))
	callers[0] = Delta[thing]{}
	assert.Equal(t, "Added a@1, Updated a@2", describe(popOnce(t, q)), "nor does it read it later")
}

func TestAddIfNotPresentDoesNotWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := deltaQueue{New(Options[thing]{Limit: 1})}
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Pop(t.Context(), func(deltas Deltas[thing]) error {
			require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
			return q.AddIfNotPresent(deltas)
		}))
		assert.Equal(t, 2, q.Len())
	})
}

func TestAddIfNotPresentRefusesGarbageAndWhatIsTooLate(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	a, b := newThing("a", "1"), newThing("b", "1")
	for name, deltas := range map[string]Deltas[thing]{
		"none":        {},
		"two objects": {{Type: Added, Key: keyNamed("a"), Object: a}, {Type: Added, Key: keyNamed("b"), Object: b}},
		"no key":      {{Type: Added, Object: a}},
		"no object":   {{Type: Added, Key: keyNamed("a")}},
	} {
		assert.ErrorIs(t, q.AddIfNotPresent(deltas), ErrInvalidObject, name)
	}
	assert.NoError(t, q.AddIfNotPresent(Deltas[thing]{{Type: Deleted, Key: keyNamed("a"), FinalStateUnknown: true}}), "a tombstone needs no object")
	q.Close()
	assert.ErrorIs(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Key: keyNamed("b"), Object: b}}), ErrClosed)
}

func TestLookupsReturnCopiesOfWhatIsQueued(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Add(ctx, newThing("ns/b", "1")))
	require.NoError(t, q.Add(ctx, newThing("ns/a", "2")))
	require.NoError(t, q.Update(ctx, newThing("ns/b", "3")))

	deltas, ok := q.GetByKey(keyNamed("ns/b"))
	require.True(t, ok)
	assert.Equal(t, "Added ns/b@1, Updated ns/b@3", describe(deltas))
	assert.Equal(t, "1", deltas.Oldest().Object.ResourceVersion)
	assert.Equal(t, "3", deltas.Newest().Object.ResourceVersion)
	deltas[0] = Delta[thing]{}
	list := q.List()
	require.Len(t, list, 2)
	assert.Equal(t, "Added ns/b@1, Updated ns/b@3", describe(list[0]))
	assert.Equal(t, "Added ns/a@2", describe(list[1]))
	assert.Equal(t, []types.NamespacedName{keyNamed("ns/b"), keyNamed("ns/a")}, q.ListKeys())

	_, ok = q.GetByKey(keyNamed("ns/none"))
	assert.False(t, ok)
	drain(t, q, nil)
	_, ok = q.GetByKey(keyNamed("ns/b"))
	assert.False(t, ok)
	assert.Empty(t, q.List())
}

func TestDeltasWithoutElementsHaveNoOldestAndNewest(t *testing.T) {
	t.Parallel()
	assert.Zero(t, Deltas[thing](nil).Oldest())
	assert.Zero(t, Deltas[thing](nil).Newest())
}

func TestEveryShapeOfDeltaKnowsItsKey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, known := newDeltaQueue(newThing("ns/known", "0"), newThing("ns/vanished", "0"))
	require.NoError(t, q.Add(ctx, newThing("ns/added", "1")))
	require.NoError(t, q.DeleteFinalStateUnknown(ctx, DeletedFinalStateUnknown[thing]{Key: keyNamed("ns/vanished")}))
	require.NoError(t, q.Resync(ctx))
	require.NoError(t, q.Replace(ctx, []thing{newThing("ns/listed", "2")}, "2"))
	var got []string
	for _, d := range drain(t, q, known) {
		got = append(got, d.Type.String()+" "+d.Key.String())
		tombstone, ok := deltasOf([]delta{d})[0].Tombstone()
		assert.Equal(t, d.FinalStateUnknown, ok)
		if ok {
			assert.Equal(t, d.Key, tombstone.Key)
		}
	}
	assert.Equal(t, []string{
		"Added ns/added", "Deleted ns/added", "Deleted ns/vanished",
		"Sync ns/known", "Deleted ns/known", "Replaced ns/listed",
	}, got)
}

// Promise deltafifo/2
func TestBookmarksLeaveNoTraceInADeltaFIFO(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Bookmark(t.Context(), "1"))
	assert.Zero(t, q.Len())
	assert.False(t, q.HasSynced())
}

func TestDeltasOfADeltaFIFOMayBeKept(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	var kept []Deltas[thing]
	for i := range 100 {
		require.NoError(t, q.Add(t.Context(), newThing("a", strconv.Itoa(i))))
		require.NoError(t, q.Pop(t.Context(), func(deltas Deltas[thing]) error {
			kept = append(kept, deltas)
			return nil
		}))
	}
	for i, deltas := range kept {
		assert.Equal(t, "Added a@"+strconv.Itoa(i), describe(deltas))
	}
}
