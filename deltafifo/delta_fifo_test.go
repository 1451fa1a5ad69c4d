package deltafifo

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newDeltaQueue returns a queue whose consumer has the given objects.
func newDeltaQueue(objs ...thing) (byObject, *store) {
	known := newStore(objs...)
	return byObject{New(Options[thing]{KnownObjects: known})}, known
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
	assert.Equal(t, "Added a@1, Updated a@3, Deleted a@4, Added a@5, Added b@2", describe(popOnce(t, q)))
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
	assert.Empty(t, popOnce(t, q))

	require.NoError(t, q.Add(ctx, newThing("queued", "3")))
	require.NoError(t, q.Delete(ctx, newThing("queued", "4")))
	require.NoError(t, q.Delete(ctx, newThing("known", "5")))
	assert.Equal(t, "Added queued@3, Deleted queued@4, Deleted known@5", describe(drain(t, q, nil)))
}

func TestWithoutKnownObjectsOnlyQueuedOnesExist(t *testing.T) {
	t.Parallel()
	q := byObject{New(Options[thing]{})}
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
	type step func(q byObject) error
	observed := func(version string) step {
		return func(q byObject) error { return q.Delete(context.Background(), newThing("a", version)) }
	}
	tombstone := func(version string) step {
		return func(q byObject) error {
			return q.AddIfNotPresent(Deltas[thing]{{Type: Deleted, FinalStateUnknown: true, Object: newThing("a", version)}})
		}
	}
	listWithoutIt := func(q byObject) error { return q.Replace(context.Background(), nil, "2") }
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"observed twice: the older":             {[]step{observed("1"), observed("2")}, "Deleted a@1"},
		"observed after tombstone: the newer":   {[]step{tombstone("1"), observed("2")}, "Deleted a@2"},
		"observed after one of a list":          {[]step{listWithoutIt, observed("2")}, "Deleted a@2"},
		"three: merging goes on":                {[]step{tombstone("1"), observed("2"), listWithoutIt, observed("3")}, "Deleted a@2"},
		"something in between: both are kept":   {[]step{observed("1"), func(q byObject) error { return q.Add(context.Background(), newThing("a", "2")) }, observed("3")}, "Deleted a@1, Added a@2, Deleted a@3"},
		"a list without it adds nothing to one": {[]step{observed("1"), listWithoutIt}, "Deleted a@1"},
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
	require.NoError(t, q.pop(ctx, func(deltas []delta) error {
		require.NoError(t, q.Update(ctx, newThing("a", "3")))
		require.NoError(t, q.Replace(ctx, nil, "4"))
		return consumer.apply(deltas)
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
func TestAnEmptyReplaceIsAnInitialStateToo(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue(newThing("a", "1"))
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
	assert.True(t, q.HasSynced())
}

func TestResyncHandsOverWhatIsKnownAndHasNotChanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, known := newDeltaQueue(newThing("busy", "1"), newThing("idle", "1"), newThing("in-process", "1"))
	require.NoError(t, q.Update(ctx, newThing("in-process", "2")))
	require.NoError(t, q.pop(ctx, func(got []delta) error {
		require.NoError(t, q.Update(ctx, newThing("busy", "3")))
		require.NoError(t, q.Resync(ctx))
		require.NoError(t, q.Resync(ctx), "a second resync adds nothing")
		return known.apply(got)
	}))
	assert.Equal(t, "Updated busy@3, Sync idle@1, Sync in-process@2", describe(drain(t, q, known)))
}

func TestAnObjectInProcessIsNotForgotten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, tc := range map[string]struct {
		before func(q byObject) error
		during func(q byObject) error
		want   string
	}{
		"delete while it is being added": {
			func(q byObject) error { return q.Add(ctx, newThing("a", "1")) },
			func(q byObject) error { return q.Delete(ctx, newThing("a", "2")) },
			"Deleted a@2",
		},
		"list without it while it is being added": {
			func(q byObject) error { return q.Add(ctx, newThing("a", "1")) },
			func(q byObject) error { return q.Replace(ctx, nil, "2") },
			"Deleted(tombstone) a@1",
		},
		"delete while it is being deleted": {
			func(q byObject) error { return q.Delete(ctx, newThing("known", "1")) },
			func(q byObject) error { return q.Delete(ctx, newThing("known", "2")) },
			"",
		},
		"list without it while it is being deleted": {
			func(q byObject) error { return q.Delete(ctx, newThing("known", "1")) },
			func(q byObject) error { return q.Replace(ctx, nil, "2") },
			"",
		},
		"list without it while it is being updated": {
			func(q byObject) error { return q.Update(ctx, newThing("known", "1")) },
			func(q byObject) error { return q.Replace(ctx, nil, "2") },
			"Deleted(tombstone) known@1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			known := newStore(newThing("known", "0"))
			if name == "delete while it is being added" || name == "list without it while it is being added" {
				known = newStore()
			}
			q := byObject{New(Options[thing]{KnownObjects: known})}
			require.NoError(t, tc.before(q))
			require.NoError(t, q.pop(ctx, func(got []delta) error {
				require.NoError(t, tc.during(q))
				return known.apply(got)
			}))
			assert.Equal(t, tc.want, describe(drain(t, q, known)))
		})
	}
}

// putBack puts all that is in a batch back, each object for itself.
func putBack(t *testing.T, q byObject) func(Batch[thing]) error {
	return func(batch Batch[thing]) error {
		for _, deltas := range batch.ByObject() {
			require.NoError(t, q.AddIfNotPresent(deltas))
		}
		return errors.New("later")
	}
}

func TestAddIfNotPresentPutsBackUnlessThereIsNews(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newDeltaQueue()
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	assert.Error(t, q.Pop(ctx, func(batch Batch[thing]) error {
		require.NoError(t, q.Add(ctx, newThing("b", "3")))
		return putBack(t, q)(batch)
	}))
	require.NoError(t, q.Update(ctx, newThing("a", "4")))
	assert.Equal(t, "Added b@3, Added a@1, Updated a@2, Updated a@4", describe(popOnce(t, q)), "it goes to the back, and its history goes on")

	for news, write := range map[string]func() error{
		"Updated a@6":            func() error { return q.Update(ctx, newThing("a", "6")) },
		"Added b@6, Updated a@6": func() error { return errors.Join(q.Add(ctx, newThing("b", "6")), q.Update(ctx, newThing("a", "6"))) },
		"Replaced a@7":           func() error { return q.Replace(ctx, []thing{newThing("a", "7")}, "7") },
		"Replaced b@7":           func() error { return q.Replace(ctx, []thing{newThing("b", "7")}, "7") },
		"Added a@5":              func() error { return q.Bookmark(ctx, "7") },
		"Added b@6, Added a@5":   func() error { return q.Add(ctx, newThing("b", "6")) },
		"Replaced b@7, Added b@8": func() error {
			return errors.Join(q.Replace(ctx, []thing{newThing("b", "7")}, "7"), q.Add(ctx, newThing("b", "8")))
		},
	} {
		require.NoError(t, q.Add(ctx, newThing("a", "5")))
		assert.Error(t, q.Pop(ctx, func(batch Batch[thing]) error {
			require.NoError(t, write())
			return putBack(t, q)(batch)
		}))
		assert.Equal(t, news, describe(drain(t, q, nil)), "newer news wins")
	}
}

// The consumer has the object, and could not delete it; or it keeps no store.
func TestADeletionThatIsPutBackIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options[thing]{{}, {KnownObjects: newStore()}, {KnownObjects: newStore(newThing("a", "1"))}} {
		q := byObject{New(opts)}
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Replace(t.Context(), nil, "2"))
		assert.Error(t, q.Pop(t.Context(), func(batch Batch[thing]) error {
			require.Len(t, batch.ByObject(), 1)
			require.NoError(t, q.AddIfNotPresent(batch.ByObject()[0][1:]))
			return errors.New("later")
		}))
		assert.Equal(t, "Deleted(tombstone) a@1", describe(popOnce(t, q)))
	}
}

func TestAddIfNotPresentDoesNotKeepTheCallersSlice(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	callers := Deltas[thing]{
		{Type: Added, Object: newThing("a", "1")},
		{Type: Updated, Object: newThing("a", "2")},
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
		q := byObject{New(Options[thing]{Limit: 1})}
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Pop(t.Context(), func(batch Batch[thing]) error {
			require.NoError(t, q.Add(t.Context(), newThing("b", "2")))
			return q.AddIfNotPresent(batch.Deltas)
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
		"two objects": {{Type: Added, Object: a}, {Type: Added, Object: b}},
		"no name":     {{Type: Added, Object: newThing("x/", "1")}},
		"no object":   {{Type: Added}},
		"a list":      {{Type: Replaced, List: &List[thing]{Objects: []thing{a}}}},
	} {
		assert.ErrorIs(t, q.AddIfNotPresent(deltas), ErrInvalidObject, name)
	}
	assert.ErrorContains(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Object: a}, {Type: Updated, Object: newThing("x/", "1")}}), "delta 2 has no name")
	assert.ErrorContains(t, q.Replace(t.Context(), []thing{a, newThing("x/", "1"), b}, "1"), "object 2 of 3")
	assert.ErrorContains(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Object: a}, {Type: Deleted}}), "delta 2")
	q.Close()
	assert.ErrorIs(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Object: b}}), ErrClosed)
}

func TestTheOldestAndTheNewestOfDeltas(t *testing.T) {
	t.Parallel()
	q, _ := newDeltaQueue()
	for i := range 3 {
		require.NoError(t, q.Update(t.Context(), newThing("ns/a", strconv.Itoa(i))))
	}
	require.NoError(t, q.Pop(t.Context(), func(batch Batch[thing]) error {
		deltas := batch.ByObject()[0]
		assert.Equal(t, "0", deltas.Oldest().Object.ResourceVersion)
		assert.Equal(t, "2", deltas.Newest().Object.ResourceVersion)
		assert.Equal(t, keyNamed("ns/a"), deltas.Newest().Key())
		return nil
	}))
}

func TestDeltasWithoutElementsHaveNoOldestAndNewest(t *testing.T) {
	t.Parallel()
	assert.Zero(t, Deltas[thing](nil).Oldest())
	assert.Zero(t, Deltas[thing](nil).Newest())
}

// Both readings of a batch are of the same changes, and neither disturbs the other.
func TestABatchCanBeReadInBothWays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newDeltaQueue(newThing("known", "0"))
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Bookmark(ctx, "2"))
	require.NoError(t, q.Replace(ctx, []thing{newThing("b", "3")}, "3"))
	require.NoError(t, q.Delete(ctx, newThing("a", "4")))
	require.NoError(t, q.Resync(ctx))
	require.NoError(t, q.Update(ctx, newThing("b", "5")))
	require.NoError(t, q.Pop(ctx, func(batch Batch[thing]) error {
		for range 2 {
			var byObject []string
			for _, deltas := range batch.ByObject() {
				byObject = append(byObject, describe(deltas))
			}
			assert.Equal(t, []string{"Added a@1, Deleted a@4", "Replaced b@3, Updated b@5", "Deleted(tombstone) known@0"}, byObject)
			assert.Equal(t, "Added a@1, Bookmark @2, Replaced [b@3]@3, Deleted a@4, Sync, Updated b@5", describe(batch.Deltas))
		}
		return nil
	}))
}
