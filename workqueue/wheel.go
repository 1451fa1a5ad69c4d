package workqueue

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// wheel holds entries that wait for a time, the delayed or the parked ones: a
// hierarchical timing wheel, whose lowest level has slots of one nanosecond. So what it
// returns is in exact order, the entries of equal times in the order in which they came,
// and nothing is ever sorted or compared.
//
// A time is a number of eleven digits in base 64. An entry is in the level of the first
// digit in which its time differs from base, and in the slot of that digit. So every entry of a
// level is earlier than every entry of the levels above, and the slots of a level are in order.
//
//	base     = … 0 0 2 7
//	… 0 0 2 9     level 0, slot 9      due first
//	… 0 0 5 1     level 1, slot 5
//	… 0 0 5 60    level 1, slot 5      not in order yet
//	… 0 3 0 0     level 2, slot 3
//
// When the time comes to the first slot, base becomes the beginning of that slot, and its
// entries move to lower levels. An entry moves as often as its delay has digits, at most.
//
// The lists link handles, so wheel knows nothing of the entries.
type wheel struct {
	deadlines *side[deadline] // of all entries that are in a wheel
	levels    []*wheelLevel   // nil where nothing has been
	used      uint16          // a bit for each level that has entries
	n         int

	// base is never later than the time that next was called with. So whatever is added
	// is later than base.
	base int64

	// moving is a list, the slot that begins at base: its entries have yet to move to
	// their places. next moves one at a time, so that the queue is not locked for long
	// by a slot of 100,000 entries. What is added to that slot meanwhile waits behind them.
	moving      uint32
	movingLevel int
}

// wheelLevel is the lists of a level. Each is a ring: the entry before the first one is the last.
type wheelLevel struct {
	used  uint64 // a bit for each slot that has entries
	slots [wheelSlots]uint32
}

// deadline is the place of an entry in its wheel.
type deadline struct {
	at         int64
	next, prev uint32 // handles of entries
}

const (
	wheelBits  = 6
	wheelSlots = 1 << wheelBits

	// wheelScan is how many entries wakeAt looks at. If a slot has more, it is cheaper to wake
	// up at its beginning, when they have to move anyway.
	wheelScan = 32
)

// at returns the time of an entry, which must be in a wheel.
func (w *wheel) at(handle uint32) int64 { return w.deadlines.at(handle).at }

// add puts in an entry that is in no wheel. at must be later than now, and now not earlier
// than in any call before.
func (w *wheel) add(handle uint32, at, now int64) {
	if w.n == 0 {
		w.base = now // else delays would have more digits the longer the queue exists
	}
	w.n++
	d := w.deadlines.at(handle)
	d.at = at
	if w.moving != 0 && (at^w.base)>>(w.movingLevel*wheelBits) == 0 {
		w.push(&w.moving, handle, d)
		return
	}
	w.place(handle, d)
}

// remove takes out an entry, which must be there.
func (w *wheel) remove(handle uint32) {
	w.n--
	d := w.deadlines.at(handle)
	if w.moving == handle {
		w.unlink(&w.moving, handle, d)
		return
	}
	// One that is to be moved is in no slot. But then it is not the first of a list, and to
	// unlink it changes only its neighbours.
	level, slot := w.position(d.at)
	l := w.level(level)
	w.unlink(&l.slots[slot], handle, d)
	w.emptied(l, level, slot)
}

// next does one step towards the first entry. It returns the entry if its time has come. It is
// for the caller to remove it. It reports whether there is more to do at that time: another step, or
// the entry.
func (w *wheel) next(now int64) (due uint32, more bool) {
	if handle := w.moving; handle != 0 {
		d := w.deadlines.at(handle)
		w.unlink(&w.moving, handle, d)
		w.place(handle, d)
		return 0, true
	}
	if w.used == 0 {
		return 0, false
	}
	level, slot := w.first()
	l := w.levels[level]
	handle := l.slots[slot]
	// Level 0 has one time in each slot. And an entry that is alone need not be moved to be first.
	if d := w.deadlines.at(handle); level == 0 || d.next == handle {
		if d.at > now {
			return 0, false
		}
		return handle, true
	}
	start := w.start(level, slot)
	if start > now {
		return 0, false
	}
	w.base, w.moving, w.movingLevel = start, handle, level
	l.slots[slot] = 0
	w.emptied(l, level, slot)
	return 0, true
}

// wakeAt returns when next has something to do: the time of the first entry, or an earlier
// one if that would take long to find. It is maxTime if there is no entry.
func (w *wheel) wakeAt() int64 {
	if w.moving != 0 {
		return w.base
	}
	if w.used == 0 {
		return maxTime
	}
	level, slot := w.first()
	first := w.levels[level].slots[slot]
	earliest, handle := int64(maxTime), first
	for range wheelScan {
		d := w.deadlines.at(handle)
		earliest = min(earliest, d.at)
		if handle = d.next; handle == first {
			return earliest
		}
	}
	return w.start(level, slot)
}

// first returns the first slot that has entries; there must be one.
func (w *wheel) first() (level, slot int) {
	level = bits.TrailingZeros16(w.used)
	return level, bits.TrailingZeros64(w.levels[level].used)
}

// position returns where an entry of that time belongs.
func (w *wheel) position(at int64) (level, slot int) {
	level = (bits.Len64(uint64(at^w.base)|1) - 1) / wheelBits
	return level, int(at>>(level*wheelBits)) & (wheelSlots - 1)
}

// start returns the first time of a slot: base up to the digit before, the slot, and zeros.
func (w *wheel) start(level, slot int) int64 {
	shift := level * wheelBits
	return w.base>>(shift+wheelBits)<<(shift+wheelBits) | int64(slot)<<shift
}

// level returns a level, which it makes if it is not there.
func (w *wheel) level(level int) *wheelLevel {
	for level >= len(w.levels) {
		w.levels = append(w.levels, nil)
	}
	if w.levels[level] == nil {
		w.levels[level] = new(wheelLevel)
	}
	return w.levels[level]
}

// place appends an entry to the slot where it belongs.
func (w *wheel) place(handle uint32, d *deadline) {
	level, slot := w.position(d.at)
	l := w.level(level)
	l.used |= 1 << slot
	w.used |= 1 << level
	w.push(&l.slots[slot], handle, d)
}

// push appends an entry to a list.
func (w *wheel) push(list *uint32, handle uint32, d *deadline) {
	first := *list
	if first == 0 {
		*list, d.next, d.prev = handle, handle, handle
		return
	}
	head := w.deadlines.at(first)
	d.next, d.prev = first, head.prev
	w.deadlines.at(head.prev).next = handle
	head.prev = handle
}

// unlink takes an entry out of its list. If it is not the first, list does not matter.
func (w *wheel) unlink(list *uint32, handle uint32, d *deadline) {
	if d.next == handle {
		*list = 0
		return
	}
	w.deadlines.at(d.prev).next = d.next
	w.deadlines.at(d.next).prev = d.prev
	if *list == handle {
		*list = d.next
	}
}

// emptied notes that a slot is empty, if it is.
func (w *wheel) emptied(l *wheelLevel, level, slot int) {
	if l.slots[slot] != 0 {
		return
	}
	l.used &^= 1 << slot
	if l.used == 0 {
		w.used &^= 1 << level
	}
}

// lists yields the first entries of the lists: the slots in order, but before them what is
// to be moved, whose times are among those of the lower levels.
func (w *wheel) lists(yield func(first uint32) bool) {
	if w.moving != 0 && !yield(w.moving) {
		return
	}
	for _, l := range w.levels {
		if l == nil {
			continue
		}
		for used := l.used; used != 0; used &= used - 1 {
			if !yield(l.slots[bits.TrailingZeros64(used)]) {
				return
			}
		}
	}
}

// list yields the entries of a list. The entry that it yields may be removed, and forgotten.
func (w *wheel) list(first uint32) iter.Seq[uint32] {
	return func(yield func(handle uint32) bool) {
		for handle, last := first, w.deadlines.at(first).prev; ; {
			next := w.deadlines.at(handle).next
			if !yield(handle) || handle == last {
				return
			}
			handle = next
		}
	}
}

// all yields all entries, in any order.
func (w *wheel) all(yield func(handle uint32) bool) {
	for first := range w.lists {
		for handle := range w.list(first) {
			if !yield(handle) {
				return
			}
		}
	}
}

// clear takes out all entries.
func (w *wheel) clear() { *w = wheel{deadlines: w.deadlines} }

// earliest returns the n entries whose times come first, or all if there are not more, in
// any order. It looks at these, and at the others of the slot of the last of them.
func (w *wheel) earliest(n int) []uint32 {
	if n >= w.n {
		return slices.AppendSeq(make([]uint32, 0, w.n), w.all)
	}
	for w.moving != 0 {
		w.next(w.base)
	}
	found := make([]uint32, 0, 2*n)
	for first := range w.lists {
		if len(found) == n {
			break
		}
		before := len(found) // earlier than all of this slot
		cut := func() {
			slices.SortFunc(found[before:], func(a, b uint32) int { return cmp.Compare(w.at(a), w.at(b)) })
			found = found[:n]
		}
		for handle := range w.list(first) {
			if found = append(found, handle); len(found) == 2*n {
				cut()
			}
		}
		if len(found) > n {
			cut()
		}
	}
	return found
}
