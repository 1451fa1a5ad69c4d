package clientgo

import (
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
)

// View reads the cache of an informer of client-go with the methods of
// [informer.Lister], for a controller that has moved over before one of its informers
// has. Its methods may be called concurrently and cost what client-go's do: a lock, and
// a copy of the list. It reads the indexer at each call, and keeps nothing of it.
type View[T informer.Object] struct {
	store    upstream.Indexer
	resource schema.GroupResource
}

// NewView returns a view of an informer's indexer, GetIndexer(). T is the type of its
// objects. The resource is for the errors of Get. A nil store panics.
func NewView[T informer.Object](store upstream.Indexer, resource schema.GroupResource) View[T] {
	if store == nil {
		panic("clientgo: NewView needs the indexer of an informer, GetIndexer()")
	}
	return View[T]{store: store, resource: resource}
}

// Get returns the object with this key. If the cache has none, the error satisfies
// apierrors.IsNotFound.
func (v View[T]) Get(key types.NamespacedName) (T, error) {
	var none T
	// Cluster-scoped objects have their name alone for a key, as in client-go.
	found, ok, err := v.store.GetByKey(indexer.FormatKey(key))
	if err != nil {
		return none, err
	}
	if !ok {
		return none, apierrors.NewNotFound(v.resource, key.Name)
	}
	obj, ok := found.(T)
	if !ok {
		return none, fmt.Errorf("clientgo: the store has a %T where a %T is expected", found, none)
	}
	return obj, nil
}

// List iterates over the objects whose labels match; a nil selector matches all. It
// skips objects of other types than T.
func (v View[T]) List(selector labels.Selector) iter.Seq[T] {
	return v.matching(v.store.List, selector)
}

// ListNamespace is List within one namespace.
func (v View[T]) ListNamespace(namespace string, selector labels.Selector) iter.Seq[T] {
	return v.matching(func() []any {
		objs, err := v.store.ByIndex(upstream.NamespaceIndex, namespace)
		// Generated informers have it, one of cache.NewSharedInformer has not. Without
		// it the namespace is found by a full scan.
		if err != nil { // no such index
			objs = nil
			for _, obj := range v.store.List() {
				if o, ok := obj.(T); ok && o.GetNamespace() == namespace {
					objs = append(objs, o)
				}
			}
		}
		return objs
	}, selector)
}

// matching filters what list returns. It is called when the iteration begins, so that a
// sequence that is kept shows the cache of that moment. The labels are those of the
// object in the store, so none is copied.
func (v View[T]) matching(list func() []any, selector labels.Selector) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, found := range list() {
			obj, ok := found.(T)
			if ok && (selector == nil || selector.Matches(labels.Set(obj.GetLabels()))) && !yield(obj) {
				return
			}
		}
	}
}
