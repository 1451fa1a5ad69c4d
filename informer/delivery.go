package informer

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/eventlog"
)

// HandlerPanic describes a panic in a handler's OnEvent.
type HandlerPanic struct {
	// Handler is the name of the registration.
	Handler string
	// Type, Key and Origin are those of the event.
	Type   EventType
	Key    types.NamespacedName
	Origin Origin
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of the panic, formatted as by debug.Stack.
	Stack []byte
}

// delivery runs a handler: it has a goroutine while there is something to tell,
// and none otherwise.
type delivery[T Object] struct {
	*follower[T]
	name    string
	handler Handler[T]
	onPanic func(HandlerPanic)
	inf     *Informer[T]
	panics  atomic.Uint64
	runFn   func() // d.run, made once, so that starting it allocates nothing

	mu      sync.Mutex
	running bool
	again   bool          // something came up while running
	over    bool          // nothing will be told any more
	gone    chan struct{} // closed when over
}

func newDelivery[T Object](inf *Informer[T], h Handler[T], opts HandlerOptions) *delivery[T] {
	d := &delivery[T]{
		name:    opts.Name,
		handler: h,
		onPanic: opts.OnPanic,
		inf:     inf,
		gone:    make(chan struct{}),
	}
	d.follower = newFollower(inf.empty, d.call)
	d.runFn = d.run
	if opts.ResyncPeriod > 0 {
		d.resync = newResyncer(opts.ResyncPeriod, d.kick)
		d.onSync = d.resync.begin
	}
	return d
}

// kick makes sure that the delivery looks for something to tell.
func (d *delivery[T]) kick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
	case d.running:
		d.again = true
	default:
		d.running = true
		go d.runFn()
	}
}

func (d *delivery[T]) run() { callbacks(d) }

// callbacks is at the bottom of the stack of every goroutine that calls
// handlers, which is how inCallback finds out.
//
//go:noinline
func callbacks(d interface{ work() }) { d.work() }

// inCallback reports whether it is called from within a handler's OnEvent, in
// the same goroutine.
func inCallback() bool {
	var pcs [64]uintptr
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == callbacksName {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

const callbacksName = "github.com/informerkit/informerkit/informer.callbacks"

// work tells the handler until there is nothing left to tell.
func (d *delivery[T]) work() {
	ended := false
	defer func() {
		if !ended {
			d.rescue()
		}
	}()
	for {
		for !d.dead.Load() {
			if s := d.advance(); s == eventlog.Parked || s == eventlog.Closed {
				break
			}
		}
		if ended = d.rest(); ended {
			return
		}
	}
}

// rest ends the goroutine's work, unless something came up.
func (d *delivery[T]) rest() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead.Load() {
		d.finish()
		return true
	}
	if d.again {
		d.again = false
		return false
	}
	d.running = false
	return true
}

// rescue cleans up when a handler ended the goroutine with runtime.Goexit, as
// t.FailNow does. It does not recover from a panic, which ends the process.
func (d *delivery[T]) rescue() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inf.log.Error("a handler ended its goroutine (runtime.Goexit, or a panic) and is removed", "handler", d.name)
	d.finish()
}

// finish gives back what the delivery holds. It is called with mu held, by the
// goroutine that tells or when there is none.
func (d *delivery[T]) finish() {
	if d.over {
		return
	}
	d.over, d.running = true, false
	d.leave()
	d.resync.end()
	close(d.gone)
	d.inf.forget(d)
}

// stop makes sure that no further call of the handler starts.
func (d *delivery[T]) stop() {
	d.dead.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running {
		d.cursor.Leave() // the log must not wait for a call that may last for ever
		return
	}
	d.finish()
}

// call tells the handler of one event.
func (d *delivery[T]) call(e Event[T]) {
	if d.onPanic == nil {
		d.handler.OnEvent(e)
		return
	}
	d.callGuarded(e)
}

func (d *delivery[T]) callGuarded(e Event[T]) {
	defer func() {
		if v := recover(); v != nil {
			d.panics.Add(1)
			d.onPanic(HandlerPanic{
				Handler: d.name, Type: e.Type, Key: e.Key, Origin: e.Origin, Value: v, Stack: debug.Stack(),
			})
		}
	}()
	d.handler.OnEvent(e)
}

// health describes the delivery for [Health].
func (d *delivery[T]) health(now time.Time) HandlerHealth {
	h := HandlerHealth{
		Name:       d.name,
		Lag:        d.lag(),
		CatchingUp: d.stats.catching.Load(),
		Told:       d.stats.told.Load(),
		Overflows:  d.stats.leaps.Load(),
		Panics:     d.panics.Load(),
	}
	select {
	case <-d.synced:
		h.Synced = true
	default:
	}
	if since := d.stats.since.Load(); since != 0 {
		h.LagAge = now.Sub(time.Unix(0, since))
	}
	return h
}
