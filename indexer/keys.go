package indexer

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/intern"
)

// keys are the keys of eight neighbouring numbers, copied into one piece of memory without a
// pointer. The names in the objects themselves are spread over the memory of all objects. A
// look-up that reads one of those waits for the page table as well, which is as large.
//
//	bounds, room │ 6 team-a web-1 │ 6 team-b web-2 │ …
//
// Each key is the length of its namespace, in as many bytes as [binary.AppendUvarint] takes for
// it, the namespace, and the name. A number that is not in use has an empty place. Only what
// follows the last key ever changes, and only while a batch owns the keys: a string that points
// to a key stays as it is.
type keys struct {
	bounds [neighbours + 1]uint32 // where each key begins, and the last one ends, from the start of keys
	room   uint32                 // bytes in all
}

const (
	// shortNamespace is the length from which on that of a namespace takes more than a byte.
	// A name of the API server has 63 bytes at most.
	shortNamespace = 1 << 7

	// maxKey is how long a namespace and a name may be together. Eight keys are then far from
	// what bounds can tell. The API server has a limit of 316 bytes.
	maxKey = 1 << 24

	keysHeader = uint32(unsafe.Sizeof(keys{}))
)

// newKeys returns room for as many bytes of keys, and what else fits into that memory.
func newKeys(size uint32) *keys {
	room := uint32(intern.Allocated(uintptr(keysHeader + size)))
	k := (*keys)(unsafe.Pointer(unsafe.SliceData(make([]uint32, room/4)))) // noscan, aligned for bounds
	k.room = room
	for i := range k.bounds {
		k.bounds[i] = keysHeader
	}
	return k
}

// text returns the key of the number i of the eight as it is stored, or nothing.
func (k *keys) text(i uint32) string {
	i &= neighbours - 1
	start, end := k.bounds[i], k.bounds[i+1]
	if start == end {
		return "" // not a pointer to the end of the memory
	}
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), start)), end-start)
}

// is reports whether key is that of the number i. All look-ups ask, so it does not know the key of
// a namespace with a long name, which it denies. See has.
func (k *keys) is(i uint32, key *types.NamespacedName) bool {
	text, n := k.text(i), 1+len(key.Namespace)
	return len(text) == n+len(key.Name) && n <= shortNamespace && text[0] == byte(len(key.Namespace)) &&
		text[n:] == key.Name && text[1:n] == key.Namespace
}

// has reports whether key is that of the number i, which must be in use.
func (k *keys) has(i uint32, key *types.NamespacedName) bool { return k.key(i) == *key }

// same reports whether the number i has the same key in both.
func (k *keys) same(o *keys, i uint32) bool { return k == o || k.text(i) == o.text(i) }

// key returns the key of the number i, which must be in use. It points to the memory of k.
func (k *keys) key(i uint32) types.NamespacedName {
	text := k.text(i)
	length, n := binary.Uvarint(unsafe.Slice(unsafe.StringData(text), len(text)))
	text = text[n:]
	return types.NamespacedName{Namespace: text[:length], Name: text[length:]}
}

// with returns k with the key of the number i, which had none: k itself if it is own and has
// room, else a copy. A copy has room for longer: for the numbers that follow to get keys of that
// length, unless few says that they are not likely to. k may be nil.
func (k *keys) with(i uint32, key *types.NamespacedName, own, few bool) *keys {
	i &= neighbours - 1
	prefix := uint32(bits.Len(uint(len(key.Namespace))|1)+6) / 7 // of the length
	size := prefix + uint32(len(key.Namespace)+len(key.Name))
	if k == nil {
		k, own = noKeys, false
	}
	at, end := k.bounds[i], k.bounds[neighbours]
	if !own || at != end || end+size > k.room {
		more := (neighbours - 1 - i) * size
		if few || at != end {
			more = 0
		}
		c := newKeys(end - keysHeader + size + more)
		c.bounds = k.bounds
		copy(c.bytes(keysHeader, at), k.bytes(keysHeader, at))
		copy(c.bytes(at+size, end+size), k.bytes(at, end))
		k = c
	}
	for j := i + 1; j <= neighbours; j++ {
		k.bounds[j] += size
	}
	dst := k.bytes(at, at+size)
	binary.PutUvarint(dst, uint64(len(key.Namespace)))
	copy(dst[prefix:], key.Namespace)
	copy(dst[prefix+uint32(len(key.Namespace)):], key.Name)
	return k
}

// without returns a copy of k without the key of the number i.
func (k *keys) without(i uint32) *keys {
	i &= neighbours - 1
	at, next, end := k.bounds[i], k.bounds[i+1], k.bounds[neighbours]
	c := newKeys(end - keysHeader - (next - at))
	c.bounds = k.bounds
	for j := i + 1; j <= neighbours; j++ {
		c.bounds[j] -= next - at
	}
	copy(c.bytes(keysHeader, at), k.bytes(keysHeader, at))
	copy(c.bytes(at, c.bounds[neighbours]), k.bytes(next, end))
	return c
}

// bytes returns the memory of k from one place to another.
func (k *keys) bytes(from, to uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(k)), k.room)[from:to]
}

// size returns the memory of k.
func (k *keys) size() int { return int(k.room) }

// noKeys has no number in use.
var noKeys = newKeys(0)
