package workqueue

import (
	"container/heap"
	"iter"
)

// earliest yields the n delayed entries whose delays end first, the first one
// first; or, if there are not more than n, all of them in any order.
//
// It walks down from the top of the heap. Whoever comes next is a child of one
// that has been, so it looks at a few entries for each one that it yields, and
// not at all there are.
func (d *deadlines[T]) earliest(n int) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		if n >= len(d.items) {
			for i := range d.items {
				if !yield(d.items[i].entry) {
					return
				}
			}
			return
		}
		next := candidates{{d.items[0].at, 0}}
		for range n {
			pos := heap.Pop(&next).(candidate).pos
			if !yield(d.items[pos].entry) {
				return
			}
			for child := pos*heapArity + 1; child <= (pos+1)*heapArity && child < len(d.items); child++ {
				heap.Push(&next, candidate{d.items[child].at, child})
			}
		}
	}
}

// candidate is a position in the heap of the deadlines, and its time.
type candidate struct {
	at  int64
	pos int
}

// candidates make a heap.Interface.
type candidates []candidate

func (c candidates) Len() int           { return len(c) }
func (c candidates) Less(i, j int) bool { return c[i].at < c[j].at }
func (c candidates) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)        { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}
