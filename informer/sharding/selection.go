package sharding

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
)

// selection is which ranges of hashes an informer is to read, and how far it is with each. It
// implements [informer.Selection], whose locks guard it.
//
//	AddRanges ──▶ wanted ──▶ read by a source ──▶ its first list is applied: listed
//	RemoveRanges ──▶ neither
type selection struct {
	filter  *filter
	listed  map[HashRange]bool // all that are wanted, and whether they are part of the cache
	wanted  hashSet            // the union of all of them
	covered hashSet            // the union of those that are listed
	source  *reading           // the newest one
	wake    chan struct{}      // has room for one: there may be another source to begin
}

// reading is what one source reads. It only shrinks: more is read by another source, so a list
// that has begun before a range was added cannot pass for a list of that range.
type reading struct {
	ranges   []HashRange
	set      atomic.Pointer[hashSet] // the union of ranges
	narrowed bool                    // whether it has shrunk, so that what is under way may be outside of it
}

// union works out the union, for requests that begin now.
func (r *reading) union() {
	set := newHashSet(r.ranges)
	r.set.Store(&set)
}

// load returns what is read at present.
func (r *reading) load() hashSet { return *r.set.Load() }

// newSelection returns the state of an informer without ranges.
func newSelection(f *filter) *selection {
	s := &selection{filter: f, listed: map[HashRange]bool{}, wake: make(chan struct{}, 1)}
	s.changed()
	return s
}

// changed works out the unions, and wakes the informer.
func (s *selection) changed() {
	s.wanted = newHashSet(slices.Collect(maps.Keys(s.listed)))
	var listed []HashRange
	for one, is := range s.listed {
		if is {
			listed = append(listed, one)
		}
	}
	s.covered = newHashSet(listed)
	select {
	case s.wake <- struct{}{}:
	default: // it will look once, and see all changes
	}
}

// add adds ranges, all or none.
func (s *selection) add(ranges []HashRange) error {
	for i, one := range ranges {
		if err := s.check(one); err != nil {
			for _, added := range ranges[:i] {
				delete(s.listed, added)
			}
			return err
		}
		s.listed[one] = false
	}
	s.changed()
	return nil
}

// remove removes ranges. It returns false if one was not there.
func (s *selection) remove(ranges []HashRange) (all bool) {
	all = true
	for _, one := range ranges {
		_, has := s.listed[one]
		all = all && has
		delete(s.listed, one)
	}
	s.changed()
	if s.source != nil {
		// Also a range that is added back soon: until the next source lists it, its events
		// would be missing.
		s.source.narrowed = true
		s.source.ranges = slices.DeleteFunc(s.source.ranges, func(one HashRange) bool { return slices.Contains(ranges, one) })
		s.source.union()
	}
	return all
}

// check returns why a range cannot be added, or nil.
func (s *selection) check(one HashRange) error {
	if one.Last < one.First {
		return fmt.Errorf("the range %v is empty; Last must not be less than First", one)
	}
	for other := range s.listed {
		if one.First <= other.Last && other.First <= one.Last {
			return fmt.Errorf("the range %v overlaps with %v, which was added before; remove that first", one, other)
		}
	}
	return nil
}

// has reports whether ranges, or all if there are none, are part of the cache.
func (s *selection) has(ranges []HashRange) (bool, error) {
	for _, one := range ranges {
		if listed, has := s.listed[one]; !has {
			return false, fmt.Errorf("it does not read the range %v; add it with AddRanges", one)
		} else if !listed {
			return false, nil
		}
	}
	return len(ranges) > 0 || len(s.missing()) == 0, nil
}

// missing returns the ranges that are not part of the cache yet.
func (s *selection) missing() (all []HashRange) {
	for one, listed := range s.listed {
		if !listed {
			all = append(all, one)
		}
	}
	return all
}

var (
	errNoRange = errors.New("it reads no range of hashes; add one with AddRanges")
	errOutside = errors.New("it is not in the ranges of hashes that the informer reads")
)

// Reads implements [informer.Selection].
func (s *selection) Reads(obj metav1.Object) error {
	switch {
	case len(s.wanted) == 0:
		return errNoRange
	case obj != nil && !s.wanted.contains(s.filter.key.Of(obj)):
		return errOutside
	}
	return nil
}

// Missing implements [informer.Selection].
func (s *selection) Missing() error {
	missing := s.missing()
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d ranges of hashes are not listed yet, such as %v", len(missing), len(s.listed), slices.MinFunc(missing, compareRanges))
}

func compareRanges(a, b HashRange) int { return cmp.Compare(a.First, b.First) }

// Covers implements [informer.Selection].
func (s *selection) Covers() func(metav1.Object) bool {
	covered, key := s.covered, s.filter.key
	return func(obj metav1.Object) bool { return covered.contains(key.Of(obj)) }
}

// Stale implements [informer.Selection]. A source that is listing goes on: ranges that are added
// faster than a list takes would else keep all of them from being listed.
func (s *selection) Stale(source any, listed bool) bool {
	if source == nil || len(s.wanted) == 0 {
		return (source == nil) != (len(s.wanted) == 0)
	}
	set := source.(*reading).load()
	return !slices.Equal(set, s.wanted) && (listed || len(set) == 0)
}

// Begin implements [informer.Selection].
func (s *selection) Begin() any {
	s.source = nil
	if len(s.wanted) == 0 {
		return nil
	}
	s.source = &reading{ranges: slices.Collect(maps.Keys(s.listed))}
	s.source.union()
	return s.source
}

// Keeps implements [informer.Selection].
func (s *selection) Keeps(source any, obj metav1.Object) bool {
	r := source.(*reading)
	return !r.narrowed || r.load().contains(s.filter.key.Of(obj))
}

// Listed implements [informer.Selection].
func (s *selection) Listed(source any) {
	for _, one := range source.(*reading).ranges {
		if _, has := s.listed[one]; has {
			s.listed[one] = true
		}
	}
	s.changed()
}

// Changed implements [informer.Selection].
func (s *selection) Changed() <-chan struct{} { return s.wake }

// Health implements [informer.Selection]: what is read, and promise 13, who filters.
func (s *selection) Health(h *informer.Health) {
	h.PartsOf = s.filter.key.String()
	for _, one := range slices.SortedFunc(maps.Keys(s.listed), compareRanges) {
		h.Parts = append(h.Parts, informer.PartHealth{Name: one.String(), Synced: s.listed[one]})
	}
	for i := range h.Sources {
		h.Sources[i].FilteredBy, h.Sources[i].Outside = s.filter.filteredBy(), s.filter.outside.Load()
	}
}
