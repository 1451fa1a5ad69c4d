package sharding

import (
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
)

// Key is what the queue of [Ranges] holds: the key of an object, and the part that the
// object is in. The part is not looked up later, as the object may be gone by then. Objects
// that have one name after each other have different keys, unless the hash is that of the namespace.
type Key struct {
	types.NamespacedName
	// Part is the index of the part.
	Part int
}

// KeyOf returns the key of one of the objects that are shared.
func (r *Ranges) KeyOf(obj metav1.Object) Key {
	return Key{types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, r.partOfHash(r.hashKey.Of(obj))}
}

// partOfHash returns the index of the part whose range has a hash.
func (r *Ranges) partOfHash(hash uint64) int {
	// The ranges of SplitHashes begin at the integers below the quotients i·2^64/n, so a
	// hash at the very end of a range may be one further than this product says.
	part, _ := bits.Mul64(hash, uint64(len(r.ranges)))
	i := int(part)
	if i+1 < len(r.ranges) && r.ranges[i+1].Contains(hash) {
		i++
	}
	return i
}

// EnqueueOwner returns a handler that adds the keys of the owners of an object to r, like
// [informer.EnqueueOwner]: for the objects that belong to those that are shared. They must
// be in the cache of the replica that has their owner: with [HashOwner], or with
// [HashNamespace] for both.
func EnqueueOwner[T informer.Object](r *Ranges, owner informer.Owner) informer.Handler[T] {
	if owner.Kind.Kind == "" {
		return informer.EnqueueOwner[T](noAdder{}, owner) // the error is the same
	}
	return informer.EnqueueMapped(r, func(obj T) (keys []Key) {
		for _, ref := range obj.GetOwnerReferences() {
			if !refersTo(&ref, &owner) {
				continue
			}
			// All that hashes need of an object, and all that a reference says of it.
			of := metav1.ObjectMeta{Name: ref.Name, UID: ref.UID}
			if !owner.ClusterScoped {
				of.Namespace = obj.GetNamespace()
			}
			keys = append(keys, r.KeyOf(&of))
		}
		return keys
	})
}

// noAdder is a queue that nothing is added to.
type noAdder struct{}

func (noAdder) Add(types.NamespacedName) {}

// refersTo reports whether a reference is to such an owner. Kinds are unique within a
// group, whatever the version.
func refersTo(ref *metav1.OwnerReference, owner *informer.Owner) bool {
	if ref.Kind != owner.Kind.Kind || !owner.AnyReference && (ref.Controller == nil || !*ref.Controller) {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == owner.Kind.Group
}
