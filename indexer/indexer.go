package indexer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// Errors for wrong arguments; test for them with errors.Is.
var (
	// ErrInvalidObject is wrapped by the error of a write whose object cannot be
	// stored: it is nil, or it has no name. The API server resolves generateName, so
	// store what it returned.
	ErrInvalidObject = errors.New("indexer: invalid object")
	// ErrBatchEnded is returned by a write to a batch after Commit or Discard.
	ErrBatchEnded = errors.New("indexer: batch has been committed or discarded; start another with Batch")
	// ErrIndexExists is returned when an index of that name is registered already.
	ErrIndexExists = errors.New("indexer: an index of this name is registered already")
	// ErrIndexNotFound is returned when an index is not registered.
	ErrIndexNotFound = errors.New("indexer: index is not registered; pass it to New or AddIndex")
)

// The ways in which an object can be invalid.
var (
	errNilObject = fmt.Errorf("%w: object is nil", ErrInvalidObject)
	errNoName    = fmt.Errorf("%w: object has no metadata.name", ErrInvalidObject)
	errLongKey   = fmt.Errorf("%w: metadata.namespace and metadata.name are longer than %d bytes", ErrInvalidObject, maxKey)
)

// Options configure an [Indexer]. The zero value is ready to use: a store without
// indexes.
type Options[T Object] struct {
	// Indexes are kept up to date from the start. More can be added while the
	// indexer is in use, see [Indexer.AddIndex].
	Indexes []IndexDefinition[T]

	// MaxIndexValues is how many values one index may have for one object
	// before that object is left out of that index; 0 means 10,000.
	MaxIndexValues int

	// Logger gets index functions that fail and objects that were mutated. The
	// default is slog.Default() at the time of New; slog.New(slog.DiscardHandler)
	// silences it.
	Logger *slog.Logger

	// Mutations switches the detection of mutated objects on.
	Mutations MutationOptions
}

// A function that returns thousands of values for one object is usually a mistake, and
// each value costs a group in the index. The limit keeps such a mistake from taking the
// memory.
const defaultMaxIndexValues = 10_000

// Indexer is an indexed store of the objects of one resource.
//
// One goroutine at a time writes, through a [Batch]. Any number read, and
// readers never lock and never wait: they load one pointer to an immutable
// [Snapshot]. All methods may be called from any goroutine.
//
// Objects are shared with all readers: treat what you get as immutable, and do
// not change an object after Set. DeepCopy before writing.
type Indexer[T Object] struct {
	// writer is held for a whole batch, including its index functions and the deep
	// copies of the detector. Readers never take it.
	writer sync.Mutex
	// lookup is used with writer held.
	lookup lookupWriter
	// current is stored with writer held. The atomic store also publishes all memory
	// that the batch wrote: a reader that loads the new pointer sees complete nodes.
	current atomic.Pointer[Snapshot[T]]
	// shared is set by New and its pointer never changes. Two snapshots with the same
	// pointer have the same hash seed, which lets Diff compare their tries node by node.
	shared *shared[T]
}

// shared is what all snapshots of one indexer have in common.
type shared[T Object] struct {
	hasher    hasher
	log       *slog.Logger
	maxValues int
	direct    bool                     // T is a pointer, and not an interface
	mutations *detector[T]             // nil if off; used under the writer lock only
	scanned   atomic.Pointer[sync.Map] // names of the indexes that were queried without being registered; nil: none
}

// noteScan notes that an index was queried without being registered, and reports whether that
// is the first time.
func (sh *shared[T]) noteScan(name string) bool {
	if sh.scanned.Load() == nil {
		sh.scanned.CompareAndSwap(nil, new(sync.Map))
	}
	_, before := sh.scanned.Load().LoadOrStore(name, true)
	return !before
}

// warnChanged logs that the indexes are searched for an object, and the names of those that did not
// have it where its values are now. There may be none: it may have fewer values than it had.
func (sh *shared[T]) warnChanged(obj T, indexes ...string) {
	sh.log.Warn("indexer: an object was changed after it was stored, or an index function is not a function of the object",
		"object", object.KeyOf(obj).String(), "indexes", indexes)
}

// pointer returns the object as a plain pointer, or nil if it is none.
func (sh *shared[T]) pointer(obj T) unsafe.Pointer {
	if !sh.direct {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&obj))
}

// New returns an empty indexer. It fails if two indexes have the same name, if
// one is nil or has no name or no function, and if options are negative or
// contradict each other.
func New[T Object](o Options[T]) (*Indexer[T], error) {
	if o.MaxIndexValues < 0 {
		return nil, fmt.Errorf("indexer: MaxIndexValues is %d, must not be negative", o.MaxIndexValues)
	}
	sh := &shared[T]{hasher: hasher{seed: maphash.MakeSeed()}, log: o.Logger, maxValues: o.MaxIndexValues, direct: reflect.TypeFor[T]().Kind() == reflect.Pointer}
	if sh.log == nil {
		sh.log = slog.Default()
	}
	if sh.maxValues == 0 {
		sh.maxValues = defaultMaxIndexValues
	}
	// The options are checked before anything is registered: an indexer that New returns
	// is complete.
	var err error
	if sh.mutations, err = newDetector[T](o.Mutations, sh.log); err != nil {
		return nil, err
	}
	ix := &Indexer[T]{shared: sh, lookup: lookupWriter{lookup: emptyLookup, removed: &removal{}, direct: sh.direct}}
	// There is a snapshot from the start, so that readers never have to check for nil.
	ix.current.Store(&Snapshot[T]{shared: sh, lookup: emptyLookup, removed: ix.lookup.removed})
	for _, def := range o.Indexes {
		if err := ix.AddIndex(def); err != nil {
			return nil, err
		}
	}
	return ix, nil
}

// Snapshot returns the current state. It costs one atomic load. The snapshot
// stays valid and never changes.
func (ix *Indexer[T]) Snapshot() *Snapshot[T] { return ix.current.Load() }

// Get returns the object with that key. See [Snapshot.Get].
func (ix *Indexer[T]) Get(key types.NamespacedName) (T, bool) { return ix.Snapshot().Get(key) }

// Len returns the number of objects.
func (ix *Indexer[T]) Len() int { return ix.Snapshot().Len() }

// All iterates over the objects that are stored at the time of the call.
func (ix *Indexer[T]) All() iter.Seq[T] { return ix.Snapshot().All() }

// ByNamespace iterates over the objects of a namespace, as of the call.
func (ix *Indexer[T]) ByNamespace(namespace string) iter.Seq[T] {
	return ix.Snapshot().ByNamespace(namespace)
}

// ResourceVersion returns the resourceVersion of the current snapshot.
func (ix *Indexer[T]) ResourceVersion() string { return ix.Snapshot().ResourceVersion() }

// AddIndex registers an index and fills it with the stored objects. It may be
// called while the indexer is in use, but not by the goroutine of a running
// batch. Most of the work is done on a snapshot; writers wait only while the
// index catches up with the changes since then. Snapshots taken before do not
// have the index. It fails with [ErrIndexExists] if the name is taken.
func (ix *Indexer[T]) AddIndex(def IndexDefinition[T]) error {
	if isNilDefinition(def) {
		return errors.New("indexer: index is nil; make one with NewIndex")
	}
	if err := def.check(); err != nil {
		return err
	}
	// The first check is made without the lock. It saves the work below in the common
	// case of a duplicate, but only the second check, under the lock, decides.
	built := ix.Snapshot()
	if built.find(def.Name()) >= 0 {
		return fmt.Errorf("%w: %q", ErrIndexExists, def.Name())
	}
	// The table is reachable from this goroutine only until the snapshot with it is
	// stored, so it can be filled without the lock. A snapshot cannot change meanwhile.
	t := def.newTable(ix.shared)
	gen := built.gen + 1
	t = follow(t, gen, &Snapshot[T]{shared: ix.shared}, built)

	ix.writer.Lock()
	defer ix.writer.Unlock()
	// From here on no batch can commit. What has been committed since built was taken is
	// a difference of snapshots, and costs what has changed, not what is stored.
	cur := ix.Snapshot()
	if cur.find(def.Name()) >= 0 {
		return fmt.Errorf("%w: %q", ErrIndexExists, def.Name())
	}
	// The generation says which batch may edit a node in place. It must exceed that of
	// every published node, and the next batch counts up from it: it then copies the
	// nodes of this table, which readers can see by then.
	gen = max(gen, ix.lookup.gen+1)
	ix.lookup.gen = gen
	t = follow(t, gen, built, cur)
	next := *cur
	next.gen = gen
	// A new slice: the one of cur belongs to snapshots that readers hold. An append to
	// it could write into an array that another snapshot shares.
	next.tables = append(append(make([]table[T], 0, len(cur.tables)+1), cur.tables...), t)
	ix.lookup.signatures = nil // they say nothing of the values in this index
	ix.current.Store(&next)
	return nil
}

// follow brings a table from the state from to the state to.
func follow[T Object](t table[T], gen uint64, from, to *Snapshot[T]) table[T] {
	// An index is about numbers. That one may have gone to another object makes no
	// difference to it.
	pmap.DiffArrays(from.objs, to.objs, func(number uint32, d *pmap.ArrayDelta[T, keys]) bool {
		before, after := entry[T]{d.Old, d.HasOld}, entry[T]{d.New, d.HasNew}
		if before.ok && after.ok && identical(before.obj, after.obj) {
			return true
		}
		if after.ok {
			t.evaluate(after.obj)
		}
		var ok bool
		if t, _, ok = t.change(gen, number, before, after); !ok {
			to.shared.warnChanged(before.obj, t.definition().Name())
			t = t.repair(gen, number, before, after)
		}
		return true
	})
	return t
}

// RemoveIndex removes the index of that name, waiting for a running batch to end.
// Its memory is released with the last snapshot that has it. It fails with
// [ErrIndexNotFound] if there is none.
func (ix *Indexer[T]) RemoveIndex(name string) error {
	ix.writer.Lock()
	defer ix.writer.Unlock()
	cur := ix.Snapshot()
	i := cur.find(name)
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrIndexNotFound, name)
	}
	// The generation stays: no node is made here, and every published node is already
	// older than the next batch.
	next := *cur
	next.tables = append(append(make([]table[T], 0, len(cur.tables)-1), cur.tables[:i]...), cur.tables[i+1:]...)
	ix.lookup.signatures = nil // they are also of the values in this index
	ix.current.Store(&next)
	return nil
}
