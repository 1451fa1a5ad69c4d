package indexer

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// watchOrder runs write with each generation up to last, while a reader calls seen for what
// it finds under number 0, in the order in which [Snapshot.at] looks: seen gets what it has
// read first, and the generation that it has read after that. No generation may be lower
// than that of what was read.
func watchOrder(t *testing.T, last uint64, write func(w *lookupWriter, gen uint64), seen func(*lookup) (of uint64)) {
	t.Helper()
	w := &lookupWriter{lookup: emptyLookup, removed: &removal{}, direct: true}
	write(w, 1)
	var table atomic.Pointer[lookup]
	table.Store(w.lookup)
	var done atomic.Bool
	var early atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for l := table.Load(); !done.Load(); {
			if of := seen(l); l.chunks[0][0].gen.Load() < of {
				early.Store(of)
				return
			}
		}
	})
	for gen := uint64(2); gen <= last && early.Load() == 0; gen++ {
		write(w, gen)
		if gen%1024 == 0 {
			runtime.Gosched() // for a single core
		}
	}
	done.Store(true)
	wg.Wait()
	require.Zero(t, early.Load(), "seen before its generation was stored")
	require.Same(t, &table.Load().chunks[0][0], &w.chunks[0][0], "the reader looked at the table in use")
}

// keysOf returns the keys of eight numbers, of which the first has the generation for a name.
func keysOf(gen uint64) *keys {
	return (*keys)(nil).with(0, &types.NamespacedName{Namespace: "n", Name: strconv.FormatUint(gen, 10)}, false, false)
}

// Keys come with the first add, and other ones with the next add or remove of a neighbour.
func TestGenerationIsStoredBeforeKeys(t *testing.T) {
	t.Parallel()
	const last = 1 << 17
	of := func(l *lookup) uint64 {
		gen, _ := strconv.ParseUint(l.chunks[0][0].keys.Load().key(0).Name, 10, 64)
		return gen
	}
	for name, write := range map[string]func(w *lookupWriter, gen uint64){
		"add":    func(w *lookupWriter, gen uint64) { w.add(gen<<32, gen, 0, 0, keysOf(gen), nil); w.dropCell(gen << 32) },
		"remove": func(w *lookupWriter, gen uint64) { w.addAndRemove(gen, keysOf(gen)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watchOrder(t, last, write, of)
		})
	}
}

// dropCell takes a cell out again without a change of keys.
func (w *lookupWriter) dropCell(h uint64) {
	mask := uint64(len(w.cells) - 1)
	for p := h >> (w.shift & 63); ; p++ {
		if at := &w.cells[p&mask]; at.Load() == cellOf(h, 0) {
			at.Store(0)
			w.used--
			w.live--
			return
		}
	}
}

// addAndRemove changes the keys by remove only.
func (w *lookupWriter) addAndRemove(gen uint64, keys *keys) {
	if gen == 1 {
		w.add(0, gen, 0, 0, keys, nil)
		return
	}
	w.remove(0, gen, 0, keys)
	w.put(cellOf(0, 0))
}

func TestGenerationIsStoredBeforeAnObject(t *testing.T) {
	t.Parallel()
	const last = 1 << 17
	objects := make([]uint64, last+1) // each has its own generation
	write := func(w *lookupWriter, gen uint64) {
		if gen == 1 {
			w.add(0, gen, 0, 0, keysOf(gen), nil)
		}
		objects[gen] = gen
		w.set(gen, 0, unsafe.Pointer(&objects[gen]))
	}
	watchOrder(t, last, write, func(l *lookup) uint64 {
		return *(*uint64)(atomic.LoadPointer(&l.chunks[0][0].objects[0]))
	})
}

// A reader that finds no keys takes that for an answer if the generation is not too high.
func TestTableThatIsReplacedIsUnreadableBeforeItIsEmpty(t *testing.T) {
	t.Parallel()
	keys := keysOf(1)
	var table atomic.Pointer[latest]
	next := func() *lookupWriter {
		w := &lookupWriter{lookup: emptyLookup, direct: true}
		w.change(1, 0).share(0, keys)
		table.Store(&w.chunks[0][0])
		return w
	}
	w := next()
	var done, wrong atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			l := table.Load()
			if l.keys.Load() == nil && l.gen.Load() != unreadable {
				wrong.Store(true)
				return
			}
		}
	})
	for range 1 << 16 {
		w.extend(uint32(w.room))
		w = next()
	}
	done.Store(true)
	wg.Wait()
	require.False(t, wrong.Load())
}

// A reader of the published snapshot looks for what a batch deletes, while the batch gives
// its number to others and is discarded, or grows and shrinks the table meanwhile.
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
					now := ix.Snapshot() // as new as the batch allows: each changes the table once
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
			b = ix.Batch() // makes what was restored readable again
			b.SetResourceVersion(fmt.Sprint(i + 1))
			b.Commit()
		}
		done.Store(true)
		wg.Wait()
		require.Zero(t, lost.Load())
	})
}

// As a reader finds it that has read the cell just before the object was removed.
func TestNumberWithoutKeysHasNoObject(t *testing.T) {
	t.Parallel()
	w := &lookupWriter{lookup: emptyLookup, removed: &removal{}, direct: true}
	const h = 1 << 63
	w.add(h, 1, 0, 0, keysOf(1), nil)
	w.set(1, 0, unsafe.Pointer(new(int)))
	key := keysOf(1).key(0)
	number, object, none := w.lookup.search(&key, h, 1)
	require.True(t, number == 0 && object != nil && !none)
	w.change(2, 0).share(0, nil)
	_, object, none = w.lookup.search(&key, h, 2)
	require.True(t, object == nil && !none, "only the array can tell")
}
