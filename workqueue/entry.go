package workqueue

// entry is everything the engine knows about one item, in one record: the
// queue, the set of running items, the delays and the look-up table all link
// the same entries. One look-up therefore answers every question about an
// item, and moving it from one state to the next copies nothing.
//
// An entry exists while at least one of queued, running, delayed and parked holds
// (for parked see park.go):
//
//	          Add                    Get                  Done
//	(none) ─────────▶ queued ───────────────▶ running ──────────▶ (none)
//	   │                 ▲                     │    │
//	   │ AddAfter        │ time is up          │    └─ Add: again, Done leads
//	   └────▶ delayed ───┘                     │       back to queued
//	             ▲                             │
//	             └──────── AddAfter (both at once until Done)
//
// All fields are guarded by the engine's mu. queued and running exclude each other:
// that is the promise that one worker at a time holds an item. delayed and parked
// exclude each other and queued, which is why they can share a deadline.
//
// What only some queues need is not here but beside it: deadline, times, see engine.timed,
// groupLink, and numbers of retries. So the entry of a namespace and a name takes 64 bytes,
// one line of a cache.
type entry[T comparable] struct {
	item T

	handle uint32 // its own, in the slab
	hash   uint32 // of the item

	// Handles of its neighbours in the list it is in: its class while queued, the
	// running items while running. It is never in two.
	next, prev uint32

	barrier    barrierID // the barrier that the pending request counts for; 0 if none is pending
	runBarrier barrierID // the same for the request being processed

	class   uint16 // class of the pending request, else of the last one
	holder  uint16 // the ProcessWith that it was handed out to last, or noHolder
	queued  bool   // waiting to be handed out
	running bool   // handed out and not Done
	again   bool   // running, and to be queued once more when Done
	waits   waits  // for a delay or a park to end
}

// waits is what an entry that is in a wheel waits for.
type waits uint8

const (
	waitsForNothing waits = iota
	waitsForDelay         // asked for later
	waitsForPark          // held back until a condition is met; running at most besides
)

// delayed reports whether the item is asked for later.
func (e *entry[T]) delayed() bool { return e.waits == waitsForDelay }

// parked reports whether the item is held back until a condition is met.
func (e *entry[T]) parked() bool { return e.waits == waitsForPark }

// requested reports whether a request is pending: the entry is queued, again, or
// parked after it was added.
func (e *entry[T]) requested() bool { return e.barrier != 0 }

// times are what a queue that keeps times has for each entry; see engine.timed.
type times struct {
	queuedAt  int64 // when the request that is queued or again was made
	startedAt int64 // when it was handed out
}

// entryList is a doubly linked list of entries through next and prev.
type entryList[T comparable] struct {
	entries    *slab[entry[T]]
	head, tail uint32 // handles, 0 in an empty list
}

func (l *entryList[T]) empty() bool { return l.head == 0 }

// first returns the first entry; there must be one.
func (l *entryList[T]) first() *entry[T] { return l.entries.at(l.head) }

// pushBack appends e, which must not be in a list.
func (l *entryList[T]) pushBack(e *entry[T]) {
	e.next, e.prev = 0, l.tail
	if l.tail == 0 {
		l.head = e.handle
	} else {
		l.entries.at(l.tail).next = e.handle
	}
	l.tail = e.handle
}

// remove takes e, which must be in this list, out of it.
func (l *entryList[T]) remove(e *entry[T]) {
	if e.prev == 0 {
		l.head = e.next
	} else {
		l.entries.at(e.prev).next = e.next
	}
	if e.next == 0 {
		l.tail = e.prev
	} else {
		l.entries.at(e.next).prev = e.prev
	}
	e.next, e.prev = 0, 0
}

// entryMap has the entries, and finds that of an item. The item is only in its entry: a
// Go map would hold it a second time, and compute its hash under the lock, at each call.
type entryMap[T comparable] struct {
	entries slab[entry[T]]
	index   hashIndex
	peak    int // the most entries since the index was made
}

// oversizedFrom is the peak from which on an index is replaced when few entries are left,
// slabKept or fewer, so that the memory of a burst is released. By then it takes some
// hundred kilobytes. Since slabKept is an eighth of it, the copying is paid for by
// the removal of at least seven eighths of the entries.
const oversizedFrom = 8 * slabKept

func (m *entryMap[T]) len() int { return m.index.n }

// find returns the entry of item, or nil.
func (m *entryMap[T]) find(item T, hash uint32) *entry[T] {
	for handle := m.index.find(hash, 0); handle != 0; handle = m.index.find(hash, handle) {
		if e := m.entries.at(handle); e.item == item {
			return e
		}
	}
	return nil
}

// findOrInsert returns the entry of item, a new one if it is missing.
// The caller must bring a new entry into a state before it releases the lock:
// an entry without a state is never removed.
func (m *entryMap[T]) findOrInsert(item T, hash uint32) *entry[T] {
	if e := m.find(item, hash); e != nil {
		return e
	}
	handle, e := m.entries.get()
	e.item, e.handle, e.hash = item, handle, hash
	m.index.insert(hash, handle)
	m.peak = max(m.peak, m.len())
	return e
}

// remove takes e out of the map. It must not be used any more.
func (m *entryMap[T]) remove(e *entry[T]) {
	m.index.remove(e.hash, e.handle)
	m.entries.put(e.handle)
}

// oversized reports whether the index is much larger than what is in it.
func (m *entryMap[T]) oversized() bool { return m.peak >= oversizedFrom && m.len() <= slabKept }

// shrink replaces the index by one of the size that is needed.
func (m *entryMap[T]) shrink() {
	m.index = hashIndex{}
	for handle, e := range m.entries.each {
		m.index.insert(e.hash, handle)
	}
	m.entries.trim()
	m.peak = m.len()
}
