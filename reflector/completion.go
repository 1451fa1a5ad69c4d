package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// completion ends a stream whose initial events take too long altogether. When
// the time is up it looks at how fast they came of late: a large collection
// gets as much time as it needs.
type completion struct {
	fresh atomic.Int64 // new objects so far
	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

// completion starts the watch over the initial events of live. It ends the stream with
// errNoBookmark.
func (r *Reflector[T]) completion(live *liveStream[T]) *completion {
	const window = 5 * time.Second
	c := &completion{}
	seen := int64(0)
	// check runs at the end of each window, at first of the whole allowance.
	var check func()
	check = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.done {
			return
		}
		n := c.fresh.Load()
		elapsed := window
		// The first look is over the whole allowance, each later one over a window of
		// its own.
		if seen == 0 {
			elapsed = r.opts.Timeouts.Completion
		}
		// Too slow for a collection that is still being sent: it is complete, and the
		// bookmark does not come.
		if float64(n-seen) < bulkRate*elapsed.Seconds() {
			live.cancel(errNoBookmark)
			return
		}
		seen = n
		c.timer = time.AfterFunc(window, check)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// With mu held, as check may run at once, and sets timer.
	c.timer = time.AfterFunc(r.opts.Timeouts.Completion, check)
	return c
}

// stop ends the watch over the stream.
func (c *completion) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	c.timer.Stop()
}
