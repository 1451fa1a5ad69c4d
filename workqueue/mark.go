package workqueue

// mark counts the unprocessed requests made since the mark before it. Marks
// form a list, oldest first; the last one is open and counts what is added
// now. [Queue.Mark] seals it and opens another: when a sealed mark and all
// older ones have reached zero, everything requested before it was processed.
// So a mark costs one counter per request, however many items there are.
//
// A mark that reaches zero leaves the list. If there is an older one, that is
// what its channel still waits for: it joins the marks merged into that one.
// So every mark in the list but the open one counts something, and no operation
// walks the list:
//
//	oldest                       open
//	[n: 1] ◀──▶ [n: 3] ◀──▶ [n: 0]
//	   └─ merged ─▶ [0] ─▶ [0]       closed together with the oldest
type mark struct {
	n          int           // requests queued, again or running that count here
	done       chan struct{} // nil while the mark is open
	next, prev *mark
	merged     *mark // next of the reached marks that are closed together with this one
	tail       *mark // last of them, or the mark itself; only of marks in the list
}

// marks is the list. Its zero value has no open mark; init gives it one.
type marks struct{ open *mark }

func (m *marks) init() { m.push() }

// push opens a new mark behind the others.
func (m *marks) push() {
	k := &mark{prev: m.open}
	k.tail = k
	if m.open != nil {
		m.open.next = k
	}
	m.open = k
}

// enter counts a request in the open mark and returns that mark.
func (m *marks) enter() *mark {
	m.open.n++
	return m.open
}

// leave counts a request as processed. It returns the marks that this reached,
// whose channels are to be closed once the queue is unlocked.
func (m *marks) leave(k *mark) *mark {
	k.n--
	if k.n > 0 || k == m.open {
		return nil
	}
	older, newer := k.prev, k.next // there is a newer one: at least the open one
	newer.prev = older
	k.next, k.prev = nil, nil
	if older == nil {
		return k
	}
	older.next = newer
	older.tail.merged = k
	older.tail = k.tail
	return nil
}

// seal returns a channel closed once all requests so far were processed.
func (m *marks) seal() <-chan struct{} {
	k := m.open
	if k.n == 0 {
		if k.prev != nil {
			return k.prev.done // nothing new since that mark
		}
		done := make(chan struct{}) // nothing is unprocessed
		close(done)
		return done
	}
	k.done = make(chan struct{})
	m.push()
	return k.done
}

// close closes the channels of k and of the marks merged into it; nil is none.
func (k *mark) close() {
	for ; k != nil; k = k.merged {
		close(k.done)
	}
}
