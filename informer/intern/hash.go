package intern

import (
	"hash/maphash"
	"math"
	"math/bits"
	"reflect"
	"unsafe"
)

// What stands in a hash for values without memory.
//
// They are in the hash in place of a value, so that nil and empty do not look alike.
// They need only be different; the first is the golden ratio in 64 bits.
const (
	hashNil = 0x9e3779b97f4a7c15 + iota
	hashPresent
	hashText
	hashBool
	hashInt
	hashFloat
	hashEntry
	hashList
)

// mix adds x to a hash.
//
// It multiplies to 128 bits and folds the halves, as wyhash does. The seed of the pool
// comes in through the salt of the part and through maphash.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0xa0761d6478bd642f, x^0xe7037ed1a0b428db)
	return hi ^ lo
}

// hash adds the value at p, with all that it contains, to h. It sets bad if the
// value cannot be shared.
//
// Equal values must have equal hashes: what equal ignores, such as padding, may not enter.
// Different values with one hash cost memory only, since equality is always checked.
func (w *walk) hash(n *node, p unsafe.Pointer, h uint64) uint64 {
	switch n.kind {
	case plain:
		return w.hashMemory(p, n.size, h)
	case text:
		return w.hashText(*(*string)(p), h)
	case record:
		for i := range n.fields {
			f := &n.fields[i]
			h = w.hash(f.node, unsafe.Add(p, f.offset), h)
		}
		return h
	case list:
		s := (*slice)(p)
		if s.data == nil {
			return mix(h, hashNil)
		}
		// The length comes first, or the elements of two neighbouring slices could move
		// from one to the other without a change of the hash.
		h = mix(h, uint64(s.len))
		if n.elem.flat {
			return w.hashMemory(s.data, n.elem.size*uintptr(s.len), h)
		}
		if !w.enter() {
			return h
		}
		h = w.hashAll(n.elem, s.data, s.len, h)
		w.depth--
		return h
	case pointer:
		to := *(*unsafe.Pointer)(p)
		if to == nil {
			return mix(h, hashNil)
		}
		if !w.enter() {
			return h
		}
		// Marked, or a pointer to a zero value would have the hash of the value itself.
		h = w.hash(n.elem, to, mix(h, hashPresent))
		w.depth--
		return h
	case textMap:
		return hashMap(w, *(*map[string]string)(p), h, w.hashText)
	case anyMap:
		return hashMap(w, *(*map[string]any)(p), h, w.hashAny)
	case otherMap:
		return w.hashOtherMap(n, p, h)
	default:
		w.bad = true
		return h
	}
}

// hashAll adds count values that stand one after the other. It stops as soon as the
// value is known to be bad, whose hash is not used.
func (w *walk) hashAll(n *node, p unsafe.Pointer, count int, h uint64) uint64 {
	for i := 0; i < count && !w.bad; i++ {
		h = w.hash(n, unsafe.Add(p, uintptr(i)*n.size), h)
	}
	return h
}

// hashMemory adds size bytes that are plain memory.
func (w *walk) hashMemory(p unsafe.Pointer, size uintptr, h uint64) uint64 {
	return mix(h, maphash.Bytes(w.pool.seed, unsafe.Slice((*byte)(p), size)))
}

// hashText adds a string. Its hash depends on the seed of the pool.
func (w *walk) hashText(s string, h uint64) uint64 {
	// With the seed, so that a server cannot choose strings that collide.
	return mix(h^uint64(len(s)), maphash.String(w.pool.seed, s))
}

// hashMap adds a map. The order of its keys is not part of it, so the hashes of its entries
// are summed up: unlike with XOR, two equal terms do not cancel out.
func hashMap[V any](w *walk, m map[string]V, h uint64, value func(V, uint64) uint64) uint64 {
	if m == nil {
		return mix(h, hashNil)
	}
	if !w.enter() {
		return h
	}
	var sum uint64
	for k, v := range m {
		sum += value(v, w.hashText(k, hashEntry))
		if w.bad {
			break
		}
	}
	w.depth--
	return mix(mix(h, sum), uint64(len(m)))
}

// hashOtherMap adds a map through reflection.
func (w *walk) hashOtherMap(n *node, p unsafe.Pointer, h uint64) uint64 {
	m := reflect.NewAt(n.typ, p).Elem()
	if m.IsNil() {
		return mix(h, hashNil)
	}
	if !w.enter() {
		return h
	}
	var sum uint64
	// Keys and elements are copied into memory that is used again: reflection would
	// allocate both for each entry.
	s := n.borrow(m)
	for s.next() && !w.bad {
		sum += w.hash(n.elem, s.elemAt, w.hash(n.key, s.keyAt, hashEntry))
	}
	n.giveBack(s)
	w.depth--
	return mix(mix(h, sum), uint64(m.Len()))
}

// hashAny adds what JSON decodes to. The kinds are marked, since an int64 and a float64
// may have the same bits.
func (w *walk) hashAny(v any, h uint64) uint64 {
	switch x := v.(type) {
	case nil:
		return mix(h, hashNil)
	case string:
		return w.hashText(x, mix(h, hashText))
	case bool:
		if x {
			return mix(h, hashBool)
		}
		return mix(h, ^uint64(hashBool))
	case int64:
		return mix(mix(h, hashInt), uint64(x))
	case float64:
		return mix(mix(h, hashFloat), math.Float64bits(x))
	case map[string]any:
		return hashMap(w, x, mix(h, hashEntry), w.hashAny)
	case []any:
		// nil and empty differ, here as in equal: JSON has null for one and [] for the
		// other.
		if x == nil {
			return mix(mix(h, hashList), hashNil)
		}
		if !w.enter() {
			return h
		}
		h = mix(mix(h, hashList), uint64(len(x)))
		for _, e := range x {
			if h = w.hashAny(e, h); w.bad {
				break
			}
		}
		w.depth--
		return h
	default:
		w.bad = true
		return h
	}
}
