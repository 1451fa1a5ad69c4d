package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
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

func newHistory(t testing.TB, keys int, seed uint64, drop uint32) *history {
	t.Helper()
	h := &history{ix: newIndexer(t), rng: rand.New(rand.NewPCG(seed, uint64(drop))), now: map[types.NamespacedName]*pod{}}
	h.ix.shared.drop = drop
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
		got, ok := b.next.Get(k)
		require.True(t, ok == (next[k] != nil) && got == next[k])
		if h.rng.IntN(20) == 0 {
			n := 0
			for p := range b.freeze().All() { // what it has done so far is frozen
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

// numbersAreRight checks what the writer relies on: each key leads to the number of its object, and
// nothing else is there.
func (h *history) numbersAreRight(t testing.TB) {
	t.Helper()
	s := h.ix.Snapshot()
	require.Equal(t, len(h.now), s.numbers.Len())
	for k := range s.numbers.All() {
		r := s.objects.Get(k.number)
		require.NotNil(t, r)
		require.True(t, h.now[r.key] == r.obj)
		require.Equal(t, hash(s.shared, r.key), k.hash)
	}
}

// Promises indexer/2 and indexer/10
func TestAllVersionsAnswerAsAMapDoes(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]uint32{"good hashes": 0, "few hashes": ^uint32(3), "half a hash": 1<<16 - 1, "one hash": ^uint32(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(12) {
				keys, phase := 150, 50
				if seed >= 4 { // one leaf or a few
					keys, phase = 8+int(seed)%5, 2+int(seed)%20
				}
				h := newHistory(t, keys, seed, drop)
				versions := []versioned{h.version()}
				for i := range 200 {
					h.step(t, 3+5*(i/phase%2)) // up and down again
					h.numbersAreRight(t)
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
func TestReadersSeeTheirVersionWhileTheStoreChanges(t *testing.T) {
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

// A number that becomes free in a batch goes to another object. Snapshots of before have it for
// the first one.
func TestNumberThatGoesToAnotherObjectInABatch(t *testing.T) {
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

// A snapshot must not see an object that is newer, however large the store becomes.
func TestOldSnapshotKeepsItsObjectsWhenTheStoreGrows(t *testing.T) {
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

	b := ix.Batch()
	for _, p := range pods {
		b.Delete(object.KeyOf(p))
	}
	b.Commit()
	got, ok = first.Get(key("n", "first"))
	require.True(t, ok)
	require.Same(t, was, got)
}

func TestWriteAfterADiscardedOneReachesTheIndexes(t *testing.T) {
	t.Parallel()
	node := NewSingleIndex("node", func(p *pod) (string, bool) { return p.Spec.NodeName, true })
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		set(t, ix, onNode("p", "n1", "web"))
		// What the discarded write has left must not make the next one look like
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

// The comparison of a name takes long enough for a write in between, the longer the better.
func TestReaderThatComparesANameDoesNotSeeAWriteMeanwhile(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		k := key(strings.Repeat("n", 200), strings.Repeat("x", 200))
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

func TestObjectsMayBeOfAnInterfaceType(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[Object]{})
	require.NoError(t, err)
	var versions []*Snapshot[Object]
	var want []Object
	for range 20 {
		b := ix.Batch()
		p := newPod("n", "p")
		_, _, err := b.Set(p)
		require.NoError(t, err)
		got, ok := b.next.Get(key("n", "p"))
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

// A reader of the published snapshot looks for what a batch deletes, while the batch gives
// its number to others and is discarded.
func TestReaderFindsWhatABatchDeletesBesideIt(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		p := newPod("n", "p")
		s := set(t, ix, p, newPod("n", "q"))
		var done atomic.Bool
		var lost atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for !done.Load() {
					now := ix.Snapshot() // as new as the batch allows
					for _, s := range []*Snapshot[*pod]{s, now} {
						if got, _ := s.Get(key("n", "p")); got != p {
							lost.Add(1)
						}
						if _, ok := s.Get(key("n", "other1")); ok {
							lost.Add(1)
						}
					}
				}
			})
		}
		for i := range 1000 {
			b := ix.Batch()
			b.Delete(key("n", "p"))
			for j := range 1 + i%20 {
				_, _, err := b.Set(newPod("n", fmt.Sprint("other", j)))
				require.NoError(t, err)
			}
			if i%2 == 0 {
				for j := range i % 20 {
					b.Delete(key("n", fmt.Sprint("other", j)))
				}
			}
			b.Discard()
			b = ix.Batch()
			b.SetResourceVersion(fmt.Sprint(i + 1))
			b.Commit()
		}
		done.Store(true)
		wg.Wait()
		require.Zero(t, lost.Load())
	})
}

// someKeys are easy to take for each other, or have lengths about which a mistake is likely.
func someKeys(rng *rand.Rand) []types.NamespacedName {
	all := []types.NamespacedName{
		key("", "a"), key("a", "a"), key("a", "b"), key("", "aa"), key("aa", "a"), key("a", "aa"), key("ab", "c"), key("a", "bc"),
		key("", "\x00"), key("\x00", "\x01\x00"), key("\x01", "\x01"), key("", "\x01\x01a"),
	}
	for _, n := range []int{126, 127, 128, 253, 254, 255, 256, 257, 511, 70_000} {
		x := strings.Repeat("x", n)
		all = append(all, key("", x), key("n", x), key(x, "n"), key(x, x[1:]))
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Promise indexer/10
func TestKeysThatAreAlikeAreNotConfused(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		var versions []versioned
		want := map[types.NamespacedName]*pod{}
		for p := range ix.All() {
			want[object.KeyOf(p)] = p
		}
		keys := someKeys(seed(t))
		for round := range 2 {
			for i, k := range keys {
				p := newPod(k.Namespace, k.Name)
				set(t, ix, p)
				want[k] = p
				if (i+round)%7 == 0 {
					b := ix.Batch()
					b.Delete(keys[i/2])
					b.Commit()
					delete(want, keys[i/2])
				}
			}
			now := maps.Clone(want)
			versions = append(versions, versioned{ix.Snapshot(), now})
		}
		for _, v := range versions {
			require.Equal(t, len(v.want), v.Len())
			for _, k := range keys {
				got, ok := v.Get(k)
				p, had := v.want[k]
				require.True(t, ok == had && got == p, "%d, %d bytes", len(k.Namespace), len(k.Name))
			}
		}
		checkDiff(t, versions[0], versions[1])
	})
}
