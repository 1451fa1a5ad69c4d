package wire

import (
	"errors"
	"runtime"
	"time"
)

// errCaughtUp ends the reading ahead: the burst is over, and the stream goes on.
var errCaughtUp = errors.New("nothing is left to read ahead")

const (
	// burstEvents is how many events in a row must have been there before they were asked
	// for, to be taken for a burst. Starting a goroutine costs a fraction of decoding one.
	burstEvents = 8
	// calmEvents is how many events in a row must have been waited for, to end it.
	calmEvents = 3
)

// lag finds out whether the reading of a stream falls behind its server.
//
//	Next        │ split │ open │ what the caller does │ split │ …
//	            │ wait  │           work              │ wait  │
//
// An event for which there was less waiting than work with the one before it was there
// already, most of the time. If several are, two cores would be done with them earlier
// than one.
type lag struct {
	asked, got time.Time // the latest split
	behind     int
}

// before is called before a split.
func (l *lag) before() { l.asked = time.Now() }

// after is called after it. It reports whether there is a burst that is worth reading ahead
// for.
func (l *lag) after() bool {
	now := time.Now()
	work := l.asked.Sub(l.got)
	if l.got.IsZero() || now.Sub(l.asked) >= work {
		l.behind = 0
	} else {
		l.behind++
	}
	l.got = now
	return l.behind >= burstEvents && runtime.GOMAXPROCS(0) > 1
}

// readBurst reads ahead until whoever takes has to wait for the server. An event that
// comes alone then is handed over like any other: Next decodes it at once.
func (s *Stream[T]) readBurst(ahead *pipeline[Event[T]]) error {
	for calm := 0; calm < calmEvents; {
		frame, err := s.frames.split()
		if err != nil {
			return err
		}
		if ahead.starved() {
			calm++
		} else {
			calm = 0
		}
		if _, err := s.handOver(ahead, frame); err != nil {
			return err
		}
	}
	return errCaughtUp
}
