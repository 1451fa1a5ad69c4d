package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
)

// ErrReadOnly is returned by the methods of a cache.Store that write, while the informer
// runs: its cache mirrors the API server's state, from which a write would make it differ.
var ErrReadOnly = errors.New("clientgo: the cache of an informer that runs is read-only: write to the API server, or to an indexer of your own")

// Store is what an [Indexer] reads: an indexer.Indexer or an informer.
type Store[T indexer.Object] interface {
	Snapshot() *indexer.Snapshot[T]
	AddIndex(indexer.IndexDefinition[T]) error
}

// Indexer is an indexer of this library with the methods of cache.Indexer, for
// generated listers and for code that reads an informer's store. All methods may be
// called concurrently; those that read take no lock except to find an index. The
// objects are shared and must not be modified.
//
// The index "namespace" costs no memory, unless its function is not
// cache.MetaNamespaceIndexFunc.
type Indexer[T indexer.Object] struct {
	store Store[T]
	// edit changes the store; nil: it cannot be changed from here.
	edit func(func(*indexer.Batch[T])) error
	// take returns what is stored for an object of a program; nil: itself, if it is a T.
	take   func(any) (T, error)
	refuse sync.Once // the first refusal of a write is logged

	// adding admits one AddIndexers at a time. The program's index functions run while
	// it is held, and those may read, so nothing that reads takes it.
	adding sync.Mutex
	// mu guards indexers. No function of the program and no other lock is called for
	// while it is held. Reading the store takes no lock at all.
	mu       sync.RWMutex
	indexers upstream.Indexers
	// byNamespace is that the index "namespace" is that of the store, and predefined that
	// the program has not added it.
	byNamespace, predefined bool
}

// NewIndexer returns store as client-go's interface. It panics if store is nil. Indexes
// of the store itself answer ByIndex and IndexKeys if their values are strings, but
// not Index, which needs a function that takes any object.
//
// The index "namespace" is there from the beginning, for generated listers.
func NewIndexer[T indexer.Object](store Store[T]) *Indexer[T] {
	if store == nil {
		panic("clientgo: NewIndexer needs a store: an indexer.Indexer or an informer")
	}
	x := newIndexer(store)
	// For Index and GetIndexers only. Look-ups by namespace are answered from the
	// store's own namespaces, see byIndex.
	x.indexers[upstream.NamespaceIndex] = upstream.MetaNamespaceIndexFunc
	x.byNamespace, x.predefined = true, true
	return x
}

// newIndexer is NewIndexer without the index "namespace", as client-go's constructors.
func newIndexer[T indexer.Object](store Store[T]) *Indexer[T] {
	return &Indexer[T]{store: store, indexers: upstream.Indexers{}}
}

// Add stores an object, as long as the informer does not run. While it runs it returns
// [ErrReadOnly], as all methods that write, and the first refusal is logged.
func (x *Indexer[T]) Add(obj any) error {
	stored, err := x.stored(obj)
	if err != nil {
		return err
	}
	var failed error
	return cmp.Or(x.write(func(b *indexer.Batch[T]) {
		_, _, failed = b.Set(stored)
		b.SetResourceVersion(stored.GetResourceVersion())
	}), failed)
}

// Update is [Indexer.Add].
func (x *Indexer[T]) Update(obj any) error { return x.Add(obj) }

// Delete removes the object with the key of obj, which may be an object, a tombstone or a
// cache.ExplicitKey, as long as the informer does not run.
func (x *Indexer[T]) Delete(obj any) error {
	key, err := upstream.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return upstream.KeyError{Obj: obj, Err: err}
	}
	return x.write(func(b *indexer.Batch[T]) { b.Delete(parseKey(key)) })
}

// Replace stores these objects in place of all, as long as the informer does not run.
func (x *Indexer[T]) Replace(objs []any, resourceVersion string) error {
	all := make([]T, 0, len(objs))
	for _, obj := range objs {
		stored, err := x.stored(obj)
		if err != nil {
			return err
		}
		all = append(all, stored)
	}
	var failed error
	return cmp.Or(x.write(func(b *indexer.Batch[T]) {
		_, failed = b.Replace(all)
		b.SetResourceVersion(resourceVersion)
	}), failed)
}

// Bookmark sets the resourceVersion of the store, as long as the informer does not run. It
// panics with [ErrReadOnly] while it does, as it returns no error.
func (x *Indexer[T]) Bookmark(resourceVersion string) {
	if err := x.write(func(b *indexer.Batch[T]) { b.SetResourceVersion(resourceVersion) }); err != nil {
		panic(err)
	}
}

// write changes the store, unless its informer runs.
func (x *Indexer[T]) write(change func(*indexer.Batch[T])) error {
	if x.edit != nil && x.edit(change) == nil {
		return nil
	}
	x.refuse.Do(func() {
		name := "" // of the informer
		if named, ok := x.store.(interface{ Name() string }); ok {
			name = named.Name()
		}
		utilruntime.HandleErrorWithContext(context.Background(), ErrReadOnly, "A write to a cache was refused", "informer", name)
	})
	return ErrReadOnly
}

// stored returns what is stored for an object.
func (x *Indexer[T]) stored(obj any) (T, error) {
	if x.take != nil {
		return x.take(obj)
	}
	typed, ok := obj.(T)
	if !ok {
		return typed, upstream.KeyError{Obj: obj, Err: fmt.Errorf("it is a %T, not a %T", obj, typed)}
	}
	return typed, nil
}

// Resync implements cache.Store and does nothing, as client-go's cache does.
func (x *Indexer[T]) Resync() error { return nil }

// LastStoreSyncResourceVersion returns the resourceVersion that the cache has reached.
func (x *Indexer[T]) LastStoreSyncResourceVersion() string {
	return x.store.Snapshot().ResourceVersion()
}

// List returns all objects.
func (x *Indexer[T]) List() []any {
	snapshot := x.store.Snapshot()
	return collect(snapshot.All(), snapshot.Len())
}

// ListKeys returns the keys of all objects.
func (x *Indexer[T]) ListKeys() []string {
	snapshot := x.store.Snapshot()
	return keys(snapshot.All(), snapshot.Len())
}

// Get returns the object with the key of obj, which may be an object, a tombstone or a
// cache.ExplicitKey.
func (x *Indexer[T]) Get(obj any) (any, bool, error) {
	key, err := upstream.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, upstream.KeyError{Obj: obj, Err: err}
	}
	return x.GetByKey(key)
}

// GetByKey returns the object with a key of the form "namespace/name". The error wraps
// [informer.ErrUnreadable] if the server has an object that cannot be read.
func (x *Indexer[T]) GetByKey(key string) (any, bool, error) {
	parsed := parseKey(key)
	if obj, ok := x.store.Snapshot().Get(parsed); ok {
		return unbox(obj), true, nil
	}
	// An object that cannot be read is not one that does not exist.
	if read, ok := x.store.(interface{ Lister() informer.Lister[T] }); ok && parsed.Name != "" {
		switch obj, err := read.Lister().Get(parsed); {
		case err == nil:
			return unbox(obj), true, nil
		case !apierrors.IsNotFound(err):
			return nil, false, err
		}
	}
	return nil, false, nil
}

// Index returns the objects that share a value of the index with obj.
func (x *Indexer[T]) Index(name string, obj any) ([]any, error) {
	x.mu.RLock()
	// The function is called without the lock: it is the program's, and may read the
	// indexer again.
	fn := x.indexers[name]
	x.mu.RUnlock()
	if fn == nil {
		return nil, missing(name)
	}
	values, err := fn(obj)
	if err != nil {
		return nil, err
	}
	// Almost every index has one value per object. That case needs no set of those
	// seen.
	if len(values) == 1 {
		return x.ByIndex(name, values[0])
	}
	seen := map[types.NamespacedName]bool{}
	var found []any
	snapshot := x.store.Snapshot() // one, so that all values are of the same moment
	for _, value := range values {
		objs, _, err := x.byIndex(snapshot, name, value)
		if err != nil {
			return nil, err
		}
		for o := range objs {
			key := keyOfMeta(o)
			if !seen[key] {
				seen[key] = true
				found = append(found, unbox(o))
			}
		}
	}
	return found, nil
}

// ByIndex returns the objects that have the value in the index.
func (x *Indexer[T]) ByIndex(name, value string) ([]any, error) {
	objs, n, err := x.byIndex(x.store.Snapshot(), name, value)
	if err != nil {
		return nil, err
	}
	return collect(objs, n), nil
}

// IndexKeys returns the keys of the objects that have the value in the index.
func (x *Indexer[T]) IndexKeys(name, value string) ([]string, error) {
	objs, n, err := x.byIndex(x.store.Snapshot(), name, value)
	if err != nil {
		return nil, err
	}
	return keys(objs, n), nil
}

// ListIndexFuncValues returns the values that objects have in the index; none if there
// is no such index.
func (x *Indexer[T]) ListIndexFuncValues(name string) []string {
	snapshot := x.store.Snapshot()
	if x.isByNamespace(name) {
		return slices.Collect(snapshot.Namespaces())
	}
	index, err := indexer.FindIndex[T, string](snapshot, name)
	if err != nil {
		return nil
	}
	return slices.Collect(indexer.IndexValues(snapshot, index))
}

// GetIndexers returns a copy of the index functions.
func (x *Indexer[T]) GetIndexers() upstream.Indexers {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return maps.Clone(x.indexers)
}

// AddIndexers adds indexes, at any time. It fails, and adds none, if one of the names is
// taken, also by an index of the store itself. An object for which a function fails is
// missing from that index only, where client-go panics. A function may read the
// indexer, but must not add indexes to it.
func (x *Indexer[T]) AddIndexers(added upstream.Indexers) error {
	// Two calls with one name must not both pass the check.
	x.adding.Lock()
	defer x.adding.Unlock()
	// All are checked before the first index is added: there is no undo. In a fixed
	// order, so that an error names the same index each time.
	names := slices.Sorted(maps.Keys(added))
	var conflicts []string
	taken, snapshot := x.GetIndexers(), x.store.Snapshot()
	var add []string
	for _, name := range names {
		_, ours := taken[name]
		if x.predefined && native(name, added[name]) { // what informers of client-go are given
			x.predefined = false
			continue
		}
		_, err := snapshot.IndexFailures(name) // fails if the store has no such index
		switch {
		case ours || err == nil:
			conflicts = append(conflicts, name)
		case added[name] == nil:
			return fmt.Errorf("clientgo: the function of the index %q is nil", name)
		default:
			add = append(add, name)
		}
	}
	if len(conflicts) > 0 {
		return fmt.Errorf("indexer conflict: %s", strings.Join(conflicts, ", "))
	}
	for _, name := range add {
		fn := added[name]
		if native(name, fn) {
			x.mu.Lock()
			x.indexers[name], x.byNamespace = fn, true
			x.mu.Unlock()
			continue
		}
		if err := x.store.AddIndex(indexer.NewIndex(name, func(obj T) ([]string, error) { return fn(unbox(obj)) })); err != nil {
			return fmt.Errorf("clientgo: index %q: %w", name, err)
		}
		x.mu.Lock()
		x.indexers[name] = fn
		x.mu.Unlock()
	}
	return nil
}

// byIndex returns the objects that have the value in the index, and how many they are.
// The number is known without counting, so that the callers allocate their slice once.
func (x *Indexer[T]) byIndex(snapshot *indexer.Snapshot[T], name, value string) (iter.Seq[T], int, error) {
	if x.isByNamespace(name) {
		return snapshot.ByNamespace(value), snapshot.NamespaceLen(value), nil
	}
	index, err := indexer.FindIndex[T, string](snapshot, name)
	if err != nil {
		// Also for an index of another value type than string, which client-go's
		// interface cannot ask for.
		return nil, 0, missing(name)
	}
	return indexer.ByIndex(snapshot, index, value), indexer.IndexLen(snapshot, index, value), nil
}

// isByNamespace reports whether an index is answered from the store's namespaces.
func (x *Indexer[T]) isByNamespace(name string) bool {
	if name != upstream.NamespaceIndex {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byNamespace
}

// native reports whether an index is one of namespaces, by client-go's function.
func native(name string, fn upstream.IndexFunc) bool {
	return name == upstream.NamespaceIndex && fn != nil && reflect.ValueOf(fn).Pointer() == reflect.ValueOf(upstream.MetaNamespaceIndexFunc).Pointer()
}

// missing is the error for an index that there is not, in the words that callers of
// client-go may look for.
func missing(name string) error { return fmt.Errorf("Index with name %s does not exist", name) } //nolint:staticcheck // client-go's words

// collect makes the slice that client-go's interface wants, in one allocation.
func collect[T indexer.Object](objs iter.Seq[T], n int) []any {
	list := make([]any, 0, n)
	for obj := range objs {
		list = append(list, unbox(obj))
	}
	return list
}

// keys returns the keys of objects, in client-go's form.
func keys[T indexer.Object](objs iter.Seq[T], n int) []string {
	list := make([]string, 0, n)
	for obj := range objs {
		list = append(list, keyOf(obj))
	}
	return list
}
