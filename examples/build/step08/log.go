package build

// Log is the events in their order. Its last place is always empty. Each reader has its
// place in it, and goes on when the place is filled. The log itself has only its end, so
// what all readers have passed is garbage, which Go collects.
type Log struct {
	end *record // the place of the next event
}

// record is a place in the log.
type record struct {
	filled chan struct{} // closed when the rest is set
	event  Event
	next   *record
}

func newLog() *Log { return &Log{end: &record{filled: make(chan struct{})}} }

// append fills the place at the end. It costs the same for any number of readers.
func (l *Log) append(event Event) {
	filled := l.end
	l.end = &record{filled: make(chan struct{})}
	filled.event, filled.next = event, l.end
	close(filled.filled)
}
