package workqueue

// deadlines holds the delayed entries, the earliest first: a heap with four
// children per node, which is half as deep as a binary one and compares within
// a cache line. The time stands beside the entry, so that sifting touches only
// the slice and the positions.
type deadlines[T comparable] struct{ items []deadline[T] }

type deadline[T comparable] struct {
	at    int64
	entry *entry[T]
}

const (
	heapArity  = 4
	heapMinCap = 64 // never shrink below
)

func (d *deadlines[T]) len() int { return len(d.items) }

// first returns the earliest entry; there must be one.
func (d *deadlines[T]) first() *entry[T] { return d.items[0].entry }

// add inserts e, which must not be in the heap, at e.at.
func (d *deadlines[T]) add(e *entry[T]) {
	d.items = append(d.items, deadline[T]{})
	d.up(len(d.items)-1, deadline[T]{e.at, e})
}

// advance restores the order after e.at was moved to an earlier time.
func (d *deadlines[T]) advance(e *entry[T]) {
	d.up(int(e.heapPos), deadline[T]{e.at, e})
}

// remove takes e, which must be in the heap, out of it.
func (d *deadlines[T]) remove(e *entry[T]) {
	pos := int(e.heapPos)
	e.heapPos = noHeapPos
	last := len(d.items) - 1
	moved := d.items[last]
	d.items[last] = deadline[T]{}
	d.items = d.items[:last]
	if pos < last {
		if pos > 0 && moved.at < d.items[(pos-1)/heapArity].at {
			d.up(pos, moved)
		} else {
			d.down(pos, moved)
		}
	}
	if cap(d.items) > heapMinCap && len(d.items) < cap(d.items)/4 {
		d.items = append(make([]deadline[T], 0, cap(d.items)/2), d.items...)
	}
}

// up places x at pos or at one of its ancestors.
func (d *deadlines[T]) up(pos int, x deadline[T]) {
	for pos > 0 {
		parent := (pos - 1) / heapArity
		if d.items[parent].at <= x.at {
			break
		}
		d.set(pos, d.items[parent])
		pos = parent
	}
	d.set(pos, x)
}

// down places x at pos or at one of its descendants.
func (d *deadlines[T]) down(pos int, x deadline[T]) {
	n := len(d.items)
	for {
		child := pos*heapArity + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+heapArity, n); c++ {
			if d.items[c].at < d.items[least].at {
				least = c
			}
		}
		if x.at <= d.items[least].at {
			break
		}
		d.set(pos, d.items[least])
		pos = least
	}
	d.set(pos, x)
}

func (d *deadlines[T]) set(pos int, x deadline[T]) {
	d.items[pos] = x
	x.entry.heapPos = int32(pos)
}
