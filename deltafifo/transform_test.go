package deltafifo

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// Promise deltafifo/6
func TestEachReceivedObjectIsTransformedOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	known := newStore()
	calls := map[thing]int{}
	q := byObject{New(Options[thing]{KnownObjects: known, Transform: func(obj thing) (thing, error) {
		calls[obj]++
		out := obj.DeepCopy()
		out.ResourceVersion += "'"
		return out, nil
	}})}
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	require.NoError(t, q.Replace(ctx, []thing{newThing("b", "3"), newThing("c", "3")}, "3"))
	assert.Equal(t, "Added a@1', Updated a@2', Deleted(tombstone) a@2', Replaced b@3', Replaced c@3'", describe(drain(t, q, known)))

	require.NoError(t, q.Resync(ctx))
	assert.Equal(t, "Sync b@3', Sync c@3'", describe(drain(t, q, known)), "a resync transforms nothing")
	require.NoError(t, q.Delete(ctx, newThing("b", "4")))
	require.NoError(t, q.Pop(ctx, func(batch Batch[thing]) error { return q.AddIfNotPresent(batch.Deltas) }))
	require.NoError(t, q.Replace(ctx, nil, "5"))
	assert.Equal(t, "Deleted b@4', Deleted(tombstone) c@3'", describe(drain(t, q, known)), "nor does putting back, nor a tombstone")
	for obj, n := range calls {
		assert.Equal(t, 1, n, describe([]delta{{Type: Added, Object: obj}}))
	}
	assert.Len(t, calls, 5)
}

// Promise deltafifo/3
func TestFailingTransformQueuesNothing(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		transform func(thing) (thing, error)
		want      error
	}{
		"error":     {func(thing) (thing, error) { return nil, boom }, boom},
		"nil":       {func(thing) (thing, error) { return nil, nil }, ErrInvalidObject},
		"other key": {func(obj thing) (thing, error) { return newThing("other/"+obj.Name, "1"), nil }, ErrInvalidObject},
		"no name":   {func(obj thing) (thing, error) { obj.Name = ""; return obj, nil }, ErrInvalidObject},
	} {
		t.Run(name, func(t *testing.T) {
			q := byObject{New(Options[thing]{KnownObjects: newStore(newThing("ns/bad", "0")), Transform: func(obj thing) (thing, error) {
				if obj.Name == "bad" {
					return tc.transform(obj)
				}
				return obj, nil
			}})}
			ctx := t.Context()
			for _, err := range []error{
				q.Add(ctx, newThing("ns/bad", "1")),
				q.Update(ctx, newThing("ns/bad", "1")),
				q.Delete(ctx, newThing("ns/bad", "1")),
				q.Replace(ctx, []thing{newThing("ns/good", "1"), newThing("ns/bad", "1")}, "1"),
			} {
				assert.ErrorIs(t, err, tc.want)
				assert.ErrorContains(t, err, "ns/bad")
			}
			assert.Zero(t, q.Len())
			assert.False(t, q.HasSynced())
		})
	}
}

// Promise deltafifo/8
func TestTransformRunsWithoutALock(t *testing.T) {
	t.Parallel()
	var q byObject
	q = byObject{New(Options[thing]{Transform: func(obj thing) (thing, error) {
		_ = q.Len()
		return obj, nil
	}})}
	require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
}

func TestPanicOfTransformLeavesTheQueueUsable(t *testing.T) {
	t.Parallel()
	q := byObject{New(Options[thing]{Transform: func(obj thing) (thing, error) {
		if obj.Name == "bad" {
			panic("transform")
		}
		return obj, nil
	}})}
	assert.Panics(t, func() { _ = q.Add(t.Context(), newThing("bad", "1")) })
	require.NoError(t, q.Add(t.Context(), newThing("good", "1")))
	assert.Equal(t, "Added good@1", describe(drain(t, q, nil)))
}

// brokenStore panics when it is looked into.
type brokenStore struct{}

func (brokenStore) Get(types.NamespacedName) (thing, bool) { panic("Get") }
func (brokenStore) All() iter.Seq[thing]                   { return func(func(thing) bool) { panic("All") } }

func TestPanicOfKnownObjectsLeavesTheQueueUsable(t *testing.T) {
	t.Parallel()
	q := byObject{New(Options[thing]{KnownObjects: brokenStore{}})}
	ctx := context.Background()
	require.NoError(t, q.Delete(ctx, newThing("a", "1")))
	assert.PanicsWithValue(t, "Get", func() { _ = q.pop(ctx, mustNotRun(t)) })
	require.NoError(t, q.Replace(ctx, []thing{newThing("a", "1")}, "1"))
	assert.PanicsWithValue(t, "All", func() { _ = q.pop(ctx, mustNotRun(t)) })
	require.NoError(t, q.Resync(ctx))
	assert.PanicsWithValue(t, "All", func() { _ = q.pop(ctx, mustNotRun(t)) })
	assert.PanicsWithValue(t, "Get", func() { q.Known(keyNamed("a")) })
	assert.Zero(t, q.Len())
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	assert.Equal(t, "Added a@1", describe(drain(t, q, nil)))
}

// A store may ask the queue, as it is never called with the queue locked.
type askingStore struct {
	*store
	ask func()
}

func (s askingStore) Get(key types.NamespacedName) (thing, bool) { s.ask(); return s.store.Get(key) }
func (s askingStore) All() iter.Seq[thing]                       { s.ask(); return s.store.All() }

// Promise deltafifo/8
func TestKnownObjectsAreAskedWithoutALock(t *testing.T) {
	t.Parallel()
	var q byObject
	asked := 0
	q = byObject{New(Options[thing]{KnownObjects: askingStore{newStore(newThing("a", "1")), func() { asked++; q.Len() }}})}
	q.Known(keyNamed("a"))
	require.NoError(t, q.Delete(t.Context(), newThing("a", "1")))
	require.NoError(t, q.Resync(t.Context()))
	require.NoError(t, q.Replace(t.Context(), nil, "1"))
	assert.Equal(t, "Deleted a@1", describe(popOnce(t, q)))
	assert.Equal(t, 4, asked)
}
