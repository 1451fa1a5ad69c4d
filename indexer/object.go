package indexer

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Object is what an [Indexer] stores: a pointer to an API type.
type Object = object.Object

// identical reports whether a and b are the same pointer. Stored objects are
// immutable, so two versions of an object are never the same pointer.
func identical[T Object](a, b T) bool { return any(a) == any(b) }

// hasher computes the hashes of one indexer. The seed is random, so that
// object names cannot be chosen to collide.
type hasher struct {
	seed maphash.Seed
	drop uint64 // bits to clear: tests make collisions with it
}

func (h hasher) str(s string) uint64 { return maphash.String(h.seed, s) &^ h.drop }

// key hashes a whole key, for sets that span namespaces.
func (h hasher) key(k types.NamespacedName) uint64 {
	return joinHash(h.str(k.Namespace), h.str(k.Name))
}

// joinHash makes the hash of a key of those of its two parts. The factor keeps
// the result different when the parts change places.
func joinHash(namespace, name uint64) uint64 { return namespace*0x9e3779b97f4a7c15 + name }

// hashValue hashes an index value.
func hashValue[K comparable](h hasher, k K) uint64 {
	return maphash.Comparable(h.seed, k) &^ h.drop
}
