package indexer

import (
	"encoding/binary"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/intern"
)

// keys are the keys of eight neighbouring numbers, copied into one piece of memory without a
// pointer. The names in the objects themselves are spread over the memory of all objects: to read
// one of those is to wait for its page as well.
//
//	room, end, used, last │ 5 6 team-a web-1 │ 0 │ 5 6 team-b web-2 │ …
//
// Each key has the lengths of its name and of its namespace, a byte each, then the namespace and
// the name. Long lengths follow two bytes of 255, four bytes each. A number that is not in use has
// a single 0, since no name is empty.
//
// Only what follows the last key ever changes, and only while a batch owns the keys: a string that
// points to a key stays as it is.
type keys struct {
	room, end uint32 // bytes in all, and in use
	used      uint32 // numbers that are in use are less
	last      uint32 // where the key of the highest of these is
}

const (
	keysHeader = uint32(unsafe.Sizeof(keys{}))

	// long stands for lengths that do not fit into a byte. The API server has none: a
	// namespace has up to 63 bytes, a name up to 253.
	long = 1<<8 - 1

	// maxKey is how long a namespace and a name may be together, so that eight keys are far
	// from what end can tell.
	maxKey = 1 << 24
)

// noKeys has no number in use.
var noKeys = newKeys(neighbours)

// newKeys returns keys of size bytes, which are 0, with room for what else fits into that memory.
func newKeys(size uint32) *keys {
	room := uint32(intern.Allocated(uintptr(keysHeader + size)))
	k := (*keys)(unsafe.Pointer(unsafe.SliceData(make([]uint32, room/4)))) // aligned, and without pointers
	k.room, k.end = room, keysHeader+size
	return k
}

// bytes returns all of k.
func (k *keys) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(k)), k.room) }

// lengths returns the lengths of the name and the namespace of the key at that place, and the
// place of the namespace. The name is empty if the number is not in use.
func lengths(b []byte, at uint32) (name, namespace, start uint32) {
	switch b[at] {
	case 0:
		return 0, 0, at + 1
	case long:
		return binary.LittleEndian.Uint32(b[at+2:]), binary.LittleEndian.Uint32(b[at+6:]), at + 10
	default:
		return uint32(b[at]), uint32(b[at+1]), at + 2
	}
}

// place returns where the key of the number i of the eight begins and ends.
func (k *keys) place(i uint32) (at, end uint32) {
	if i %= neighbours; i >= k.used {
		at = k.end - (neighbours - i) // what follows is a byte each
		return at, at + 1
	}
	b := k.bytes()
	end = keysHeader
	for range i + 1 {
		name, namespace, start := lengths(b, end)
		at, end = end, start+name+namespace
	}
	return at, end
}

// places are those of eight keys, 16 bits each from the lowest on, four in a word. It is 0 for
// a number that is not in use, and for a place that is too far for so many bits.
type places [neighbours / 4]uint64

// set stores the place of a number that had none.
func (p *places) set(i, at uint32) {
	if at < 1<<16 {
		p[i/4] |= uint64(at) << (i % 4 * 16)
	}
}

// at returns the place of the number i.
func (p *places) at(i uint32) uint32 { return uint32(p[i/4]>>(i%4*16)) & (1<<16 - 1) }

// places returns the places of all keys. k may be nil.
func (k *keys) places() (p places) {
	if k == nil {
		return p
	}
	b, at := k.bytes(), keysHeader
	for i := range k.used {
		name, namespace, start := lengths(b, at)
		if name > 0 {
			p.set(i, at)
		}
		at = start + name + namespace
	}
	return p
}

// is reports whether key is at that place, where there is one. All look-ups ask, so it does not know
// long keys, which it denies. See has.
func (k *keys) is(at uint32, key *types.NamespacedName) bool {
	p := unsafe.Add(unsafe.Pointer(k), at)
	n, m := len(key.Namespace), len(key.Name)
	return *(*[2]byte)(p) == [2]byte{byte(m), byte(n)} && n < long && m < long &&
		unsafe.String((*byte)(unsafe.Add(p, 2+n)), m) == key.Name && (n == 0 || unsafe.String((*byte)(unsafe.Add(p, 2)), n) == key.Namespace)
}

// has reports whether key is that of the number i, which must be in use.
func (k *keys) has(i uint32, key *types.NamespacedName) bool { return k.key(i) == *key }

// same reports whether the number i has the same key in both.
func (k *keys) same(o *keys, i uint32) bool { return k == o || k.key(i) == o.key(i) }

// key returns the key of the number i, which must be in use. It points to the memory of k.
func (k *keys) key(i uint32) types.NamespacedName {
	at, end := k.place(i)
	b := k.bytes()
	_, namespace, start := lengths(b, at)
	text := unsafe.String(&b[start], end-start)
	return types.NamespacedName{Namespace: text[:namespace], Name: text[namespace:]}
}

// with returns k with the key of the number i, which had none: k itself if it is own and has
// room, else a copy. A copy has room for the numbers that follow to get keys of that length,
// unless that is long or few says that they are not likely to. k may be nil.
func (k *keys) with(i uint32, key *types.NamespacedName, own, few bool) *keys {
	if k == nil {
		k, own = noKeys, false
	}
	name, namespace := uint32(len(key.Name)), uint32(len(key.Namespace))
	size := 2 + name + namespace
	isLong := max(name, namespace) >= long
	if isLong {
		size += 8
	}
	i %= neighbours
	at, next := k.place(i)
	last := i >= k.used
	if !own || !last || k.end-1+size > k.room {
		more := uint32(0)
		if last && !few && !isLong {
			more = (neighbours - 1 - i) * (size - 1)
		}
		c := newKeys(k.end - keysHeader - 1 + size + more)
		c.end -= more
		c.used, c.last = k.used, k.last
		if !last {
			c.last += size - 1
		}
		copy(c.bytes()[keysHeader:], k.bytes()[keysHeader:at])
		copy(c.bytes()[at+size:], k.bytes()[next:k.end])
		k = c
	} else {
		k.end += size - 1
	}
	if last {
		k.used, k.last = i+1, at
	}
	dst := k.bytes()[at : at+size]
	if isLong {
		dst[0], dst[1] = long, long
		binary.LittleEndian.PutUint32(dst[2:], name)
		binary.LittleEndian.PutUint32(dst[6:], namespace)
	} else {
		dst[0], dst[1] = byte(name), byte(namespace)
	}
	copy(dst[size-name-namespace:], key.Namespace)
	copy(dst[size-name:], key.Name)
	return k
}

// without returns a copy of k without the key of the number i.
func (k *keys) without(i uint32) *keys {
	i %= neighbours
	at, next := k.place(i)
	c := newKeys(k.end - keysHeader - (next - at) + 1)
	copy(c.bytes()[keysHeader:], k.bytes()[keysHeader:at])
	copy(c.bytes()[at+1:], k.bytes()[next:k.end])
	c.findLast()
	return c
}

// findLast sets used and last to what they should be.
func (k *keys) findLast() {
	b, at := k.bytes(), keysHeader
	k.used, k.last = 0, 0
	for i := range uint32(neighbours) {
		name, namespace, start := lengths(b, at)
		if name > 0 {
			k.used, k.last = i+1, at
		}
		at = start + name + namespace
	}
}

// size returns the memory of k.
func (k *keys) size() int { return int(k.room) }
