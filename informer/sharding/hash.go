package sharding

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HashRange is a range of the hashes of a [HashKey], from First to Last, both included:
// the end of the last one, 2^64, would not fit into 64 bits. Ranges are compared with ==.
type HashRange struct{ First, Last uint64 }

// Contains reports whether hash is in the range.
func (r HashRange) Contains(hash uint64) bool { return r.First <= hash && hash <= r.Last }

// String returns both ends, such as "0x0000000000000000-0x7fffffffffffffff".
func (r HashRange) String() string { return fmt.Sprintf("0x%016x-0x%016x", r.First, r.Last) }

// SplitHashes returns n ranges that cover all hashes, in their order; their sizes differ
// by at most 1. An n below 1 counts as 1.
func SplitHashes(n int) []HashRange {
	count := uint64(max(n, 1))
	ranges := make([]HashRange, count)
	for i := range ranges {
		// The quotient of i·2^64 and n does not fit into 64 bits only for i = n.
		first, _ := bits.Div64(uint64(i), 0, count)
		ranges[i] = HashRange{first, math.MaxUint64}
		if i > 0 {
			ranges[i-1].Last = first - 1
		}
	}
	return ranges
}

// HashKey says what of an object is hashed to find its range. An object is in one range
// exactly, whatever the key.
type HashKey uint8

const (
	// HashUID hashes the UID, so that objects spread evenly. The objects that belong to
	// another one are in other ranges than that.
	HashUID HashKey = iota
	// HashNamespace hashes the namespace, so that all objects of a namespace are in one
	// range: owners and what they own. A large namespace cannot be divided. The hash is
	// the server's, 64-bit FNV-1a, in whose first bits the last letters of a name hardly
	// count, and ranges are of first bits: namespaces such as team-1 and team-2 fall into
	// a few ranges, however many there are. So look at [HashKey.Of] for your names first.
	HashNamespace
	// HashOwner hashes the UID of the owner that controls the object, so that it is in
	// the range in which HashUID has its owner. An object that nothing controls is
	// in that of its own UID. No server can select by it: each replica receives the
	// whole collection, and keeps its part.
	HashOwner
)

// String returns the name of the constant.
func (k HashKey) String() string {
	switch k {
	case HashUID:
		return "HashUID"
	case HashNamespace:
		return "HashNamespace"
	case HashOwner:
		return "HashOwner"
	}
	return fmt.Sprintf("HashKey(%d)", uint8(k))
}

// Of returns the hash of an object.
func (k HashKey) Of(obj metav1.Object) uint64 {
	switch k {
	case HashNamespace:
		return HashOf(obj.GetNamespace())
	case HashOwner:
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
			return HashOf(string(owner.UID))
		}
	}
	return HashOf(string(obj.GetUID()))
}

// HashOf returns the hash of a UID or a namespace, as kube-apiserver computes it for a
// shard selector: 64-bit FNV-1a. It is that of HashField in package
// k8s.io/apimachinery/pkg/sharding, as a number and without allocations.
func HashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// hashSet is a set of hashes: ranges that neither overlap nor touch, in their order. It
// is replaced, never modified.
type hashSet []HashRange

// newHashSet returns the union of ranges, which must not overlap.
func newHashSet(ranges []HashRange) hashSet {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b HashRange) int { return cmp.Compare(a.First, b.First) })
	var set hashSet
	for _, r := range sorted {
		// Neighbours become one: a selector is short, whatever the number of ranges.
		if n := len(set); n > 0 && set[n-1].Last+1 == r.First {
			set[n-1].Last = r.Last
		} else {
			set = append(set, r)
		}
	}
	return set
}

// contains reports whether hash is in the set.
func (s hashSet) contains(hash uint64) bool {
	i, found := slices.BinarySearchFunc(s, hash, func(r HashRange, hash uint64) int { return cmp.Compare(r.First, hash) })
	return found || i > 0 && hash <= s[i-1].Last
}

// selector returns the shard selector of the set, empty if a server cannot select by key.
func (s hashSet) selector(key HashKey) string {
	field := "object.metadata.uid"
	switch key {
	case HashNamespace:
		field = "object.metadata.namespace"
	case HashOwner:
		return ""
	}
	parts := make([]string, len(s))
	for i, r := range s {
		end := "0x10000000000000000"
		if r.Last < math.MaxUint64 {
			end = fmt.Sprintf("0x%016x", r.Last+1)
		}
		parts[i] = fmt.Sprintf("shardRange(%s, '0x%016x', '%s')", field, r.First, end)
	}
	return strings.Join(parts, " || ")
}

// fraction returns the part of all hashes that is in the set, from 0 to 1.
func (s hashSet) fraction() (sum float64) {
	for _, r := range s {
		sum += (float64(r.Last-r.First) + 1) / (1 << 64)
	}
	return min(sum, 1)
}
