package workqueue

// entry is everything the engine knows about one item, in one record: the
// queue, the set of running items, the delays and the look-up table all link
// the same entries. One look-up therefore answers every question about an
// item, and moving it from one state to the next copies nothing.
//
// An entry exists while at least one of queued, running and delayed holds:
//
//	          Add                    Get                  Done
//	(none) ─────────▶ queued ───────────────▶ running ──────────▶ (none)
//	   │                 ▲                     │    │
//	   │ AddAfter        │ time is up          │    └─ Add: again, Done leads
//	   └────▶ delayed ───┘                     │       back to queued
//	             ▲                             │
//	             └──────── AddAfter (both at once until Done)
type entry[T comparable] struct {
	item  T
	hash  uint64
	chain *entry[T] // next entry of the same bucket of the table

	// Links of the list the entry is in: its class while queued, the running
	// items while running. It is never in both.
	next, prev *entry[T]

	// Links and owner within a fair group while queued; nil without groups.
	groupNext, groupPrev *entry[T]
	group                *group[T]
	groupName            string // as the user's function gave it when the request was made

	mark    *mark // the mark this request counts for, while queued or again
	runMark *mark // the same for the request being processed

	due       int64 // while queued with classes: when its waiting budget ends
	queuedAt  int64 // when the request that is queued or again was made; see engine.timed
	startedAt int64 // when it was handed out
	readyAt   int64 // while delayed: when the delay ends

	heapPos int32  // position in the deadlines, noHeapPos when not delayed
	class   int32  // class of the pending request, else of the last one
	retries uint32 // rate-limited adds since the last Forget or success
	queued  bool   // waiting to be handed out
	running bool   // handed out and not Done
	again   bool   // running, and to be queued once more when Done
}

const noHeapPos = -1

// pending reports whether there is a request not yet handed out.
func (e *entry[T]) pending() bool { return e.queued || e.again || e.delayed() }

func (e *entry[T]) delayed() bool { return e.heapPos != noHeapPos }

// entryList is a doubly linked list of entries through next and prev.
type entryList[T comparable] struct{ head, tail *entry[T] }

func (l *entryList[T]) pushBack(e *entry[T]) {
	e.next, e.prev = nil, l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

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

// freeList keeps entries for reuse, so that a queue in a steady state
// allocates nothing. It never holds many more than are in use: after a burst
// the surplus goes back to the garbage collector.
type freeList[T comparable] struct {
	head *entry[T]
	n    int
}

// freeListSlack is how many free entries are kept however few are in use.
const freeListSlack = 256

func (f *freeList[T]) get() *entry[T] {
	e := f.head
	if e == nil {
		return &entry[T]{heapPos: noHeapPos}
	}
	f.head, f.n = e.chain, f.n-1
	e.chain = nil
	return e
}

// put takes an entry back. inUse is the number of entries still alive.
func (f *freeList[T]) put(e *entry[T], inUse int) {
	if f.n > max(freeListSlack, inUse) {
		f.head, f.n = f.head.chain, f.n-1 // one too many: drop one, and e as well
		return
	}
	// Clearing the item lets whatever it points to be collected.
	*e = entry[T]{heapPos: noHeapPos, chain: f.head}
	f.head, f.n = e, f.n+1
}
