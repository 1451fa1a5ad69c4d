package informer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// ranges is which ranges of hashes an informer is to read, and how far it is with each.
// It is part of [progress]: it changes with the applier's mutex and that of progress
// held, so that either is enough to read it.
//
//	AddRanges ──▶ wanted ──▶ read by a source ──▶ its first list is applied: listed
//	RemoveRanges ──▶ neither
type ranges struct {
	key     HashKey
	listed  map[HashRange]bool // all that are wanted, and whether they are part of the cache
	wanted  hashSet            // the union of all of them
	covered *coverage          // the union of those that are listed
	wake    chan struct{}      // has room for one: there may be work for runRanges
}

// newRanges returns the state of an informer without ranges.
func newRanges(key HashKey) *ranges {
	r := &ranges{key: key, listed: map[HashRange]bool{}, wake: make(chan struct{}, 1)}
	r.changed()
	return r
}

// changed works out the unions, and wakes runRanges.
func (r *ranges) changed() {
	r.wanted = newHashSet(slices.Collect(maps.Keys(r.listed)))
	var listed []HashRange
	for one, is := range r.listed {
		if is {
			listed = append(listed, one)
		}
	}
	r.covered = &coverage{key: r.key, hashes: newHashSet(listed)}
	select {
	case r.wake <- struct{}{}:
	default: // it will look once, and see all changes
	}
}

// setListed notes that a list of set is part of the cache.
func (r *ranges) setListed(set hashSet) {
	for one := range r.listed {
		// A set is a union of ranges that do not overlap: it has all of one, or nothing.
		if set.contains(one.First) {
			r.listed[one] = true
		}
	}
	r.changed()
}

// sorted returns the ranges in their order.
func (r *ranges) sorted() []HashRange {
	return slices.SortedFunc(maps.Keys(r.listed), func(a, b HashRange) int { return cmp.Compare(a.First, b.First) })
}

// unlisted returns the ranges that are not part of the cache yet.
func (r *ranges) unlisted() (all []HashRange) {
	for one, is := range r.listed {
		if !is {
			all = append(all, one)
		}
	}
	return all
}

// whyUnlisted says which ranges are not part of the cache yet, in one error or none.
func (r *ranges) whyUnlisted() []error {
	all := r.unlisted()
	if len(all) == 0 {
		return nil
	}
	return []error{fmt.Errorf("%d of %d ranges of hashes are not listed yet, such as %v", len(all), len(r.listed), slices.MinFunc(all, func(a, b HashRange) int { return cmp.Compare(a.First, b.First) }))}
}

// check returns why a range cannot be added, or nil.
func (r *ranges) check(one HashRange) error {
	if one.Last < one.First {
		return fmt.Errorf("the range %v is empty; Last must not be less than First", one)
	}
	for other := range r.listed {
		if one.First <= other.Last && other.First <= one.Last {
			return fmt.Errorf("the range %v overlaps with %v, which was added before; remove that first", one, other)
		}
	}
	return nil
}
