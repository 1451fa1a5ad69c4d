package workqueue

// barrier counts the unprocessed requests made since the barrier before it. Barriers
// form a list, oldest first; the last one is open and counts what is added
// now. [Queue.Barrier] seals it and opens another: when a sealed barrier and all
// older ones have reached zero, everything requested before it was processed.
// So a barrier costs one counter per request, however many items there are.
//
// A barrier that reaches zero leaves the list. If there is an older one, that is
// what its channel still waits for: it joins the barriers merged into that one.
// So every barrier in the list but the open one counts something, and no operation
// walks the list:
//
//	oldest                       open
//	[n: 1] ◀──▶ [n: 3] ◀──▶ [n: 0]
//	   └─ merged ─▶ [0] ─▶ [0]       closed together with the oldest
type barrier struct {
	id         barrierID
	n          int           // requests queued, again or running that count here
	done       chan struct{} // nil while the barrier is open
	next, prev *barrier
	merged     *barrier // next of the reached barriers that are closed together with this one
	tail       *barrier // last of them, or the barrier itself; only of barriers in the list
}

// barrierID is what an entry has instead of a pointer to a barrier, in half the space.
// 0 is none.
type barrierID uint32

// barriers is the list. Its zero value has no open barrier; init gives it one.
type barriers struct {
	open   *barrier
	sealed map[barrierID]*barrier // the others in the list; nil without any
}

func (m *barriers) init() { m.push() }

// push opens a new barrier behind the others.
func (m *barriers) push() {
	k := &barrier{prev: m.open, id: 1}
	k.tail = k
	if m.open != nil {
		if m.sealed == nil {
			m.sealed = make(map[barrierID]*barrier)
		}
		m.sealed[m.open.id] = m.open
		m.open.next = k
		k.id = m.unused(m.open.id + 1)
	}
	m.open = k
}

// unused returns the first identifier, from id on, that no barrier in the list has. After
// four billion barriers they begin again.
func (m *barriers) unused(id barrierID) barrierID {
	for id == 0 || m.sealed[id] != nil {
		id++
	}
	return id
}

// enter counts a request in the open barrier and returns that barrier.
func (m *barriers) enter() barrierID {
	m.open.n++
	return m.open.id
}

// leave counts a request as processed. It returns the barriers that this reached,
// whose channels are to be closed once the queue is unlocked.
func (m *barriers) leave(id barrierID) *barrier {
	k := m.open
	if id != k.id {
		k = m.sealed[id]
	}
	// The open barrier stays in the list at zero: the next request counts there.
	k.n--
	if k.n > 0 || k == m.open {
		return nil
	}
	delete(m.sealed, id)
	if len(m.sealed) == 0 {
		m.sealed = nil // a Go map never shrinks
	}
	older, newer := k.prev, k.next // there is a newer one: at least the open one
	newer.prev = older
	k.next, k.prev = nil, nil
	if older == nil {
		return k
	}
	// k is reached, but older requests are not processed: it waits for the barrier
	// before it. What was merged into k comes along.
	older.next = newer
	older.tail.merged = k
	older.tail = k.tail
	return nil
}

// seal returns a channel closed once all requests so far were processed.
func (m *barriers) seal() <-chan struct{} {
	k := m.open
	if k.n == 0 {
		if k.prev != nil {
			return k.prev.done // nothing new since that barrier
		}
		done := make(chan struct{}) // nothing is unprocessed
		close(done)
		return done
	}
	k.done = make(chan struct{})
	m.push()
	return k.done
}

// close closes the channels of k and of the barriers merged into it; nil is none.
// It is called without the lock. Only the caller of leave has k, so nothing else changes it.
func (k *barrier) close() {
	for ; k != nil; k = k.merged {
		close(k.done)
	}
}
