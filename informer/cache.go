package informer

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"

	"github.com/informerkit/informerkit/internal/object"
)

// Cache is what the users of an informer need of it: to read, to be notified, to
// wait. It cannot stop the informer, nor change what it reads. An [Informer] and a
// [Shared] implement it, so a controller that takes a Cache takes both. Others
// cannot, so that methods can be added; for tests there is package informertest.
//
// The methods are documented at [Informer].
type Cache[T Object] interface {
	Syncable
	Name() string
	HasSynced() bool
	Health() Health

	Snapshot() *indexer.Snapshot[T]
	Lister() Lister[T]
	Find(key types.NamespacedName) (Object, bool)
	Indexer() IndexerView[T]

	AddHandler(h Handler[T], opts ...HandlerOptions) (*Registration, error)
	Events(ctx context.Context) iter.Seq[Event[T]]

	Ready() error
	WaitFor(ctx context.Context, key types.NamespacedName, condition func(obj T, exists bool) bool) (T, error)
	Seen(written metav1.Object) func(met func()) (cancel func())
	WaitForObject(ctx context.Context, written metav1.Object) error
	WaitForResourceVersion(ctx context.Context, resourceVersion string, namespaces ...string) error
	WaitForDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) error

	logger() *slog.Logger
}

// Indexer returns the cache as an indexer that cannot be written to. Indexes may be
// added to it and removed while it is in use.
func (inf *Informer[T]) Indexer() IndexerView[T] { return IndexerView[T]{inf.applier.store} }

// IndexerView is an [indexer.Indexer] that only an informer writes to.
type IndexerView[T Object] struct{ store *indexer.Indexer[T] }

// Snapshot is [Informer.Snapshot].
func (v IndexerView[T]) Snapshot() *indexer.Snapshot[T] { return v.store.Snapshot() }

// Get returns the object with that key. See [indexer.Snapshot.Get].
func (v IndexerView[T]) Get(key types.NamespacedName) (T, bool) { return v.store.Get(key) }

// Len returns the number of objects.
func (v IndexerView[T]) Len() int { return v.store.Len() }

// All iterates over the objects that are in the cache at the time of the call.
func (v IndexerView[T]) All() iter.Seq[T] { return v.store.All() }

// AddIndex registers an index and fills it with the objects in the cache. See
// [indexer.Indexer.AddIndex].
func (v IndexerView[T]) AddIndex(def indexer.IndexDefinition[T]) error { return v.store.AddIndex(def) }

// RemoveIndex removes the index of that name. See [indexer.Indexer.RemoveIndex].
func (v IndexerView[T]) RemoveIndex(name string) error { return v.store.RemoveIndex(name) }

// CheckMutations looks for modified objects, if the options of the indexer say so.
// See [indexer.Indexer.CheckMutations].
func (v IndexerView[T]) CheckMutations() int { return v.store.CheckMutations() }

// EnqueueKeysOf adds the handler of [EnqueueKey] to inf, so that the type need not
// be spelled.
func EnqueueKeysOf[T Object](inf Cache[T], q Adder[types.NamespacedName], opts ...HandlerOptions) (*Registration, error) {
	if object.IsNilPointer(inf) {
		return nil, errNoInformer
	}
	return inf.AddHandler(EnqueueKey[T](q), opts...)
}

// EnqueueOwnersOf adds the handler of [EnqueueOwner] to inf, so that the type need
// not be spelled. It fails if owner has no kind.
func EnqueueOwnersOf[T Object](inf Cache[T], q Adder[types.NamespacedName], owner Owner, opts ...HandlerOptions) (*Registration, error) {
	if object.IsNilPointer(inf) {
		return nil, errNoInformer
	}
	return inf.AddHandler(EnqueueOwner[T](q, owner), opts...)
}

// errNoInformer is for functions that take an informer and got nil.
var errNoInformer = errors.New("informer: the informer is nil; pass one that New, NewNamespaced or For returned")
