package indexer

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// The errors of wrong arguments.
var (
	errInvalidObject = errors.New("indexer: invalid object")
	errBatchEnded    = errors.New("indexer: batch has been committed or discarded; start another with Batch")
	errIndexExists   = errors.New("indexer: an index of this name is registered already")
	errIndexNotFound = errors.New("indexer: index is not registered; pass it to New or AddIndex")
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

	// Logger gets index functions that fail, once a minute, and objects that were mutated. The
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
	// writer is held for a whole batch, including its index functions. Readers never
	// take it.
	writer sync.Mutex
	// current is stored with writer held. The atomic store also publishes all memory
	// that the batch wrote: a reader that loads the new pointer sees complete nodes.
	current   atomic.Pointer[Snapshot[T]]
	shared    *shared
	mutations *detector[T] // nil if off; used with writer held
}

// shared is what all snapshots of one indexer have in common. Its pointer says whether two
// snapshots are of one indexer.
type shared struct {
	seed      maphash.Seed // random, so that names cannot be chosen to collide
	drop      uint32       // bits of hashes to clear: tests make collisions with it
	log       *slog.Logger
	maxValues int

	failing atomic.Bool // failures has some that were not logged

	mu       sync.Mutex
	scanned  map[string]bool // names of the indexes that were queried without being registered
	failures map[problem]*occurrences
}

// problem is what goes wrong with objects; index is empty if that is not about an index.
type problem struct{ text, index string }

// occurrences are the objects that have a problem, since it was logged last.
type occurrences struct {
	objects int
	key     types.NamespacedName // of the first
	err     error
	logged  time.Time
}

// failuresEvery is the least time between two lines about one problem.
const failuresEvery = time.Minute

// noteFailure notes a failure of a user's function while the writer lock is held. It does not log: a log may be slow,
// and write to the indexer.
func (sh *shared) noteFailure(p problem, key types.NamespacedName, err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	f := sh.failures[p]
	if f == nil {
		f = &occurrences{}
		sh.failures[p] = f
	}
	if f.objects++; f.objects == 1 {
		f.key, f.err = key, err
	}
	sh.failing.Store(true)
}

// logFailures logs what was noted: a line per problem, once a minute. It is called without the writer lock.
func (sh *shared) logFailures() {
	if !sh.failing.Load() {
		return
	}
	now, due := time.Now(), map[problem]occurrences{}
	sh.mu.Lock()
	sh.failing.Store(false)
	for p, f := range sh.failures {
		switch {
		case f.objects == 0:
		case !f.logged.IsZero() && now.Sub(f.logged) < failuresEvery:
			sh.failing.Store(true)
		default:
			due[p] = *f
			*f = occurrences{logged: now}
		}
	}
	sh.mu.Unlock()
	for p, f := range due {
		log := sh.log
		if p.index != "" {
			log = log.With("index", p.index)
		}
		log.Warn("indexer: "+p.text, "failures", f.objects, "object", f.key.String(), "error", f.err)
	}
}

// firstScan reports whether the index of that name is queried without being registered for the first time.
func (sh *shared) firstScan(name string) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	first := !sh.scanned[name]
	sh.scanned[name] = true
	return first
}

// hash returns the hash of a key or an index value.
func hash[K comparable](sh *shared, k K) uint32 {
	return uint32(maphash.Comparable(sh.seed, k)) &^ sh.drop
}

// New returns an empty indexer. It fails if two indexes have the same name, if
// one is nil or has no name or no function, and if options are negative or
// contradict each other.
func New[T Object](o Options[T]) (*Indexer[T], error) {
	if o.MaxIndexValues < 0 {
		return nil, fmt.Errorf("indexer: MaxIndexValues is %d, must not be negative", o.MaxIndexValues)
	}
	sh := &shared{
		seed:      maphash.MakeSeed(),
		log:       cmp.Or(o.Logger, slog.Default()),
		maxValues: cmp.Or(o.MaxIndexValues, defaultMaxIndexValues),
		scanned:   map[string]bool{},
		failures:  map[problem]*occurrences{},
	}
	mutations, err := newDetector[T](o.Mutations, sh)
	if err != nil {
		return nil, err
	}
	ix := &Indexer[T]{shared: sh, mutations: mutations}
	// There is a snapshot from the start, so that readers never have to check for nil.
	ix.current.Store(&Snapshot[T]{shared: sh})
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

// All iterates over the objects that are stored at the time of the call.
func (ix *Indexer[T]) All() iter.Seq[T] { return ix.Snapshot().All() }

// AddIndex registers an index and fills it with the stored objects. It may be
// called while the indexer is in use, but not by the goroutine of a running
// batch. Most of the work is done on a snapshot; writers wait only while the
// index catches up with the changes since then. Snapshots taken before do not
// have the index. It fails if the name is taken.
func (ix *Indexer[T]) AddIndex(def IndexDefinition[T]) error {
	if object.IsNilPointer(def) { // also what a variable that was never assigned becomes
		return errors.New("indexer: index is nil; make one with NewIndex")
	}
	if err := def.check(); err != nil {
		return err
	}
	// The first check is made without the lock. It saves the work below in the common
	// case of a duplicate, but only the second check, under the lock, decides.
	built := ix.Snapshot()
	if built.find(def.Name()) >= 0 {
		return fmt.Errorf("%w: %q", errIndexExists, def.Name())
	}
	// The table is reachable from this goroutine only until the snapshot with it is
	// stored, so it can be filled without the lock. A snapshot cannot change meanwhile.
	e := pmap.NewEdit()
	t := follow(e, def.newTable(ix.shared), &Snapshot[T]{}, built)

	defer ix.shared.logFailures() // without the lock
	ix.writer.Lock()
	defer ix.writer.Unlock()
	// From here on no batch can commit. What has been committed since built was taken is
	// a difference of snapshots, and costs what has changed, not what is stored.
	cur := ix.Snapshot()
	if cur.find(def.Name()) >= 0 {
		return fmt.Errorf("%w: %q", errIndexExists, def.Name())
	}
	t = follow(e, t, built, cur)
	next := *cur
	// The array of the slice belongs to snapshots that readers hold, hence Clip: an append
	// in place could write into an array that another snapshot shares.
	next.tables = append(slices.Clip(cur.tables), t)
	ix.current.Store(&next)
	return nil
}

// follow brings a table from the state from to the state to.
func follow[T Object](e pmap.Edit, t table[T], from, to *Snapshot[T]) table[T] {
	// An index is about numbers. That one may have gone to another object makes no
	// difference to it.
	diffRecords(from, to, func(number uint32, _, now *record[T]) bool {
		if now == nil {
			t = t.delete(e, number)
		} else {
			t = t.set(e, number, now.key, now.obj)
		}
		return true
	})
	return t
}

// RemoveIndex removes the index of that name, waiting for a running batch to end.
// Its memory is released with the last snapshot that has it. It fails if there is none.
func (ix *Indexer[T]) RemoveIndex(name string) error {
	ix.writer.Lock()
	defer ix.writer.Unlock()
	cur := ix.Snapshot()
	i := cur.find(name)
	if i < 0 {
		return fmt.Errorf("%w: %q", errIndexNotFound, name)
	}
	next := *cur
	next.tables = slices.Delete(slices.Clone(cur.tables), i, i+1)
	ix.current.Store(&next)
	return nil
}
