package informer

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// The handlers of this file are the last part of the way of an event: from a call
// of OnEvent to a key in a queue, where a worker takes over. They put the same key
// into the queue whatever happened: a worker is level-triggered, that is, it acts
// on the present state in the cache, not on the event, of which it may miss some.

// Adder is the part of a queue that a handler needs. Every queue of package
// workqueue is one for the type of its items, and so is each of its priority
// classes; see [InitialOrResync].
type Adder[K any] interface {
	Add(key K)
}

// EnqueueKey returns a handler that puts the key of each object into q, whatever
// happened to it; nothing has if the informer stopped reading it ([PartRemoved]). See also [EnqueueKeysOf].
func EnqueueKey[T Object](q Adder[types.NamespacedName]) Handler[T] {
	if q == nil {
		return noQueue[T]("EnqueueKey")
	}
	return &enqueuer[T, types.NamespacedName]{q, func(e Event[T], q Adder[types.NamespacedName]) { q.Add(e.Key) }}
}

// enqueuer is a handler that adds keys to a queue for each event that reports a change of
// the object, or a resync.
type enqueuer[T Object, K any] struct {
	q       Adder[K]
	enqueue func(e Event[T], q Adder[K])
}

// OnEvent adds the keys.
func (h *enqueuer[T, K]) OnEvent(e Event[T]) {
	if e.Origin != PartRemoved {
		h.enqueue(e, h.q)
	}
}

// noQueue is the handler of a constructor that got nil for the queue.
func noQueue[T Object](constructor string) Handler[T] {
	return unusable[T]{fmt.Errorf("informer: %s: the queue is nil; make one with workqueue.NewRateLimiting", constructor)}
}

// Owner says which owners [EnqueueOwner] enqueues.
type Owner struct {
	// Kind is the kind of the owner. The version does not matter.
	Kind schema.GroupVersionKind
	// ClusterScoped is for a kind that is in no namespace. Else the owner is in the namespace of the
	// object, as the API demands. [Factory.Discover] reports the scope; package controller asks for it.
	ClusterScoped bool
	// AnyReference enqueues all owners of the kind. Else only the one that controls
	// the object (controller: true) counts, of which there is at most one.
	AnyReference bool
}

// EnqueueOwner returns a handler that puts into q the keys of the owners of the
// object that something happened to. When an owner loses or gains the object, that
// is an event for the owner too, so those before and after an update are enqueued.
// See also [EnqueueOwnersOf].
func EnqueueOwner[T Object](q Adder[types.NamespacedName], owner Owner) Handler[T] {
	switch {
	case q == nil:
		return noQueue[T]("EnqueueOwner")
	case owner.Kind.Kind == "":
		return unusable[T]{errors.New("informer: EnqueueOwner: Owner.Kind is empty; set it to the kind of the owner, such as that of the custom resource")}
	}
	return &enqueuer[T, types.NamespacedName]{q, func(e Event[T], q Adder[types.NamespacedName]) {
		var room [2][1]types.NamespacedName // mostly there is one owner: no allocation
		addEach(q, ownersOf(room[0][:0], e.Old, &owner), ownersOf(room[1][:0], e.New, &owner))
	}}
}

// EnqueueMapped returns a handler that puts into q all keys that keys returns for
// the object that something happened to, for example those of the objects that
// mention it. The keys may be of any type that the queue takes. For an update those
// of the state before count too, so that what is not mentioned any more is looked
// at once more.
//
// Keys is called by the handler, one call at a time, and may read caches.
func EnqueueMapped[T Object, K comparable](q Adder[K], keys func(obj T) []K) Handler[T] {
	switch {
	case q == nil:
		return noQueue[T]("EnqueueMapped")
	case keys == nil:
		return unusable[T]{errors.New("informer: EnqueueMapped: the function is nil; pass one that returns the keys for an object")}
	}
	return &enqueuer[T, K]{q, func(e Event[T], q Adder[K]) {
		var before, now []K
		// In a resync both states are the same object, and of a deletion the final
		// state is enough if there is one: keys is not called for nothing.
		if !object.IsNil(e.Old) && (e.Type != Deleted || object.IsNil(e.New)) && e.Origin != Resync {
			before = keys(e.Old)
		}
		if !object.IsNil(e.New) {
			now = keys(e.New)
		}
		addEach(q, before, now)
	}}
}

// addEach adds the keys for the state before an event and for the one now, each once.
func addEach[K comparable](q Adder[K], before, now []K) {
	for _, key := range before {
		q.Add(key)
	}
	for _, key := range now {
		if !slices.Contains(before, key) {
			q.Add(key)
		}
	}
}

// ownersOf appends the keys of the owners of obj, which may be nil, to keys.
func ownersOf[T Object](keys []types.NamespacedName, obj T, owner *Owner) []types.NamespacedName {
	if object.IsNil(obj) {
		return keys
	}
	for _, ref := range obj.GetOwnerReferences() {
		if owner.matches(&ref) {
			key := types.NamespacedName{Name: ref.Name}
			if !owner.ClusterScoped {
				key.Namespace = obj.GetNamespace()
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// matches reports whether ref is a reference to such an owner.
func (o *Owner) matches(ref *metav1.OwnerReference) bool {
	if ref.Kind != o.Kind.Kind || !o.AnyReference && (ref.Controller == nil || !*ref.Controller) {
		return false
	}
	// Kinds are unique within a group only; versions are forms of the same object.
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == o.Kind.Group
}
