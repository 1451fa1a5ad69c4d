package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// errFactoryNotRanged is for methods that need a factory with ByRange.
var errFactoryNotRanged = errors.New("informer: the factory does not read by ranges; set FactoryOptions.ByRange")

// AddRanges makes all informers read these ranges of hashes too: those that exist, save
// for those with Whole, and those that will be asked for; see [Informer.AddRanges]. It
// fails, and adds none, if the factory does not read by range, was shut down, or if one of
// them is empty or overlaps with another one.
func (f *Factory) AddRanges(ranges ...HashRange) error {
	if !f.opts.ByRange {
		return errFactoryNotRanged
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return fmt.Errorf("informer: adding ranges: the factory was shut down: %w", ErrStopped)
	}
	// Checked for all at once, so that all informers have the same ranges.
	all := newRanges(HashUID)
	for _, one := range slices.Concat(f.ranges, ranges) {
		if err := all.check(one); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
		all.listed[one] = false
	}
	f.ranges = slices.Concat(f.ranges, ranges)
	for _, s := range f.shared {
		// One that has stopped by itself needs no range: For replaces it.
		if err := s.addRanges(ranges); err != nil && !errors.Is(err, ErrStopped) {
			return err
		}
	}
	return nil
}

// RemoveRanges makes all informers stop reading these ranges: their objects have left the
// caches when it returns; see [Informer.RemoveRanges]. It returns false if the
// factory did not have one of them.
func (f *Factory) RemoveRanges(ranges ...HashRange) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := true
	for _, one := range ranges {
		all = all && slices.Contains(f.ranges, one)
	}
	f.ranges = slices.DeleteFunc(slices.Clone(f.ranges), func(one HashRange) bool { return slices.Contains(ranges, one) })
	// It waits for nothing, so mu may be held.
	for _, s := range f.shared {
		s.removeRanges(ranges)
	}
	return all
}

// WaitForRanges waits until these ranges, or all, are in the caches of all informers that
// were asked for so far, save for those with Whole; see [Informer.WaitForRanges].
func (f *Factory) WaitForRanges(ctx context.Context, ranges ...HashRange) error {
	if !f.opts.ByRange {
		return errFactoryNotRanged
	}
	for _, s := range f.inUse() {
		if err := s.waitForRanges(ctx, ranges); err != nil {
			return err
		}
	}
	return nil
}
