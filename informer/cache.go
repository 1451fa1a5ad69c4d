package informer

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue"
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
	AddIndex(def indexer.IndexDefinition[T]) error
	RemoveIndex(name string) error

	AddHandler(h Handler[T], opts ...HandlerOptions) (*Registration, error)
	Events(ctx context.Context) iter.Seq[Event[T]]

	Ready() error
	WaitFor(ctx context.Context, key types.NamespacedName, condition func(obj T, exists bool) bool) (T, error)
	Seen(written metav1.Object) workqueue.Condition
	WaitForObject(ctx context.Context, written metav1.Object) error
	WaitForResourceVersion(ctx context.Context, resourceVersion string, namespaces ...string) error
	WaitForDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) error

	logger() *slog.Logger
	failure() error
}

// AddIndex adds an index to the cache, at any time, and fills it with the objects there.
// See [indexer.Indexer.AddIndex].
func (inf *Informer[T]) AddIndex(def indexer.IndexDefinition[T]) error {
	return inf.applier.store.AddIndex(def)
}

// RemoveIndex removes the index of that name. See [indexer.Indexer.RemoveIndex].
func (inf *Informer[T]) RemoveIndex(name string) error { return inf.applier.store.RemoveIndex(name) }

// EnqueueKeysOf adds the handler of [EnqueueKey] to inf, so that the type need not
// be spelled. With a predicate it is
//
//	inf.AddHandler(informer.When(informer.GenerationChanged[*v1.Foo](), informer.EnqueueKey[*v1.Foo](q)))
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

// Lister reads the cache of an informer as client-go's listers do. Each call answers
// from one point in time; for several answers from the same one use
// [Informer.Snapshot]. No call waits for the server or for a change; only the error
// of Get takes a lock, to name the resource. A listing allocates nothing per
// object. The objects are shared and must not be modified.
type Lister[T Object] struct {
	inf *Informer[T]
}

// Lister returns a view of the cache for reading.
func (inf *Informer[T]) Lister() Lister[T] {
	return Lister[T]{inf}
}

// Get returns the object with this key. If the cache has none, the error
// satisfies apierrors.IsNotFound, as that of a client would, or wraps [ErrUnreadable]. The
// namespace of a cluster-scoped object is empty.
func (l Lister[T]) Get(key types.NamespacedName) (T, error) {
	obj, exists, err := l.inf.lookUp(key)
	if err == nil && !exists {
		// The same error as that of a request, so that code can read from either.
		err = apierrors.NewNotFound(l.inf.resource(), key.Name)
	}
	return obj, err
}

// lookUp returns the object with this key. If the cache has none, either err says why it may be
// unreadable, or it did not exist at some moment of the call.
func (inf *Informer[T]) lookUp(key types.NamespacedName) (obj T, exists bool, err error) {
	for {
		snap := inf.Snapshot()
		if obj, exists = snap.Get(key); exists {
			return obj, true, nil
		}
		if s := inf.applier.progress.source(key.Namespace); s != nil {
			if err := inf.unreadableError(s, key); err != nil {
				return obj, false, err
			}
		}
		// An object that became readable in between is in the next snapshot.
		if inf.Snapshot() == snap {
			return obj, false, nil
		}
	}
}

// List yields the objects whose labels match, in no particular order; a nil
// selector matches all. Unreadable objects ([ErrUnreadable]) are left out.
func (l Lister[T]) List(selector labels.Selector) iter.Seq[T] {
	return l.inf.Snapshot().Select(selector)
}

// Namespace returns a lister of one namespace.
func (l Lister[T]) Namespace(namespace string) NamespaceLister[T] {
	return NamespaceLister[T]{lister: l, namespace: namespace}
}

// NamespaceLister is a [Lister] of the objects of one namespace.
type NamespaceLister[T Object] struct {
	lister    Lister[T]
	namespace string
}

// Get is [Lister.Get] in this namespace.
func (l NamespaceLister[T]) Get(name string) (T, error) {
	return l.lister.Get(types.NamespacedName{Namespace: l.namespace, Name: name})
}

// List is [Lister.List] in this namespace. It takes time in proportion to the
// objects of the namespace, not to those of the cache.
func (l NamespaceLister[T]) List(selector labels.Selector) iter.Seq[T] {
	return l.lister.inf.Snapshot().SelectInNamespace(l.namespace, selector)
}

// Events returns the events as a sequence to range over, in the goroutine of the
// caller: first the objects in the cache, then what changes, as a handler with
// zero options would get them. Each range statement starts from the beginning. It
// ends when ctx does, when the informer stops, or with a break; then nothing is
// left behind.
//
//	for e := range pods.Events(ctx) {
//		fmt.Println(e.Type, e.Key)
//	}
//
// A loop that takes long is made to catch up like a slow handler.
func (inf *Informer[T]) Events(ctx context.Context) iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		r := newRunner[T](nil, HandlerOptions{Name: "Events"}, inf)
		// After a break yield must not be called again.
		r.handler = HandlerFunc[T](func(e Event[T]) {
			if ctx.Err() != nil || inf.applier.progress.stopped.Load() || !yield(e) {
				r.stats.stopped.Store(true)
			}
		})
		// It runs here, not in work: to be woken is to receive.
		appended := make(chan struct{}, 1)
		if !r.join(inf.applier.events, defaultBound, func() {
			select {
			case appended <- struct{}{}:
			default: // it is awake, or about to be
			}
		}, 0) {
			return
		}
		// Also after a panic of the loop's body: the log must not wait for this runner.
		defer r.cleanUp()
		for ctx.Err() == nil {
			switch r.advance() {
			case eventlog.Closed:
				return
			case eventlog.Parked:
				select {
				case <-appended:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}
