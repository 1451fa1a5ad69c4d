//go:build !linux

package rows

import "time"

// beats is a clock that beats at fixed times. It is as exact as the timers of
// the runtime are.
type beats struct {
	start    time.Time
	interval time.Duration
	ticks    int
}

// newBeats starts the clock. The first beat is due one interval after the start.
func newBeats(interval time.Duration) *beats {
	return &beats{start: time.Now(), interval: interval}
}

// wait waits for the next beat, and returns how many there were since the last
// call. None is lost.
func (b *beats) wait() int {
	time.Sleep(time.Until(b.start.Add(time.Duration(b.ticks+1) * b.interval)))
	n := int(time.Since(b.start)/b.interval) - b.ticks
	b.ticks += n
	return n
}

func (b *beats) stop() {}
