package workqueue

import (
	"math/bits"
	"slices"
	"weak"
)

// slab holds records that come and go, in pages. A record is known by its handle, four
// bytes, and does not move: a pointer to it is good as long as the record is in use. So
// links between records are half as large as pointers, and the garbage collector has
// neither to follow them nor to look at each record as an object of its own.
//
// A page of which no record is in use goes back to the garbage collector, if enough
// others are free. So a burst leaves little memory behind, unless some of its records
// stay in use: each of those keeps its page.
//
// The zero value is an empty slab.
type slab[R any] struct {
	pages []page[R] // by number; there is no page 0, so no handle is 0
	holes []uint32  // numbers of the pages that were dropped
	room  uint32    // the first page that has a free record, 0 if none has
	last  uint32    // the last of them
	used  int       // records
	free  int       // records

	// spare has pages that were dropped, until the garbage collector takes them. So a queue
	// that fills up and is drained again and again does not allocate each time.
	spare weak.Pointer[spare[R]]
}

// page is not beside its records, but beside the other pages, which takes a few lines of a cache.
type page[R any] struct {
	records    *records[R] // nil if dropped
	free       uint32      // a bit for each record that is free
	next, prev uint32      // the pages that have a free record; 0 at the ends
}

// records are those of a page. The runtime allocates so much memory behind a header of 8 bytes.
// With it, 31 records of 64 bytes fit into 2 kB, while 32 would take 2,304 bytes.
type records[R any] [pageRecords]R

type spare[R any] struct{ records []*records[R] }

const (
	// pageSize is how many handles a page has, one more than records. Fewer would cost more
	// work of the allocator. With more, a record that stays in use would keep more memory.
	pageSize    = 32
	pageRecords = pageSize - 1
	// slabKept is how many free records are kept however few are in use: enough for
	// backlogs that come and go, and about 100 kB.
	slabKept = 1024

	wholePage = 1<<pageRecords - 1 // all records of a page
)

// at returns the record with that handle, which must be in use.
func (s *slab[R]) at(handle uint32) *R {
	return &s.pages[handle/pageSize].records[handle%pageSize]
}

// get returns a zero record that is now in use.
func (s *slab[R]) get() (handle uint32, record *R) {
	if s.room == 0 {
		s.grow()
	}
	number := s.room
	p := &s.pages[number]
	// In order of address: a slab that fills up uses memory in order.
	slot := uint32(bits.TrailingZeros32(p.free))
	p.free &^= 1 << slot
	s.used++
	s.free--
	if p.free == 0 {
		s.unlink(number)
	}
	return number*pageSize + slot, &p.records[slot]
}

// put takes a record back. It clears it, so that what it refers to can be collected.
func (s *slab[R]) put(handle uint32) {
	number, slot := handle/pageSize, handle%pageSize
	p := &s.pages[number]
	var zero R
	p.records[slot] = zero
	if p.free == 0 {
		s.link(number)
	}
	p.free |= 1 << slot
	s.used--
	s.free++
	if p.free == wholePage && s.free > max(slabKept, s.used) {
		s.drop(number)
		s.dropLast()
	}
}

// drop drops a page of which no record is in use.
func (s *slab[R]) drop(number uint32) {
	s.unlink(number)
	s.keep(s.pages[number].records)
	s.pages[number] = page[R]{}
	s.holes = append(s.holes, number)
	s.free -= pageRecords
}

// dropLast drops the last page, for those that were kept when more records were in use.
// One that cannot be dropped makes way for the one before it, and is used first.
func (s *slab[R]) dropLast() {
	number := s.last
	switch {
	case number == 0:
	case s.pages[number].free == wholePage:
		s.drop(number)
	default:
		s.unlink(number)
		s.link(number)
	}
}

// grow adds a page.
func (s *slab[R]) grow() {
	if len(s.pages) == 0 {
		s.pages = append(s.pages, page[R]{}) // number 0
	}
	number := uint32(len(s.pages))
	if n := len(s.holes); n > 0 {
		number, s.holes = s.holes[n-1], s.holes[:n-1]
	} else {
		s.pages = append(s.pages, page[R]{})
	}
	s.pages[number] = page[R]{records: s.newRecords(), free: wholePage}
	s.free += pageRecords
	s.link(number)
}

// keep makes the records of a dropped page, which are zero, available to newRecords, as long
// as the garbage collector has not run.
func (s *slab[R]) keep(dropped *records[R]) {
	kept := s.spare.Value()
	if kept == nil {
		kept = new(spare[R])
		s.spare = weak.Make(kept)
	}
	kept.records = append(kept.records, dropped)
}

// newRecords returns the records for a page, zero and kept if there are any.
func (s *slab[R]) newRecords() *records[R] {
	kept := s.spare.Value()
	if kept == nil || len(kept.records) == 0 {
		return new(records[R])
	}
	last := len(kept.records) - 1
	reused := kept.records[last]
	kept.records[last] = nil
	kept.records = kept.records[:last]
	return reused
}

// link puts a page in front of those that have a free record: what was used last is
// used first again, as it is in a cache.
func (s *slab[R]) link(number uint32) {
	p := &s.pages[number]
	p.next, p.prev = s.room, 0
	if s.room == 0 {
		s.last = number
	} else {
		s.pages[s.room].prev = number
	}
	s.room = number
}

// unlink takes a page out of those that have a free record.
func (s *slab[R]) unlink(number uint32) {
	p := &s.pages[number]
	if p.prev == 0 {
		s.room = p.next
	} else {
		s.pages[p.prev].next = p.next
	}
	if p.next == 0 {
		s.last = p.prev
	} else {
		s.pages[p.next].prev = p.prev
	}
	p.next, p.prev = 0, 0
}

// each yields the records that are in use, in order of their handles.
func (s *slab[R]) each(yield func(handle uint32, record *R) bool) {
	for number := range s.pages {
		p := s.pages[number]
		if p.records == nil {
			continue
		}
		for used := wholePage &^ p.free; used != 0; used &= used - 1 {
			slot := bits.TrailingZeros32(used)
			if !yield(uint32(number*pageSize+slot), &p.records[slot]) {
				return
			}
		}
	}
}

// inTurn returns a record that is in use, 0 if there is none on the page that it looks at, and what
// to call it with for the next one. So the work is bounded. After the last record comes the first.
func (s *slab[R]) inTurn(from uint32) (handle, next uint32) {
	number, slot := from/pageSize, from%pageSize
	if int(number) >= len(s.pages) {
		return 0, 0
	}
	p := &s.pages[number]
	used := (wholePage &^ p.free) >> slot
	if p.records == nil || used == 0 {
		return 0, (number + 1) * pageSize
	}
	handle = from + uint32(bits.TrailingZeros32(used))
	return handle, handle + 1
}

// trim gives back the memory of the numbers of pages that were dropped, where they are
// the last ones.
func (s *slab[R]) trim() {
	n := len(s.pages)
	for n > 1 && s.pages[n-1].records == nil {
		n--
	}
	s.pages = slices.Clone(s.pages[:n])
	s.holes = nil
	for number := 1; number < n; number++ {
		if s.pages[number].records == nil {
			s.holes = append(s.holes, uint32(number))
		}
	}
}

// side holds something for each record of a slab, for what few need: a queue that does
// not use it has none. What it holds is not cleared when the record is taken back.
type side[R any] struct{ pages []*[sidePageSize]R }

// sidePageSize is so much larger than pageSize, as what is beside a record is smaller.
const sidePageSize = 4 * pageSize

// at returns what belongs to the record with that handle.
func (s *side[R]) at(handle uint32) *R {
	if number := int(handle / sidePageSize); number < len(s.pages) && s.pages[number] != nil {
		return &s.pages[number][handle%sidePageSize]
	}
	return s.grow(handle)
}

// grow adds a page for that handle.
func (s *side[R]) grow(handle uint32) *R {
	number := int(handle / sidePageSize)
	if number >= len(s.pages) {
		s.pages = append(s.pages, make([]*[sidePageSize]R, number+1-len(s.pages))...)
	}
	s.pages[number] = new([sidePageSize]R)
	return &s.pages[number][handle%sidePageSize]
}

// trimSide drops what belongs only to pages that the slab has dropped.
func trimSide[R, S any](side *side[S], slab *slab[R]) {
	const pages = sidePageSize / pageSize
	used := make([]bool, len(side.pages))
	last := 0
	for number := range slab.pages {
		if beside := number / pages; slab.pages[number].records != nil && beside < len(used) {
			used[beside], last = true, beside+1
		}
	}
	side.pages = slices.Clone(side.pages[:last])
	for number := range side.pages {
		if !used[number] {
			side.pages[number] = nil
		}
	}
}
