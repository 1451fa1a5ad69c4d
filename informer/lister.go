package informer

import (
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
)

// Lister reads the cache of an informer as client-go's listers do. Each call answers
// from one point in time; for several answers from the same one use
// [Informer.Snapshot]. No call waits for the server or for a change; only the error
// of Get takes a lock, to name the resource. A listing allocates nothing per
// object. The objects are shared and must not be modified.
type Lister[T Object] struct {
	store    *indexer.Indexer[T]
	resource func() schema.GroupResource
}

// Lister returns a view of the cache for reading.
func (inf *Informer[T]) Lister() Lister[T] {
	return Lister[T]{store: inf.applier.store, resource: inf.resource}
}

// Get returns the object with this key. If the cache has none, the error
// satisfies apierrors.IsNotFound, as that of a client would. The namespace of a
// cluster-scoped object is empty.
func (l Lister[T]) Get(key types.NamespacedName) (T, error) {
	obj, ok := l.store.Snapshot().Get(key)
	if !ok {
		// The same error as that of a request, so that code can read from either.
		return obj, apierrors.NewNotFound(l.resource(), key.Name)
	}
	return obj, nil
}

// List yields the objects whose labels match, in no particular order; a nil
// selector matches all.
func (l Lister[T]) List(selector labels.Selector) iter.Seq[T] {
	return l.store.Snapshot().Select(selector)
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
	return l.lister.store.Snapshot().SelectInNamespace(l.namespace, selector)
}
