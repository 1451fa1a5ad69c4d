package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise deltafifo/5
func TestKnownIsTheNewestOfWhatIsQueuedInProcessAndStored(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, consumer := newDeltaQueue(newThing("a", "stored"))
	require := require.New(t)
	known := func() string {
		obj, ok := q.Known(keyNamed("a"))
		if !ok {
			require.Nil(obj)
			return "unknown"
		}
		return obj.ResourceVersion
	}
	require.Equal("stored", known())
	require.NoError(q.Update(ctx, newThing("a", "1")))
	require.NoError(q.Update(ctx, newThing("a", "2")))
	require.Equal("2", known(), "the newest of what is queued")
	require.NoError(q.pop(ctx, func(deltas []delta) error {
		require.Equal("2", known(), "in process, and not in the store yet")
		require.NoError(q.Update(ctx, newThing("a", "3")))
		require.Equal("3", known(), "queued behind what is in process")
		return consumer.apply(deltas)
	}))
	require.NoError(q.Delete(ctx, newThing("a", "4")))
	require.Equal("unknown", known(), "a queued deletion")
	require.NoError(q.pop(ctx, func(deltas []delta) error {
		require.Equal("unknown", known(), "a deletion in process; the store still has the object")
		require.NoError(q.AddIfNotPresent(deltasOf(deltas)))
		require.Equal("unknown", known(), "a deletion that was put back")
		return nil
	}))
	require.NoError(q.Replace(ctx, []thing{newThing("a", "5")}, "5"))
	require.Equal("5", known(), "listed again behind a queued deletion")
	require.NoError(q.Replace(ctx, nil, "6"))
	require.Equal("unknown", known(), "a tombstone")
	drain(t, q, consumer)
	require.Equal("unknown", known(), "stored no more")
	require.NoError(q.Update(ctx, newThing("a", "7")))
	require.NoError(q.Pop(ctx, func(batch Batch[thing]) error { return q.AddIfNotPresent(batch.Deltas) }))
	require.Equal("7", known(), "put back")
	require.NoError(q.Pop(ctx, func(Batch[thing]) error { return nil }))
	require.Equal("unknown", known(), "the consumer has dropped it")
}

func TestKnownWithoutKnownObjectsIsWhatIsQueuedOrInProcess(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := New(Options[thing]{})
	known := func() bool { _, ok := q.Known(keyNamed("a")); return ok }
	assert.False(t, known())
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	assert.True(t, known())
	require.NoError(t, q.Pop(ctx, func(Batch[thing]) error { assert.True(t, known()); return nil }))
	assert.False(t, known())
}

// nilStore holds a nil object.
type nilStore struct{ *store }

func TestKnownReturnsNoNilObject(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.objs[keyNamed("a")] = nil
	q := New(Options[thing]{KnownObjects: nilStore{s}})
	_, ok := q.Known(keyNamed("a"))
	assert.False(t, ok)
}

func TestNilObjectsOfTheStoreHaveNoTombstoneAndNoResync(t *testing.T) {
	t.Parallel()
	s := newStore(newThing("b", "1"))
	s.objs[keyNamed("a")] = nil
	q := byObject{New(Options[thing]{KnownObjects: s})}
	require.NoError(t, q.Resync(t.Context()))
	assert.Equal(t, "Sync b@1", describe(drain(t, q, nil)))
	require.NoError(t, q.Replace(t.Context(), nil, "2"))
	assert.Equal(t, "Deleted(tombstone) b@1", describe(drain(t, q, nil)))
}

// marking returns a queue whose transform adds a suffix to the version of an
// object, in place, each time.
func marking(known KnownObjects[thing]) *DeltaFIFO[thing] {
	return New(Options[thing]{KnownObjects: known, Transform: func(obj thing) (thing, error) {
		obj.ResourceVersion += "'"
		return obj, nil
	}})
}

// What a reflector does at a relist: it gives the known pointers of unchanged
// objects back. They have been transformed, and readers of the store share them.
//
// Promise deltafifo/6
func TestAKnownObjectThatIsGivenBackIsNotTransformedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	consumer := newStore()
	q := byObject{marking(consumer)}
	for _, name := range []string{"stored", "deleted", "queued", "dropped", "taken"} {
		require.NoError(t, q.Add(ctx, newThing(name, "1")))
		if name == "stored" || name == "deleted" {
			drain(t, q, consumer)
		}
	}
	known := func(name string) thing {
		obj, ok := q.Known(keyNamed(name))
		require.True(t, ok, name)
		return obj
	}
	list := []thing{known("stored"), known("queued"), known("dropped"), known("taken")}
	// In the meantime the consumer goes on.
	require.NoError(t, q.Delete(ctx, known("deleted")), "an unreadable deletion ends with the known state")
	require.NoError(t, q.Pop(ctx, func(Batch[thing]) error {
		// A consumer that drops what it has popped.
		return q.Replace(ctx, append(list, newThing("new", "2")), "2")
	}))
	assert.Equal(t, "Replaced stored@1', Replaced queued@1', Replaced dropped@1', Replaced taken@1', Replaced new@2', Deleted(tombstone) deleted@1'",
		describe(drain(t, q, consumer)))
}

func TestOnlyTheObjectThatKnownReturnedIsSparedTheTransform(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	consumer := newStore()
	q := byObject{marking(consumer)}
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	old, _ := q.Known(keyNamed("a"))
	require.NoError(t, q.Update(ctx, newThing("a", "2")), "another one of that key")
	require.NoError(t, q.Replace(ctx, []thing{newThing("a", "3"), newThing("b", "3")}, "3"))
	assert.Equal(t, "Added a@1', Updated a@2', Replaced a@3', Replaced b@3'", describe(drain(t, q, consumer)))
	assert.Equal(t, "1'", old.ResourceVersion)
}

// Promise deltafifo/11
func TestTheQueueForgetsWhatKnownHasReturned(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := marking(nil)
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Add(ctx, newThing("b", "1")))
	for _, name := range []string{"a", "b", "none"} {
		q.Known(keyNamed(name))
	}
	assert.Len(t, q.returned, 2)
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	assert.Len(t, q.returned, 1, "a write of the object")
	require.NoError(t, q.Replace(ctx, nil, "3"))
	assert.Empty(t, q.returned, "a list")

	plain := New(Options[thing]{})
	require.NoError(t, plain.Add(ctx, newThing("a", "1")))
	plain.Known(keyNamed("a"))
	assert.Empty(t, plain.returned, "nothing to remember without a transform")
}

// A reflector, which writes and asks in turn, gets exactly what it wrote last,
// however far the consumer is, and whatever it puts back.
//
// Promise deltafifo/5
func TestTheOnlyProducerKnowsWhatItWroteLast(t *testing.T) {
	t.Parallel()
	const writes = 5000
	consumer := newStore()
	q := byObject{New(Options[thing]{KnownObjects: consumer, Limit: 8})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			err := q.pop(context.Background(), func(deltas []delta) error {
				if n%3 != 0 {
					return consumer.apply(deltas)
				}
				for len(deltas) > 0 {
					n := slices.IndexFunc(append(deltas, delta{}), func(d delta) bool { return d.Key != deltas[0].Key })
					if err := q.AddIfNotPresent(deltasOf(deltas[:n])); err != nil && !errors.Is(err, ErrClosed) {
						return err
					}
					deltas = deltas[n:]
				}
				return nil
			})
			if errors.Is(err, ErrClosed) && q.Len() == 0 {
				return
			}
		}
	})
	written := map[string]thing{}
	for n := range writes {
		name := fmt.Sprint(n % 5)
		obj := newThing(name, strconv.Itoa(n))
		switch n % 7 {
		case 0:
			require.NoError(t, q.Delete(t.Context(), obj))
			delete(written, name)
		case 1:
			objs := make([]thing, 0, len(written))
			for _, obj := range written {
				objs = append(objs, obj)
			}
			require.NoError(t, q.Replace(t.Context(), objs, obj.ResourceVersion))
		default:
			require.NoError(t, q.Update(t.Context(), obj))
			written[name] = obj
		}
		for i := range 5 {
			got, ok := q.Known(keyNamed(fmt.Sprint(i)))
			want, wantOK := written[fmt.Sprint(i)]
			require.Equal(t, wantOK, ok, "write %d, object %d", n, i)
			require.True(t, want == got, "write %d, object %d", n, i)
		}
	}
	q.Close()
	wg.Wait()
}
