package indexer

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The batch holds the lock of the writers while this goroutine reads.
//
// Promise indexer/1
// Promise indexer/3
func TestBatchIsVisibleAfterCommitAndAsAWhole(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	before := ix.Snapshot()
	b := ix.Batch()
	defer b.Discard()
	for _, p := range numbered(100) {
		_, existed, err := b.Set(p)
		require.NoError(t, err)
		require.False(t, existed)
	}
	require.Equal(t, 100, b.next.Len())
	require.True(t, b.SetResourceVersion("100"))
	require.Equal(t, "100", b.next.ResourceVersion())
	require.Zero(t, ix.Snapshot().Len())
	require.Same(t, before, ix.Snapshot())
	require.Empty(t, by(t, ix.Snapshot(), app, "app-1"))

	after := b.Commit()
	require.Same(t, after, ix.Snapshot())
	require.Equal(t, 100, ix.Snapshot().Len())
	require.Equal(t, "100", ix.Snapshot().ResourceVersion())
	require.Len(t, by(t, after, app, "app-1"), 20)
	require.Len(t, names(ix.All()), 100)
	require.Len(t, names(ix.Snapshot().ByNamespace("ns-3")), 10)
	require.Empty(t, names(before.All()), "the old snapshot stays as it was")
	p, ok := ix.Get(key("ns-3", "pod-3"))
	require.True(t, ok)
	require.Equal(t, "pod-3", p.Name)
}

// Promise indexer/3
func TestDiscardLeavesNoTrace(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	before := set(t, ix, numbered(100)...)
	b := ix.Batch()
	for _, p := range numbered(50) {
		b.Delete(key(p.Namespace, p.Name))
	}
	b.SetResourceVersion("7")
	b.Discard()
	b.Discard() // twice does no harm
	require.Same(t, before, ix.Snapshot())
	require.Equal(t, 100, ix.Snapshot().Len())
	require.Len(t, by(t, ix.Snapshot(), app, "app-1"), 20)
	require.Empty(t, ix.Snapshot().ResourceVersion())
}

func TestBatchWithoutWritesPublishesNothing(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	before := set(t, ix, numbered(3)...)
	b := ix.Batch()
	p, _ := b.next.Get(key("ns-1", "pod-1"))
	_, existed, err := b.Set(p)
	require.NoError(t, err)
	require.True(t, existed)
	b.Delete(key("nobody", "is here"))
	require.Same(t, before, b.Commit())
}

func TestEndedBatchRefusesWrites(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	set(t, ix, numbered(3)...)
	for _, end := range []func(*Batch[*pod]){func(b *Batch[*pod]) { b.Commit() }, (*Batch[*pod]).Discard} {
		b := ix.Batch()
		end(b)
		_, _, err := b.Set(newPod("a", "b"))
		require.ErrorIs(t, err, errBatchEnded)
		_, err = b.Replace(nil)
		require.ErrorIs(t, err, errBatchEnded)
		_, err = b.ReplaceNamespace("a", nil)
		require.ErrorIs(t, err, errBatchEnded)
		_, existed := b.Delete(key("ns-1", "pod-1"))
		require.False(t, existed)
		require.False(t, b.SetResourceVersion("9"))
		require.Same(t, ix.Snapshot(), b.Commit())
		b.Discard()
		require.Equal(t, 3, ix.Snapshot().Len())
	}
}

func TestBatchesWaitForEachOther(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				b := ix.Batch()
				n, _ := strconv.Atoi(b.next.ResourceVersion())
				b.SetResourceVersion(strconv.Itoa(n + 1))
				b.Commit()
			}
		})
	}
	wg.Wait()
	require.Equal(t, "800", ix.Snapshot().ResourceVersion())
}

func TestBatchMayBeWrittenWhileIterating(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	ix := newIndexer(t, app)
	set(t, ix, numbered(200)...)
	b := ix.Batch()
	defer b.Discard()
	n := 0
	for p := range b.freeze().All() {
		n++
		b.Delete(key(p.Namespace, p.Name))
		_, _, err := b.Set(newPod("new", p.Name))
		require.NoError(t, err)
	}
	require.Equal(t, 200, n)
	s := b.Commit()
	require.Len(t, names(s.ByNamespace("new")), 200)
	require.Equal(t, 200, s.Len())
	require.Empty(t, values(t, s, app))
}

// What may be thrown at a store without breaking it.
func TestBadObjectsAreRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t, LabelIndex[*pod]("app"))
	before := set(t, ix, numbered(10)...)
	b := ix.Batch()
	_, _, err := b.Set(nil)
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "object is nil")
	_, _, err = b.Set(&pod{})
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "no metadata.name")
	_, _, err = b.Set(newPod("only-a-namespace", ""))
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "no metadata.name")
	require.ErrorContains(t, err, "only-a-namespace")
	_, existed := b.Delete(key("", ""))
	require.False(t, existed)
	require.Same(t, before, b.Commit())
}

func TestKeysAreNotJoinedSoSlashesDoNotConfuse(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	keys := [][2]string{{"a", "b/c"}, {"a/b", "c"}, {"", "a/b/c"}, {"a/b/c", "a"}, {"", "a"}, {"a", "a"}}
	for _, k := range keys {
		set(t, ix, newPod(k[0], k[1]))
	}
	require.Equal(t, len(keys), ix.Snapshot().Len())
	for _, k := range keys {
		p, ok := ix.Get(key(k[0], k[1]))
		require.True(t, ok)
		require.Equal(t, k, [2]string{p.Namespace, p.Name})
	}
	require.Equal(t, []string{"/a", "/a/b/c"}, names(ix.Snapshot().ByNamespace("")))
}

func TestImpossibleOptionsAreErrors(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*pod]("app")
	for name, o := range map[string]Options[*pod]{
		"two indexes of one name":  {Indexes: []IndexDefinition[*pod]{app, LabelIndex[*pod]("app")}},
		"nil index":                {Indexes: []IndexDefinition[*pod]{nil}},
		"typed nil index":          {Indexes: []IndexDefinition[*pod]{(*Index[*pod, int])(nil)}},
		"index without a name":     {Indexes: []IndexDefinition[*pod]{NewIndex("", func(*pod) ([]int, error) { return nil, nil })}},
		"index without a function": {Indexes: []IndexDefinition[*pod]{NewIndex[*pod, int]("x", nil)}},
		"negative limit":           {MaxIndexValues: -1},
		"negative sampling":        {Mutations: MutationOptions{SampleEvery: -1}},
		"negative memory":          {Mutations: MutationOptions{SampleEvery: 1, MaxObjects: -1}},
		"detector options, not on": {Mutations: MutationOptions{OnMutation: func(Mutation) {}}},
	} {
		_, err := New(o)
		assert.Error(t, err, name)
	}
}

// It is not parallel: the default logger belongs to all tests.
func TestNilLoggerIsTheDefaultLogger(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	x := NewIndex("picky", func(*pod) ([]int, error) { return nil, errUnwilling })
	ix, err := New(Options[*pod]{Indexes: []IndexDefinition[*pod]{x}})
	require.NoError(t, err)
	set(t, ix, newPod("a", "b"))
	require.Contains(t, log.String(), "a/b")
	require.Contains(t, log.String(), errUnwilling.Error())
}

func TestUnstructuredObjectsAreObjectsToo(t *testing.T) {
	t.Parallel()
	app := LabelIndex[*unstructured.Unstructured]("app")
	ix, err := New(Options[*unstructured.Unstructured]{Indexes: []IndexDefinition[*unstructured.Unstructured]{app}})
	require.NoError(t, err)
	b := ix.Batch()
	defer b.Discard()
	for i := range 20 {
		u := &unstructured.Unstructured{}
		u.SetNamespace("a")
		u.SetName(fmt.Sprint("u", i))
		u.SetLabels(map[string]string{"app": fmt.Sprint(i % 2)})
		_, _, err := b.Set(u)
		require.NoError(t, err)
	}
	_, _, err = b.Set(&unstructured.Unstructured{})
	require.ErrorIs(t, err, errInvalidObject)
	require.ErrorContains(t, err, "no metadata.name")
	s := b.Commit()
	seq := ByIndex(s, app, "1")
	require.Len(t, slices.Collect(seq), 10)
}

// A pod whose methods panic stands for any object that is not what it seems.
//
// Promise indexer/3
func TestPanicOfAnObjectDiscardsTheBatch(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*trap]{})
	require.NoError(t, err)
	write := func() {
		b := ix.Batch()
		defer b.Discard()
		_, _, err := b.Set(&trap{newPod("a", "fine")})
		require.NoError(t, err)
		b.Replace([]*trap{{newPod("a", "fine")}, {newPod("a", "other")}, {}}) //nolint:errcheck // it panics
	}
	require.Panics(t, write)
	require.Zero(t, ix.Snapshot().Len())
	b := ix.Batch() // the lock is free
	_, _, err = b.Set(&trap{newPod("a", "x")})
	require.NoError(t, err)
	require.Equal(t, 1, b.Commit().Len())
}

type trap struct{ *pod }
