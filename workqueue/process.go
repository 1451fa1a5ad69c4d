package workqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// ProcessOptions configures [ProcessWith]. The zero value is one worker that
// retries without end.
type ProcessOptions[T comparable] struct {
	// Workers is how many items are processed at once; 0 means 1.
	Workers int

	// MaxAttempts is after how many failures in a row an item is dropped; 0
	// means never.
	MaxAttempts int

	// ItemTimeout, if not 0, ends the context of each item after so long.
	ItemTimeout time.Duration

	// CapturePanics turns a panic of the function into a failure of the item, as a
	// [PanicError]. Otherwise it crashes the program, as panics do.
	CapturePanics bool

	// Drain makes the end of the context a [Queue.ShutDownWithDrain]: what is
	// queued then is processed before ProcessWith returns.
	Drain bool

	// StopTimeout is how long running items (with Drain, queued ones too) may
	// go on undisturbed once the context is done. Then their contexts are
	// cancelled and ProcessWith returns [ErrStopTimeout] without waiting any
	// more. 0 means that their contexts are cancelled at once (with Drain,
	// never) and that ProcessWith waits for them, however long they take.
	StopTimeout time.Duration

	// Logger gets what goes wrong; successes are not logged. Nil means
	// [slog.Default]; [slog.DiscardHandler] silences.
	//
	// A failure is a warning. An item that fails again for the same reason, by the
	// text of the error, is logged again after a minute, with the number of failures
	// since. This is remembered for 1,024 items. If more fail within a minute, a
	// line per minute counts the failures that are not logged one by one. Dropped
	// items and panics are errors and always logged. What fails during the stop is
	// logged at info level, and at debug level if the stop has cancelled its context.
	Logger *slog.Logger

	// OnOutcome, if set, is called by the worker after each item, before the
	// item is done.
	OnOutcome func(Outcome[T])
}

// ErrStopTimeout is returned by [ProcessWith] when items were still running at
// the end of [ProcessOptions].StopTimeout.
var ErrStopTimeout = errors.New("workqueue: items were still running at the end of the stop timeout")

// Process runs fn for the items of q, up to workers at a time, until ctx is done
// or q is shut down and empty. It is [ProcessWith] with nothing but the number
// of workers set, for functions that succeed or fail and ask for nothing else: when ctx is done, the contexts of running items are
// cancelled, q is shut down, and Process returns when all calls of fn have
// returned. What is left in the queue is dropped and counted in [Stats]. Failures
// are logged to [slog.Default]. The error is not nil only if the arguments are
// wrong.
func Process[T comparable](ctx context.Context, q *RateLimitingQueue[T], workers int, fn func(context.Context, T) error) error {
	if workers < 1 {
		return fmt.Errorf("workqueue: %d workers; at least 1 is needed", workers)
	}
	if fn == nil {
		return errors.New("workqueue: Process needs a function, it got nil")
	}
	return ProcessWith(ctx, q, ProcessOptions[T]{Workers: workers}, func(ctx context.Context, item T) (Result, error) {
		return Result{}, fn(ctx, item)
	})
}

// ProcessWith takes items from q, runs fn for each, and does what its result
// asks for:
//
//	Result{}, nil              forget the item's failures
//	{RequeueAfter: d}, nil     forget them, and add the item again after d
//	{Until: c}, nil            forget them, and add it again when c is met
//	{Until: c, Hold: true}     forget them; what is added waits until c is met
//	any Result, Terminal(err)  forget them; the item is dropped
//	any Result, another error  AddRateLimited; after MaxAttempts failures, drop it
//
// Whatever else it returned, with [Result].Until the item is not processed again
// before the condition is met.
//
// It returns when ctx is done, after stopping as the options say, or when another
// caller has shut q down and it is empty. In the first case it shuts q down and drops
// what is left in it, which is counted in [Stats].ShutdownLosses. The context that fn
// gets carries the values of ctx. An fn that calls [runtime.Goexit] ends its worker.
//
// One call works on a queue at a time, with as many workers as the options say; a second
// one returns an error.
func ProcessWith[T comparable](ctx context.Context, q *RateLimitingQueue[T], opts ProcessOptions[T], fn func(context.Context, T) (Result, error)) error {
	p, err := newProcessor(q, opts, fn)
	if err != nil {
		return err
	}
	if !q.processed.CompareAndSwap(false, true) {
		return errors.New("workqueue: the queue is being processed already; set ProcessOptions.Workers for more workers")
	}
	defer q.processed.Store(false)
	return p.run(ctx)
}

// processor is one call of ProcessWith.
//
// takes ends before items: a worker that is to take no more items may still finish the
// one that it has, undisturbed.
type processor[T comparable] struct {
	ProcessOptions[T]
	q        *RateLimitingQueue[T]
	fn       func(context.Context, T) (Result, error)
	failures *failureLog[T]
	// Contexts live here only for the duration of run.
	takes context.Context // done: take no more items
	items context.Context // parent of the items' contexts
}

// newProcessor checks the arguments of ProcessWith and fills in the defaults.
func newProcessor[T comparable](q *RateLimitingQueue[T], opts ProcessOptions[T], fn func(context.Context, T) (Result, error)) (*processor[T], error) {
	switch {
	case q == nil:
		return nil, errors.New("workqueue: ProcessWith needs a queue, it got nil")
	case fn == nil:
		return nil, errors.New("workqueue: ProcessWith needs a function, it got nil")
	case opts.Workers < 0, opts.MaxAttempts < 0, opts.ItemTimeout < 0, opts.StopTimeout < 0:
		return nil, errors.New("workqueue: Workers, MaxAttempts, ItemTimeout and StopTimeout must not be negative")
	}
	opts.Workers = max(1, opts.Workers)
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	return &processor[T]{ProcessOptions: opts, q: q, fn: fn, failures: newFailureLog[T]()}, nil
}

// run starts the workers, and waits until they have ended or ctx is done. There are
// two contexts, as taking items may end long before the items in process do.
func (p *processor[T]) run(ctx context.Context) error {
	// Not derived from ctx's cancellation: items may go on for StopTimeout after it.
	var stopItems context.CancelFunc
	p.items, stopItems = context.WithCancel(context.WithoutCancel(ctx))
	defer stopItems()
	takes := ctx
	if p.Drain {
		takes = context.WithoutCancel(ctx)
	}
	var stopTaking context.CancelFunc
	p.takes, stopTaking = context.WithCancel(takes)
	defer stopTaking()

	var workers sync.WaitGroup
	for range p.Workers {
		workers.Go(func() {
			for {
				item, retries, ok := p.q.take(p.takes)
				if !ok {
					return
				}
				p.one(item, retries)
			}
		})
	}
	// Waiting for a WaitGroup cannot be part of a select, so a goroutine turns it into
	// a channel. After a stop timeout it stays until the last worker has returned.
	finished := make(chan struct{})
	go func() {
		workers.Wait()
		close(finished)
	}()

	select {
	case <-finished:
	case <-ctx.Done():
	}
	if ctx.Err() == nil { // the queue was shut down, and nothing is left
		return nil
	}
	return p.stop(finished, stopTaking, stopItems)
}

// stop ends the processing as the options say.
func (p *processor[T]) stop(finished <-chan struct{}, stopTaking, stopItems func()) error {
	p.q.close()
	// A nil channel: without StopTimeout, the wait for the workers has no end.
	var timeout <-chan time.Time
	if p.StopTimeout > 0 {
		t := time.NewTimer(p.StopTimeout)
		defer t.Stop()
		timeout = t.C
	} else if !p.Drain {
		stopItems()
	}
	var err error
	select {
	case <-finished:
	case <-timeout:
		stopTaking()
		stopItems()
		err = ErrStopTimeout
	}
	dropped, running := p.q.dropAll()
	if running == 0 && (!p.Drain || dropped == 0) {
		err = nil // the last one ended at that very moment
	}
	return err
}

// one processes one item, which failed retries times in a row. Whatever fn does, the item is done afterwards.
func (p *processor[T]) one(item T, retries int) {
	forget := false
	// Deferred, so that it also happens after runtime.Goexit. All that follows is before
	// Done: until then no other worker can get the item and act on half of the outcome.
	defer func() { p.q.done(item, true, forget) }()
	began := time.Now()
	// No lock is held here, and the only claim on the item is that it is running.
	result, err := p.call(item)
	o := Outcome[T]{Item: item, Result: result, Err: err, Took: time.Since(began), Attempt: 1 + retries}
	o.Action = classify(result, err)
	if o.Action == Retried && p.MaxAttempts > 0 && o.Attempt >= p.MaxAttempts && p.items.Err() == nil {
		o.Action = Dropped // unless it may have failed only because of the stop
	}
	if _, panicked := err.(*PanicError); panicked {
		p.q.count1(&p.q.count.panics)
	}
	p.observe(&o)
	if accepted := p.act(&o); !accepted && o.Action == Retried {
		o.Action = Interrupted
		p.observe(&o)
	}
	// A dropped item is forgotten too: added again, it begins with the shortest delay.
	if o.Action != Retried && o.Action != Interrupted {
		p.q.limiter.Forget(item)
		forget = true
	}
	if err != nil {
		p.logFailure(&o)
	}
	if p.OnOutcome != nil {
		p.OnOutcome(o)
	}
}

// act does what the outcome asks for. It returns false if the queue is shut down and does not
// accept the request.
func (p *processor[T]) act(o *Outcome[T]) (accepted bool) {
	accepted = true
	// First of all the item is parked: then that holds back the request for it too.
	if o.Result.Until != nil {
		parked := p.q.park(o.Item, o.Result.Until, o.Result.ParkTimeout, o.Action == Parked)
		accepted = parked || o.Action != Parked
	}
	switch o.Action {
	case Retried:
		accepted = p.q.retry(o.Item)
	case Requeued:
		accepted = p.q.addAfter(o.Item, o.Result.RequeueAfter, false)
	case Dropped:
		p.q.count1(&p.q.count.dropped)
	}
	if !accepted {
		p.q.count1(&p.q.count.shutdownLosses)
	}
	return accepted
}

// observe shows the outcome to the observers of the queue.
func (p *processor[T]) observe(o *Outcome[T]) {
	if p.q.opts.Observe != nil {
		p.q.opts.Observe(Observation[T]{
			Step: StepOutcome, Item: o.Item, Time: time.Now(), Running: true,
			Duration: o.Took, Attempt: o.Attempt, Action: o.Action, Err: o.Err,
		})
	}
}

// call runs fn with the context of one item.
func (p *processor[T]) call(item T) (result Result, err error) {
	ctx := p.items
	if p.ItemTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.ItemTimeout)
		defer cancel()
	}
	// Without the option there is no recover at all, so the crash report is that of
	// any other panic.
	if p.CapturePanics {
		defer func() {
			if v := recover(); v != nil {
				result, err = Result{}, &PanicError{Value: v, Stack: debug.Stack()}
			}
		}()
	}
	return p.fn(ctx, item)
}

// logFailure logs a failure, unless it only repeats what was logged.
func (p *processor[T]) logFailure(o *Outcome[T]) {
	reason := fmt.Sprint(o.Err) // survives a panic in Error
	attrs := []slog.Attr{
		slog.String("queue", p.q.opts.Name),
		slog.Any("item", o.Item),
		slog.Int("attempt", o.Attempt),
		slog.String("action", string(o.Action)),
		slog.Any("error", o.Err),
	}
	if strings.Contains(reason, "\n") { // of errors.Join: a log line is one line
		attrs[len(attrs)-1] = slog.String("error", strings.ReplaceAll(reason, "\n", "; "))
	}
	var panicked *PanicError
	level, text := slog.LevelWarn, "processing an item failed"
	switch isPanic := errors.As(o.Err, &panicked); {
	case o.Action == Dropped:
		level, text = slog.LevelError, "processing an item failed, and it is dropped"
	case isPanic:
		level, text = slog.LevelError, "processing an item panicked"
	case p.items.Err() != nil:
		// Cancelled by the stop: expected. An item that failed undisturbed is a
		// failure like any other.
		level, text = slog.LevelDebug, "processing an item was interrupted by the stop"
	case o.Action == Interrupted:
		level, text = slog.LevelInfo, "processing an item failed during the stop, which ends its retries"
	default:
		line, since, unlogged := p.failures.note(o.Item, reason)
		if !line {
			return
		}
		if unlogged > 0 {
			text = "processing fails for more items than are logged one by one; this is one of them"
		}
		if suppressed := since + unlogged; suppressed > 0 {
			attrs = append(attrs, slog.Int("suppressed", suppressed))
		}
	}
	if panicked != nil {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	p.Logger.LogAttrs(p.items, level, text, attrs...)
}
