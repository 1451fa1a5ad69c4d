package deltafifo

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

const (
	firstSlots = 16  // what the first key allocates
	idleSlots  = 512 // the largest table and ring that an idle queue keeps
)

// keyring is a queue of keys in a circular buffer: keys leave at the head and
// enter behind the tail, and nothing moves.
//
//	slots:  [ d · · · a b c ]      head = 4, len = 4:  a b c d
//
// The zero value is empty.
type keyring struct {
	slots []types.NamespacedName
	head  int
	len   int
}

func (r *keyring) push(key types.NamespacedName) {
	if r.len == len(r.slots) {
		r.resize(max(firstSlots, 2*r.len))
	}
	r.slots[(r.head+r.len)%len(r.slots)] = key
	r.len++
}

// pop removes the key at the head. The ring must not be empty.
func (r *keyring) pop() types.NamespacedName {
	key := r.slots[r.head]
	r.slots[r.head] = types.NamespacedName{} // let go of the strings
	r.head = (r.head + 1) % len(r.slots)
	r.len--
	if len(r.slots) > idleSlots && r.len <= len(r.slots)/4 {
		r.resize(len(r.slots) / 2)
	}
	return key
}

// all yields the keys from head to tail.
func (r *keyring) all() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for i := range r.len {
			if !yield(r.slots[(r.head+i)%len(r.slots)]) {
				return
			}
		}
	}
}

func (r *keyring) resize(n int) {
	slots := make([]types.NamespacedName, n)
	i := 0
	for key := range r.all() {
		slots[i] = key
		i++
	}
	r.slots, r.head = slots, 0
}
