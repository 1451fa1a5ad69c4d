package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// versioned is a snapshot beside what it has to have.
type versioned struct {
	*Snapshot[*pod]
	want map[types.NamespacedName]*pod
}

// check looks all keys up, also those that the snapshot does not have.
func (v versioned) check(t testing.TB, keys []types.NamespacedName) {
	t.Helper()
	require.Equal(t, len(v.want), v.Len())
	for _, k := range keys {
		got, ok := v.Get(k)
		want, had := v.want[k]
		if ok != had || got != want {
			require.Failf(t, "another object", "%s: %v %v, want %v %v", k, got, ok, want, had)
		}
	}
	for p := range ByIndex(v.Snapshot, byFirst, "p1") {
		require.True(t, v.want[object.KeyOf(p)] == p)
	}
	listed := 0
	for namespace := range v.Namespaces() {
		n := 0
		for p := range v.ByNamespace(namespace) {
			require.True(t, p.Namespace == namespace && v.want[object.KeyOf(p)] == p)
			n++
		}
		require.True(t, n > 0 && n == v.NamespaceLen(namespace))
		listed += n
	}
	require.Equal(t, len(v.want), listed)
}

// checkDiff expects from Diff exactly what distinguishes the two.
func checkDiff(t testing.TB, a, b versioned) {
	t.Helper()
	got := map[types.NamespacedName]Change[*pod]{}
	for c := range Diff(a.Snapshot, b.Snapshot) {
		require.NotContains(t, got, c.Key, "each key once")
		got[c.Key] = c
	}
	want := map[types.NamespacedName]Change[*pod]{}
	for k, p := range a.want {
		if q, ok := b.want[k]; !ok {
			want[k] = Change[*pod]{Type: Deleted, Key: k, Old: p}
		} else if p != q {
			want[k] = Change[*pod]{Type: Updated, Key: k, Old: p, New: q}
		}
	}
	for k, q := range b.want {
		if _, ok := a.want[k]; !ok {
			want[k] = Change[*pod]{Type: Added, Key: k, New: q}
		}
	}
	require.True(t, maps.Equal(want, got))
}

// history makes versions by random batches, of which every fourth is discarded.
type history struct {
	ix   *Indexer[*pod]
	rng  *rand.Rand
	keys []types.NamespacedName
	now  map[types.NamespacedName]*pod
}

func newHistory(t testing.TB, keys int, seed, drop uint64) *history {
	t.Helper()
	h := &history{ix: newIndexer(t), rng: rand.New(rand.NewPCG(seed, drop)), now: map[types.NamespacedName]*pod{}}
	h.ix.shared.hasher.drop = drop
	for i := range keys {
		h.keys = append(h.keys, key(fmt.Sprint("n", i%3), fmt.Sprint("p", i)))
	}
	return h
}

// step runs one batch, and compares what it sees with a model at each write.
func (h *history) step(t testing.TB, adds int) {
	t.Helper()
	h.moveIndex(t)
	next := maps.Clone(h.now)
	b := h.ix.Batch()
	defer b.Discard()
	for range 1 + h.rng.IntN(12) {
		k := h.keys[h.rng.IntN(len(h.keys))]
		if h.rng.IntN(10) < adds {
			p := newPod(k.Namespace, k.Name)
			if before := h.now[k]; before != nil && h.rng.IntN(4) == 0 {
				p = before // what is published, perhaps after something else
			}
			old, existed, err := b.Set(p)
			require.NoError(t, err)
			require.True(t, existed == (next[k] != nil) && old == next[k])
			next[k] = p
		} else {
			old, existed := b.Delete(k)
			require.True(t, existed == (next[k] != nil) && old == next[k])
			delete(next, k)
		}
		k = h.keys[h.rng.IntN(len(h.keys))]
		got, ok := b.Get(k)
		require.True(t, ok == (next[k] != nil) && got == next[k])
		if h.rng.IntN(20) == 0 {
			n := 0
			for p := range b.All() { // what it has done so far is frozen
				require.True(t, next[object.KeyOf(p)] == p)
				n++
			}
			require.Len(t, next, n)
		}
	}
	if h.rng.IntN(4) == 0 {
		b.Discard()
		return
	}
	b.Commit()
	h.now = next
}

// moveIndex sometimes adds an index or removes it, which publishes a snapshot without a batch.
func (h *history) moveIndex(t testing.TB) {
	t.Helper()
	if h.rng.IntN(8) > 0 {
		return
	}
	if !registered(h.ix.Snapshot(), byFirst) {
		require.NoError(t, h.ix.AddIndex(byFirst))
	} else {
		require.NoError(t, h.ix.RemoveIndex(byFirst.Name()))
	}
}

// byFirst has few values, so that most writes leave it as it is.
var byFirst = NewSingleIndex("first", func(p *pod) (string, bool) { return p.Name[:2], true })

func (h *history) version() versioned { return versioned{h.ix.Snapshot(), h.now} }

// tableHasExactly checks what the writer relies on.
func (h *history) tableHasExactly(t testing.TB) {
	t.Helper()
	w := &h.ix.lookup
	require.Equal(t, w.small(), h.ix.Snapshot().lookup == emptyLookup)
	h.ix.Snapshot().objs.Each(func(n uint32, _ *pod, keys *keys) bool {
		nb, ok := h.ix.Snapshot().bucket(keys.key(n).Namespace)
		require.True(t, ok)
		if place := w.places[n]; place == unplaced {
			require.Contains(t, nb.recent, n)
		} else {
			require.Equal(t, n, nb.placed.Get(place))
		}
		require.True(t, !w.small() || n < neighbours, "%d", n)
		return true
	})
	if w.small() {
		require.Nil(t, w.edited)
		require.Equal(t, []int{0, 0}, []int{w.live, w.used})
		require.LessOrEqual(t, len(w.places), neighbours)
		require.LessOrEqual(t, len(w.signatures), neighbours)
		return
	}
	var live, used, numbers int
	for i := range w.cells {
		switch c := w.cells[i].Load(); c {
		case 0:
		case deleted:
			used++
		default:
			live++
			used++
			numbers = max(numbers, int(uint32(c)))
		}
	}
	require.Equal(t, []int{len(h.now), len(h.now), used}, []int{live, w.live, w.used})
	require.LessOrEqual(t, numbers, w.room)
	require.Len(t, w.places, w.beside)
	require.LessOrEqual(t, w.room, w.beside)
	room := 0
	for _, c := range w.chunks {
		room += len(c) * neighbours
		for i := range c {
			require.LessOrEqual(t, c[i].gen.Load(), w.gen, "the next snapshot need not descend")
		}
	}
	require.Equal(t, w.room, room)
	objects := make([]*pod, room) // nothing is left of those that are gone
	h.ix.Snapshot().objs.Each(func(n uint32, p *pod, keys *keys) bool {
		l := w.latest(n)
		require.True(t, l.keys.Load() == keys)
		at, _ := keys.place(n)
		require.Equal(t, uint64(at), l.places[n%neighbours/4].Load()>>(n%4*16)&(1<<16-1))
		objects[n] = p
		return true
	})
	for n, p := range objects {
		require.True(t, (*pod)(w.latest(uint32(n)).objects[n%neighbours]) == p, "the latest object")
	}
}

// Promises indexer/2 and indexer/10
func TestAllVersionsAnswerFromOneTable(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]uint64{"good hashes": 0, "few hashes": 1<<62 - 1, "half a hash": 1<<60 - 1<<32, "one hash": ^uint64(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(12) {
				keys, phase := 150, 50
				if seed >= 4 { // about as many as a small store has
					keys, phase = 8+int(seed)%5, 2+int(seed)%20
				}
				h := newHistory(t, keys, seed, drop)
				versions := []versioned{h.version()}
				for i := range 200 {
					h.step(t, 3+5*(i/phase%2)) // up and down again
					h.tableHasExactly(t)
					versions = append(versions, h.version())
					versions[h.rng.IntN(len(versions))].check(t, h.keys)
				}
				for i, v := range versions {
					v.check(t, h.keys)
					other := versions[h.rng.IntN(len(versions))]
					checkDiff(t, v, other)
					checkDiff(t, other, v)
					checkDiff(t, versions[max(0, i-1)], v)
				}
			}
		})
	}
}

// Promises indexer/1 and indexer/2
func TestReadersSeeTheirVersionWhileTheTableChanges(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 60, 7, 0)
	var current atomic.Pointer[versioned]
	publish := func() { v := h.version(); current.Store(&v) }
	publish()
	var done atomic.Bool
	var wg sync.WaitGroup
	wrong := make(chan string, 4)
	for r := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 1))
			held := *current.Load()
			for !done.Load() {
				// Some hold on to a version while the writer goes on.
				if rng.IntN(1+20*r) == 0 {
					held = *current.Load()
				}
				for _, k := range h.keys {
					if got, _ := held.Get(k); got != held.want[k] {
						wrong <- fmt.Sprintf("%s: %p, want %p", k, got, held.want[k])
						return
					}
				}
			}
		})
	}
	for i := range 3000 {
		h.step(t, 2+6*(i/40%2))
		publish()
	}
	done.Store(true)
	wg.Wait()
	close(wrong)
	for w := range wrong {
		require.Fail(t, w)
	}
}

// A reader may find a number in the table that its snapshot has for another object, or not
// at all; and one that an object had before.
func TestNumberInTheTableIsAHint(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		empty := ix.Snapshot()
		a := set(t, ix, newPod("n", "a"))
		b := ix.Batch()
		b.Delete(key("n", "a"))
		_, _, err := b.Set(newPod("n", "b"))
		require.NoError(t, err)
		for _, s := range []*Snapshot[*pod]{empty, a, ix.Snapshot()} {
			_, ok := s.Get(key("n", "b"))
			require.False(t, ok, "not committed")
		}
		p, ok := a.Get(key("n", "a"))
		require.True(t, ok)
		require.Equal(t, "a", p.Name)
		b.Discard()
		p, ok = ix.Get(key("n", "a"))
		require.True(t, ok)
		require.Equal(t, "a", p.Name)
		_, ok = ix.Get(key("n", "b"))
		require.False(t, ok)
		_, ok = ix.Get(key("n", ""))
		require.False(t, ok, "an unused number has no key")
	})
}

// A snapshot must not see an object that is newer, wherever the table has moved.
func TestOldSnapshotKeepsItsObjectsWhenTheTableGrows(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	first := set(t, ix, newPod("n", "first"))
	was, _ := first.Get(key("n", "first"))
	var pods []*pod
	for i := range 1000 {
		pods = append(pods, newPod("n", fmt.Sprint("p", i)))
	}
	set(t, ix, pods...)
	set(t, ix, newPod("n", "first"))
	got, ok := first.Get(key("n", "first"))
	require.True(t, ok)
	require.Same(t, was, got)

	// And releases its memory when it shrinks.
	large := ix.Snapshot().Usage().Objects
	b := ix.Batch()
	for _, p := range pods {
		b.Delete(object.KeyOf(p))
	}
	s := b.Commit()
	require.Less(t, s.Usage().Objects, large/50)
	require.Len(t, s.lookup.cells, minCells)
	got, ok = first.Get(key("n", "first"))
	require.True(t, ok)
	require.Same(t, was, got)
}

func TestWriteAfterADiscardedOneReachesTheIndexes(t *testing.T) {
	t.Parallel()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		set(t, ix, onNode("p", "n1", "web"))
		// The signature that the discarded write has left must not make the next one look like
		// an update without a change, however often that happens.
		for range 3 {
			b := ix.Batch()
			_, _, err := b.Set(onNode("p", "n2", "web"))
			require.NoError(t, err)
			b.Discard()
			b = ix.Batch()
			b.Delete(key("a", "p"))
			b.Discard()
		}
		s := set(t, ix, onNode("p", "n2", "web"))
		require.Equal(t, []string{"a/p"}, by(t, s, node, "n2"))
		require.Empty(t, by(t, s, node, "n1"))
	}, node)
}

// What a batch stored first, and took back, must not come back with a later batch.
func TestDiscardBringsBackAnObjectThatTheBatchStoredAgain(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(b *Batch[*pod]) error{
		"a neighbour": func(b *Batch[*pod]) error { _, _, err := b.Set(newPod("n", "neighbour")); return err },
		"a deletion":  func(b *Batch[*pod]) error { b.Delete(key("n", "p")); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
				published := newPod("n", "p")
				set(t, ix, published, newPod("n", "q"))
				b := ix.Batch()
				_, _, err := b.Set(newPod("n", "p"))
				require.NoError(t, err)
				require.NoError(t, between(b))
				_, _, err = b.Set(published)
				require.NoError(t, err)
				b.Discard()
				b = ix.Batch()
				require.True(t, b.SetResourceVersion("7"))
				got, ok := b.Commit().Get(key("n", "p"))
				require.True(t, ok)
				require.Same(t, published, got)
			})
		})
	}
}

// The index function fails once for an object. What a discarded batch made of it does not
// count, and the next write of the object brings it into the index.
func TestIndexRecoversAfterADiscardedBatchThatHadRecovered(t *testing.T) {
	t.Parallel()
	fails := true
	node := NewIndex("node", func(p *pod) ([]string, error) {
		if fails {
			return nil, errUnwilling
		}
		return []string{p.Spec.NodeName}, nil
	})
	ix := newIndexer(t, node)
	published := onNode("p", "n1", "web")
	set(t, ix, published)
	fails = false
	b := ix.Batch()
	for _, p := range []*pod{onNode("p", "n2", "web"), published} {
		_, _, err := b.Set(p)
		require.NoError(t, err)
	}
	b.Discard()
	s := set(t, ix, onNode("p", "n1", "web"))
	require.Equal(t, []string{"a/p"}, by(t, s, node, "n1"))
}

func TestRemovalsAreFoundHoweverLongTheListIs(t *testing.T) {
	w := lookupWriter{removed: &removal{}, places: make([]uint32, 1<<16)}
	start := w.removed
	var mid *removal
	for i := range uint32(5000) {
		if i == 2500 {
			mid = w.removed
		}
		w.log(uint64(i%1000)<<32, i)
		if i%37 == 0 {
			require.True(t, start.find(i%1000, func(n uint32) bool { return n == i }), "the newest")
			require.True(t, start.find(0, func(n uint32) bool { return n == 0 }), "the oldest")
			require.False(t, start.find(1000, func(uint32) bool { return true }))
		}
	}
	for i := range uint32(5000) {
		is := func(n uint32) bool { return n == i }
		require.True(t, start.find(i%1000, is))
		require.Equal(t, i >= 2500, mid.find(i%1000, is))
		require.False(t, w.removed.find(i%1000, is), "nothing follows the last one")
	}
	runs := start.sorted.Load().runs
	for i, run := range runs {
		require.True(t, slices.IsSorted(run))
		if i > 0 {
			require.Greater(t, len(runs[i-1]), 2*len(run))
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { start.find(7, func(n uint32) bool { return n == 4007 }) }))
}

// The comparison of a name takes long enough for a write in between, the longer the better.
func TestReaderThatComparesANameDoesNotSeeAWriteMeanwhile(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		k := key(strings.Repeat("n", long-1), strings.Repeat("x", long-1))
		type state struct {
			s *Snapshot[*pod]
			p *pod
		}
		var current atomic.Pointer[state]
		write := func() {
			p := newPod(k.Namespace, k.Name)
			current.Store(&state{set(t, ix, p), p})
		}
		write()
		var done atomic.Bool
		var wrong atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			other := types.NamespacedName{Namespace: k.Namespace, Name: strings.Clone(k.Name)}
			wg.Go(func() {
				for !done.Load() {
					now := current.Load()
					if p, _ := now.s.Get(other); p != now.p {
						wrong.Add(1)
					}
				}
			})
		}
		for range 20_000 {
			write()
		}
		done.Store(true)
		wg.Wait()
		require.Zero(t, wrong.Load())
	})
}

// An object of an interface type is not a plain pointer, so all look-ups take the array.
func TestObjectsOfAnInterfaceTypeAreFoundInTheArray(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[Object]{})
	require.NoError(t, err)
	for i := range neighbours + 1 { // for a table
		b := ix.Batch()
		_, _, err := b.Set(newPod("others", fmt.Sprint("other", i)))
		require.NoError(t, err)
		b.Commit()
	}
	var versions []*Snapshot[Object]
	var want []Object
	for range 20 {
		b := ix.Batch()
		p := newPod("n", "p")
		_, _, err := b.Set(p)
		require.NoError(t, err)
		got, ok := b.Get(key("n", "p"))
		require.True(t, ok && got == Object(p))
		versions, want = append(versions, b.Commit()), append(want, p)
		b = ix.Batch()
		b.Delete(key("n", "p"))
		b.Discard()
	}
	for i, s := range versions {
		got, ok := s.Get(key("n", "p"))
		require.True(t, ok && got == want[i])
	}
}

func TestTableGrowsAndShrinksByChunks(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	var pods []*pod
	for i := range 20_000 {
		pods = append(pods, newPod("n", fmt.Sprint("p", i)))
	}
	check := func(s *Snapshot[*pod], pods []*pod) {
		t.Helper()
		require.Equal(t, len(pods), s.Len())
		for _, p := range pods {
			got, found := s.Get(object.KeyOf(p))
			if !found || got != p {
				require.Failf(t, "another object", "%v instead of %v", got, p.Name)
			}
		}
	}
	remove := func(pods []*pod) {
		b := ix.Batch()
		for _, p := range slices.Backward(pods) { // the highest numbers first
			b.Delete(object.KeyOf(p))
		}
		b.Commit()
	}
	set(t, ix, pods...)
	all := ix.Snapshot()
	require.Greater(t, len(ix.lookup.chunks), 4)
	check(all, pods)

	// The last number in use is in the second chunk.
	some := append(slices.Clone(pods[:1500]), pods[5000])
	remove(pods[5001:])
	remove(pods[1500:5000])
	require.Equal(t, 2, len(ix.lookup.chunks)) //nolint:testifylint // Len would print them
	fewer := ix.Snapshot()
	check(fewer, some)
	check(all, pods)

	set(t, ix, pods...)
	require.Greater(t, len(ix.lookup.chunks), 4)
	check(ix.Snapshot(), pods)
	check(fewer, some)
	left := 0 // to the array, as another key has the same half of a hash: one in twenty times there is a pair
	for _, p := range pods {
		s, key := ix.Snapshot(), object.KeyOf(p)
		if _, at, _ := s.lookup.search(&key, s.shared.hasher.key(&key), s.gen); (*pod)(at) != p {
			left++
		}
	}
	require.LessOrEqual(t, left, 3, "what the chunks had is still there")

	remove(pods[100:])
	require.Equal(t, 1, len(ix.lookup.chunks)) //nolint:testifylint // Len would print them
	require.Less(t, ix.lookup.room, chunked)
	check(ix.Snapshot(), pods[:100])
	check(fewer, some)
	check(all, pods)
}
