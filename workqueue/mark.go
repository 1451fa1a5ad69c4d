package workqueue

// mark counts the unprocessed requests made since the mark before it. Marks
// form a list, oldest first; the last one is open and counts what is added
// now. [Queue.Mark] seals it and opens another: when a sealed mark and all
// older ones have reached zero, everything requested before it was processed.
// So a mark costs one counter per request, however many items there are.
type mark struct {
	n    int           // requests queued, again or running that count here
	done chan struct{} // closed at zero; nil while the mark is open
	next *mark
}

// marks is the list. Its zero value has no open mark; init gives it one.
type marks struct{ oldest, open *mark }

func (m *marks) init() {
	m.open = new(mark)
	m.oldest = m.open
}

// enter counts a request in the open mark and returns that mark.
func (m *marks) enter() *mark {
	m.open.n++
	return m.open
}

// leave counts a request as processed.
func (m *marks) leave(k *mark) {
	k.n--
	for m.oldest.n == 0 && m.oldest.done != nil {
		close(m.oldest.done)
		m.oldest = m.oldest.next
	}
}

// seal returns a channel closed once all requests so far were processed.
func (m *marks) seal() <-chan struct{} {
	if m.open.n == 0 {
		if m.oldest == m.open { // nothing is unprocessed
			done := make(chan struct{})
			close(done)
			return done
		}
		// Nothing new since the mark before: it stands for this one, too.
		last := m.oldest
		for last.next != m.open {
			last = last.next
		}
		return last.done
	}
	k := m.open
	k.done = make(chan struct{})
	k.next = new(mark)
	m.open = k.next
	return k.done
}
