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
// exclude each other and queued, which is why they can share at and heapPos.
type entry[T comparable] struct {
	item T

	// Links of the list the entry is in: its class while queued, the running
	// items while running, the free entries when not in use. It is never in two.
	next, prev *entry[T]
	link       *groupLink[T] // its place in a fair group; nil without groups

	barrier    *barrier // the barrier that the pending request counts for; nil if none is pending
	runBarrier *barrier // the same for the request being processed

	// at is when the delay or the park ends while delayed or parked, and when the
	// entry becomes overdue while queued in a queue with priority classes. It is
	// never in two of these states.
	at        int64
	queuedAt  int64 // when the request that is queued or again was made; see engine.timed
	startedAt int64 // when it was handed out; see engine.timed

	heapPos int32  // position in the deadlines, noHeapPos when neither delayed nor parked
	retries uint32 // rate-limited adds since the last Forget or success
	class   uint16 // class of the pending request, else of the last one
	holder  uint16 // the ProcessWith that it was handed out to last, or noHolder
	queued  bool   // waiting to be handed out
	running bool   // handed out and not Done
	again   bool   // running, and to be queued once more when Done
	parked  bool   // held back until a condition is met; running at most besides
}

const noHeapPos = -1

// delayed reports whether the item is asked for later.
func (e *entry[T]) delayed() bool { return e.heapPos != noHeapPos && !e.parked }

// requested reports whether a request is pending: the entry is queued, again, or
// parked after it was added.
func (e *entry[T]) requested() bool { return e.barrier != nil }

// entryList is a doubly linked list of entries through next and prev.
type entryList[T comparable] struct{ head, tail *entry[T] }

// pushBack appends e, which must not be in a list.
func (l *entryList[T]) pushBack(e *entry[T]) {
	e.next, e.prev = nil, l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

// remove takes e, which must be in this list, out of it.
func (l *entryList[T]) remove(e *entry[T]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
}

// entryMap finds the entry of an item: a Go map, which grows by small steps, but never
// shrinks. When few of many entries are left, it is replaced by a map of those, so
// that the memory of a burst is released. There are so few then that this is quick.
type entryMap[T comparable] struct {
	byItem map[T]*entry[T]
	peak   int // the most entries since byItem was made
}

// oversizedFrom is the peak from which on a map is replaced: by then it takes some
// hundred kilobytes. freeListKept entries or fewer are left when it is.
// Since freeListKept is an eighth of it, a map is replaced only after at least seven
// eighths of its items were removed: the copying is paid for by those removals.
const oversizedFrom = 8 * freeListKept

func (m *entryMap[T]) len() int { return len(m.byItem) }

// find returns the entry of item, or nil.
func (m *entryMap[T]) find(item T) *entry[T] { return m.byItem[item] }

// findOrInsert returns the entry of item; a missing one comes from free.
// The caller must bring an inserted entry into a state before it releases the lock:
// an entry without a state is never removed.
func (m *entryMap[T]) findOrInsert(item T, free *freeList[T]) *entry[T] {
	if e := m.byItem[item]; e != nil {
		return e
	}
	e := free.get(m.len())
	e.item = item
	if m.byItem == nil {
		m.byItem = make(map[T]*entry[T])
	}
	m.byItem[item] = e
	m.peak = max(m.peak, m.len())
	return e
}

// remove takes e out of the map.
func (m *entryMap[T]) remove(e *entry[T]) { delete(m.byItem, e.item) }

// oversized reports whether the map is much larger than what is in it.
func (m *entryMap[T]) oversized() bool { return m.peak >= oversizedFrom && m.len() <= freeListKept }

// rebuild replaces the map by one of the entries that each yields.
// An entry may come twice; the second time changes nothing.
func (m *entryMap[T]) rebuild(each func(yield func(*entry[T]))) {
	m.byItem = make(map[T]*entry[T], m.len())
	each(func(e *entry[T]) { m.byItem[e.item] = e })
	m.peak = m.len()
}

// freeList keeps entries for reuse, so that a queue in a steady state
// allocates nothing. It never holds many more than are in use: after a burst
// the surplus goes back to the garbage collector.
type freeList[T comparable] struct {
	head *entry[T]
	n    int
}

const (
	freeListSlack = 128 // from so many entries in use on they are allocated in blocks
	// freeListKept is how many free entries are kept however few are in use: enough
	// for backlogs that come and go, and about 100 kB.
	freeListKept = 1024
	// entriesAtOnce is how many are allocated together while a queue fills up. It
	// saves work for the allocator; but as long as one of them is in use none can
	// be freed, and more of them save no more.
	entriesAtOnce = 4
)

// get returns an entry in its initial state. inUse is the number of entries
// that are in use already.
func (f *freeList[T]) get(inUse int) *entry[T] {
	e := f.head
	if e == nil {
		if inUse < freeListSlack {
			return &entry[T]{heapPos: noHeapPos}
		}
		f.allocate()
		e = f.head
	}
	f.head, f.n = e.next, f.n-1
	e.next = nil
	return e
}

// allocate adds some entries that lie side by side in memory.
// They are linked in order of address, so that a queue that fills up uses memory in order.
func (f *freeList[T]) allocate() {
	block := new([entriesAtOnce]entry[T])
	for i := range block {
		e := &block[len(block)-1-i]
		e.heapPos, e.next = noHeapPos, f.head
		f.head = e
	}
	f.n += len(block)
}

// put takes an entry back.
func (f *freeList[T]) put(e *entry[T], inUse int) {
	if f.n > max(freeListKept, inUse) { // too many: drop one, and e as well
		surplus := f.head
		f.head, f.n = surplus.next, f.n-1
		// An entry beside them in memory may be in use for long, and keeps them:
		// so they must not keep anything in turn.
		*surplus, *e = entry[T]{}, entry[T]{}
		return
	}
	// Clearing the item lets whatever it points to be collected. All else that
	// matters was reset on the way out of the states.
	var none T
	e.item, e.retries, e.next = none, 0, f.head
	if e.link != nil {
		e.link.name = ""
	}
	f.head, f.n = e, f.n+1
}
