package clientgo

import (
	"cmp"
	"slices"
	"sync"
	"time"

	upstream "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/workqueue"
)

// clockDelays keeps the delayed items of a queue whose configuration has a clock: a
// fake one, in a test that steps it. Our queue knows only the real clock. A timer and
// a goroutine for each delay are dear, and simple.
//
// The lock order is mu, then the lock of the queue: add and fire call the queue with mu
// held, and the queue never calls back.
type clockDelays[T comparable] struct {
	clock   clock.WithTicker
	limiter upstream.TypedRateLimiter[T]
	queue   *workqueue.RateLimitingQueue[T]
	metrics workqueue.Metrics // may be nil
	stopped chan struct{}

	// mu guards due and n.
	mu  sync.Mutex
	due map[T]deadline
	// Counts requests, for deadline.n.
	n uint64
}

// A deadline is when a delay ends; of equal ones, the earlier request comes first.
type deadline struct {
	at time.Time
	n  uint64
}

// isReal reports whether a clock is the real one, which needs none of this. A nil clock
// is what client-go's configurations have by default. Another implementation that is
// real as well is taken for a fake one, which only costs more.
func isReal(c clock.WithTicker) bool {
	switch c.(type) {
	case nil, clock.RealClock, *clock.RealClock:
		return true
	}
	return false
}

// newClockDelays returns delays by a clock. It starts no goroutine.
func newClockDelays[T comparable](c clock.WithTicker, limiter upstream.TypedRateLimiter[T], queue *workqueue.RateLimitingQueue[T], metrics workqueue.Metrics) *clockDelays[T] {
	return &clockDelays[T]{clock: c, limiter: limiter, queue: queue, metrics: metrics, stopped: make(chan struct{}), due: map[T]deadline{}}
}

// add delays an item, unless it is delayed by less already. The earlier of two
// deadlines wins, as in client-go's delaying queue.
func (d *clockDelays[T]) add(item T, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue.ShuttingDown() {
		return
	}
	at := d.clock.Now().Add(wait)
	// The goroutine of a longer delay stays: when its timer fires, it finds nothing
	// due, or what has become due meanwhile.
	if old, ok := d.due[item]; ok && !at.Before(old.at) {
		return
	}
	d.n++
	d.due[item] = deadline{at: at, n: d.n}
	// Made with the lock held: between Now and NewTimer a test could otherwise step its
	// clock, and the timer would end later than the deadline.
	timer := d.clock.NewTimer(wait)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			d.fire()
		case <-d.stopped:
		}
	}()
}

// addRateLimited delays an item by what the limiter says. The limiter is asked here and
// not by the queue, whose delay would be by the real clock. So the retry is counted
// here, too.
func (d *clockDelays[T]) addRateLimited(item T) {
	if d.queue.ShuttingDown() {
		return
	}
	wait := d.limiter.When(item)
	if d.metrics != nil {
		d.metrics.Retried()
	}
	if wait <= 0 {
		d.queue.Add(item)
		return
	}
	d.add(item, wait)
}

// fire adds all items whose delay is over, in the order of their deadlines, as a clock
// that is stepped ends many at once. Each item is added once, however many timers of it
// fire.
func (d *clockDelays[T]) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	var over []T
	for item, at := range d.due {
		if !at.at.After(now) {
			over = append(over, item)
		}
	}
	slices.SortFunc(over, func(a, b T) int {
		return cmp.Or(d.due[a].at.Compare(d.due[b].at), cmp.Compare(d.due[a].n, d.due[b].n))
	})
	for _, item := range over {
		delete(d.due, item)
		d.queue.Add(item)
	}
}

// stop ends the goroutines of all delays. It does not wait for them: each ends without
// touching the queue. It is called once: newWorkQueue wraps it in a sync.OnceFunc.
func (d *clockDelays[T]) stop() { close(d.stopped) }
