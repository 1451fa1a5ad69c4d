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
	queue   *deltafifo.DeltaFIFO[T]
	state   atomic.Int32 // a consumerState
	working sync.WaitGroup

	// Set by start.
	ctx     context.Context //nolint:containedctx // that of start, until stop
	process func(deltafifo.Batch[T]) error
	workFn  func() // c.work, made once, so that to start it allocates nothing

	// exited is set when a call of process has ended its goroutine.
	exited atomic.Bool
	mu     sync.Mutex
	onExit func(error) // called then; guarded by mu
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
// until ctx ends. If process ends its goroutine, nothing can be applied any more: the queue
// is closed, and exited set. Start is called once, before the first write.
func (c *consumer[T]) start(ctx context.Context, process func(deltafifo.Batch[T]) error) {
	c.ctx, c.process, c.workFn = ctx, process, c.work
	c.state.Store(int32(consumerIdle))
}

// whenExited has f called with errApplyExited when process ends its goroutine, or at once if
// it has. It replaces what it was given before.
func (c *consumer[T]) whenExited(f func(error)) {
	c.mu.Lock()
	c.onExit = f
	exited := c.exited.Load()
	c.mu.Unlock()
	if exited {
		f(errApplyExited)
	}
}

// exit notes that process has ended its goroutine.
func (c *consumer[T]) exit() {
	c.mu.Lock()
	c.exited.Store(true) // before the queue, so that a write that finds it closed knows why
	f := c.onExit
	c.mu.Unlock()
	c.queue.Close()
	if f != nil {
		f(errApplyExited)
	}
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

// stop waits until what is queued is applied, the context of start has ended or process has
// exited; then process is not called again. The queue must be closed.
func (c *consumer[T]) stop() {
	c.state.Store(int32(consumerStopped))
	c.working.Wait()
}

// work applies what is queued until there is nothing left, or ctx has ended.
func (c *consumer[T]) work() {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, or a panic that ends the process
			c.exit()
		}
		c.working.Done()
	}()
	for {
		// There is one consumer, so Pop does not wait for what Len has seen.
		for c.queue.Len() > 0 {
			if c.queue.Pop(c.ctx, c.process) != nil {
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
