package informer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Adder is the part of a queue that a handler needs. Every queue of package
// workqueue whose items are types.NamespacedName is one, and so is each class of
// such a queue; see [Background].
type Adder interface {
	Add(types.NamespacedName)
}

// EnqueueKey returns a handler that puts the key of each object into q,
// whatever happened to it.
func EnqueueKey[T Object](q Adder) Handler[T] {
	return HandlerFunc[T](func(e Event[T]) { q.Add(e.Key) })
}

// EnqueueOwner returns a handler that puts into q the key of the object which
// controls the one that something happened to, if its group and kind are those
// of owner; the version does not matter. When control passes from one owner to
// another, both are enqueued. The owner is taken to be in the namespace of the
// object, as it must be unless it is cluster-scoped: see [EnqueueClusterOwner].
func EnqueueOwner[T Object](q Adder, owner schema.GroupVersionKind) Handler[T] {
	return enqueueOwner[T](q, owner.GroupKind(), false)
}

// EnqueueClusterOwner is [EnqueueOwner] for owners that are in no namespace.
func EnqueueClusterOwner[T Object](q Adder, owner schema.GroupVersionKind) Handler[T] {
	return enqueueOwner[T](q, owner.GroupKind(), true)
}

func enqueueOwner[T Object](q Adder, owner schema.GroupKind, cluster bool) Handler[T] {
	ownerOf := func(obj T) (types.NamespacedName, bool) {
		if object.IsNil(obj) {
			return types.NamespacedName{}, false
		}
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || ref.Kind != owner.Kind {
			return types.NamespacedName{}, false
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != owner.Group {
			return types.NamespacedName{}, false
		}
		key := types.NamespacedName{Name: ref.Name}
		if !cluster {
			key.Namespace = obj.GetNamespace()
		}
		return key, true
	}
	return HandlerFunc[T](func(e Event[T]) {
		before, had := ownerOf(e.Old)
		now, has := ownerOf(e.New)
		if had {
			q.Add(before)
		}
		if has && (!had || now != before) {
			q.Add(now)
		}
	})
}
