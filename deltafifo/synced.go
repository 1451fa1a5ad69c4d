package deltafifo

// initialState notes when the consumer has processed what a DeltaFIFO was first
// given: everything that was queued when the first list came or, as long as none
// has, when the first other write was made.
//
// No object jumps the line. So that is when as many objects have been processed
// as had been pushed by then, and two counters do instead of a set of keys.
type initialState struct {
	pushed, processed uint64 // objects, since the queue was made
	upTo              uint64 // the value of pushed with the last initial object; if written
	written, listed   bool
	synced            chan struct{} // closed when processed has reached upTo
}

// noteWrite notes a write that has been queued. The mutex must be locked.
func (q *DeltaFIFO[T]) noteWrite(list bool) {
	s := &q.initial
	if isClosed(s.synced) {
		return
	}
	if !s.written || list && !s.listed {
		s.upTo = s.pushed
	}
	s.written = true
	s.listed = s.listed || list
	s.check()
}

// check closes synced when it is time to. The mutex of the queue must be locked.
func (s *initialState) check() {
	if s.written && s.processed >= s.upTo && !isClosed(s.synced) {
		close(s.synced)
	}
}

// HasSynced reports whether the initial state has been processed: everything
// that was queued when the first Replace had been made or, as long as there is
// none, the first other write. It is true at once if there is nothing to
// process, as after an empty Replace. Within process it reports whether the
// deltas are from after the initial state. Once true it stays true.
//
// An object counts as processed when process has returned, with or without an
// error: one bad object does not keep all others from being in use.
func (q *DeltaFIFO[T]) HasSynced() bool { return isClosed(q.initial.synced) }

// Synced returns a channel that is closed when HasSynced becomes true.
func (q *DeltaFIFO[T]) Synced() <-chan struct{} { return q.initial.synced }

// isClosed reports whether ch is closed; nothing is ever sent on it.
func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
