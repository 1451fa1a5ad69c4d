package informer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/informerkit/informerkit/deltafifo"
)

// consumer applies what is queued by a source. It has a goroutine while there is
// something to apply, and none otherwise.
//
//	         start         wake, after a write: go work()
//	stopped ───────▶ idle ────────────────────────────────▶ running
//	   ▲              │  ▲                                     │
//	   │              │  └──────────── nothing queued ─────────┤
//	   └──────────────┴────────────────── stop ────────────────┘
//
// No write is overlooked: a producer writes first and looks at the state then, and
// work becomes idle first and looks at the queue then. So one of the two sees the
// other, and the compare-and-swap from idle to running has one winner.
//
// An idle consumer costs neither a goroutine nor a stack: a program may have
// informers of hundreds of collections in which little happens.
type consumer[T Object] struct {
	queue   *deltafifo.BatchFIFO[T]
	state   atomic.Int32 // a consumerState
	working sync.WaitGroup
	workFn  func() // set by start; made once, so that to start it allocates nothing
	// exited is whether a call of process has ended its goroutine. It may be read after stop.
	exited bool
}

// consumerState is the state of a consumer; see there.
type consumerState int32

const (
	consumerStopped consumerState = iota // also before start
	consumerIdle
	consumerRunning
)

// errApplyExited is why an informer stops whose changes are not applied any more.
var errApplyExited = errors.New("a function that was called while changes were applied ended its goroutine (runtime.Goexit, as t.FailNow does); " +
	"Metrics and index functions must return")

// start makes the consumer call process with each batch that is queued from now on,
// until ctx ends. If process ends its goroutine, nothing can be applied any more, and
// cancel is called. Start is called once, before the first write.
func (c *consumer[T]) start(ctx context.Context, cancel func(), process func([]deltafifo.Change[T]) error) {
	c.workFn = func() { c.work(ctx, cancel, process) }
	c.state.Store(int32(consumerIdle))
}

// enter goes from one state to another, unless it is in another one.
func (c *consumer[T]) enter(from, to consumerState) bool {
	return c.state.CompareAndSwap(int32(from), int32(to))
}

// wake makes sure that what was queued before is applied. It must not be called while
// stop is.
func (c *consumer[T]) wake() {
	// The load comes first: while there is a goroutine, many writers only read the state.
	if consumerState(c.state.Load()) == consumerIdle && c.enter(consumerIdle, consumerRunning) {
		c.working.Add(1)
		go c.workFn()
	}
}

// stop keeps process from being called again, and waits for a call that is running. The
// context of start must have ended.
func (c *consumer[T]) stop() {
	c.state.Store(int32(consumerStopped))
	c.working.Wait()
}

// work applies what is queued until there is nothing left, or ctx has ended.
func (c *consumer[T]) work(ctx context.Context, cancel func(), process func([]deltafifo.Change[T]) error) {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, or a panic that ends the process
			c.exited = true
			cancel()
		}
		c.working.Done()
	}()
	for {
		// There is one consumer, so PopBatch does not wait for what Len has seen.
		for c.queue.Len() > 0 {
			if c.queue.PopBatch(ctx, process) != nil {
				// The context has ended. The state stays: no other goroutine is to try.
				returned = true
				return
			}
		}
		if returned = c.rest(); returned {
			return
		}
	}
}

// rest ends the work of a goroutine that has found nothing queued and returns true, unless
// something was queued since: that write found it running, and has started no other.
func (c *consumer[T]) rest() bool {
	if !c.enter(consumerRunning, consumerIdle) {
		return true // stopped
	}
	return c.queue.Len() == 0 || !c.enter(consumerIdle, consumerRunning)
}
