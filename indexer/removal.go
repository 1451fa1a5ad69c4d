package indexer

import (
	"slices"
	"sync/atomic"
)

// removal is an element of the list of the objects that were taken out of the table, oldest
// first. A snapshot has the last removal of its time, and what follows is what it may miss
// in the table. So the garbage collector keeps no more than what snapshots need. The list ends with
// its table.
//
//	snapshot A ──▶ removal ──▶ removal ──▶ removal ──▶ nil
//	                              ▲           ▲
//	             snapshot B ──────┘           └────── the current snapshot
//
// Some removals belong to batches that were discarded. As a number counts only if its key
// agrees, they do no harm.
type removal struct {
	next atomic.Pointer[removal]
	// sorted has what follows, if that is long, for all snapshots with this removal.
	sorted atomic.Pointer[sortedRemovals]
	cell   uint64 // as it was in the table
}

// sortedRemovals is a part of the list in a form for searching. It never changes.
type sortedRemovals struct {
	// runs are sorted, and each is more than twice as long as the next. To extend them costs a
	// logarithm for each removal, and so does a search.
	runs [][]uint64
	last *removal // the last of the list that is in the runs
}

// walked is how many removals a search visits one by one.
const walked = 32

// find calls is for the numbers of the removals after r with that half of a hash, until it
// returns true, and reports whether it did.
func (r *removal) find(half uint32, is func(number uint32) bool) bool {
	known, from := r.sorted.Load(), r
	if known != nil {
		from = known.last
	}
	steps := 0
	for e := from.next.Load(); e != nil; e = e.next.Load() {
		if uint32(e.cell>>32) == half && is(uint32(e.cell)-1) {
			return true
		}
		if steps++; steps == walked {
			known = r.sort(known)
			break
		}
	}
	return known != nil && known.find(half, is)
}

// find is like that of removal.
func (s *sortedRemovals) find(half uint32, is func(number uint32) bool) bool {
	for _, run := range s.runs {
		i, _ := slices.BinarySearch(run, uint64(half)<<32)
		for ; i < len(run) && uint32(run[i]>>32) == half; i++ {
			if is(uint32(run[i]) - 1) {
				return true
			}
		}
	}
	return false
}

// sort returns known with all removals that have come since. Readers that do so at the same
// time need not agree: each goes on with its own.
func (r *removal) sort(known *sortedRemovals) *sortedRemovals {
	next := &sortedRemovals{last: r}
	if known != nil {
		next.last = known.last
		next.runs = append(make([][]uint64, 0, len(known.runs)+1), known.runs...)
	}
	var run []uint64
	for e := next.last.next.Load(); e != nil; e = e.next.Load() {
		run = append(run, e.cell)
		next.last = e
	}
	slices.Sort(run)
	for n := len(next.runs); n > 0 && len(next.runs[n-1]) <= 2*len(run); n-- {
		run = merged(next.runs[n-1], run)
		next.runs = next.runs[:n-1]
	}
	next.runs = append(next.runs, slices.Compact(run))
	r.sorted.CompareAndSwap(known, next)
	return next
}

// merged returns the elements of both, which are sorted, in order.
func merged(a, b []uint64) []uint64 {
	out := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
