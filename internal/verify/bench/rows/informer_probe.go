package rows

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// probe measures the time from when events are due to when every one of its
// handlers has received them.
//
// An event is due at a fixed time, whatever became of those before it. If the
// sender, the watch or a handler is late, all the events that had to wait for it
// are late, as they would be with a server.
type probe struct {
	epoch    time.Time
	events   int
	handlers []*deliveryTimes
	done     chan struct{}
}

// deliveryTimes are the times at which one handler received events, since the epoch.
type deliveryTimes struct {
	at []time.Duration
	_  [40]byte // a cache line of its own
}

func newProbe(events int) *probe {
	return &probe{epoch: time.Now(), events: events, done: make(chan struct{})}
}

// handler returns what a further handler has to call on each event.
func (p *probe) handler() func() {
	t := &deliveryTimes{at: make([]time.Duration, 0, p.events)}
	p.handlers = append(p.handlers, t)
	return func() {
		t.at = append(t.at, time.Since(p.epoch))
		if len(t.at) == p.events {
			p.done <- struct{}{}
		}
	}
}

// run sends the events at a rate per second, and returns their latencies.
func (p *probe) run(f *feed, u *updates, rate int) []time.Duration {
	for _, t := range p.handlers {
		t.at = t.at[:0]
	}
	interval := time.Second / time.Duration(rate)
	clock := newBeats(interval)
	defer clock.stop()
	for sent := 0; sent < p.events; {
		due := min(clock.wait(), p.events-sent)
		for range due {
			f.send(watch.Modified, u.take())
		}
		sent += due
	}
	for range p.handlers {
		<-p.done
	}
	return p.latencies(clock.start, interval)
}

// latencies returns how long each event took to the last handler.
func (p *probe) latencies(start time.Time, interval time.Duration) []time.Duration {
	latencies := make([]time.Duration, p.events)
	for i := range latencies {
		from := start.Add(time.Duration(i+1) * interval).Sub(p.epoch)
		for _, t := range p.handlers {
			latencies[i] = max(latencies[i], t.at[i]-from)
		}
	}
	return latencies
}
