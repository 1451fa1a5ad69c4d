package workqueue

import (
	"context"
	"runtime/debug"
	"time"
)

// work is one worker's loop.
func (p *processor[T]) work() {
	for {
		item, ok := p.q.engine.get(p.takes, p.number)
		if !ok {
			return
		}
		p.one(item)
	}
}

// one processes one item. Whatever fn does, the item is done afterwards.
func (p *processor[T]) one(item T) {
	forget := false
	defer func() { p.q.engine.done(item, forget) }()
	began := time.Now()
	err := p.call(item)
	o := Outcome[T]{Item: item, Err: err, Took: time.Since(began), Attempt: 1 + p.q.engine.retriesOf(item)}
	o.Action, o.After = classify(err)
	if o.Action == Retried && p.MaxAttempts > 0 && o.Attempt >= p.MaxAttempts && p.items.Err() == nil {
		o.Action = Dropped // unless it may have failed only because of the stop
	}
	if o.Action == Dropped {
		p.q.engine.countDropped()
	}
	if o.Action == Retried {
		if !p.q.retry(item) {
			o.Action = Interrupted
			p.leave(&p.left.Queued, item)
		}
	} else {
		p.q.limiter.Forget(item)
		forget = true
	}
	if o.Action == Requeued {
		o.Err = nil
		if !p.q.engine.addAfter(item, o.After, false) {
			p.leave(&p.left.Delayed, item)
		}
	}
	p.report(o)
}

// leave puts an item that the queue does not accept any more to the leftovers.
func (p *processor[T]) leave(where *[]T, item T) {
	p.q.engine.countShutdownLoss()
	p.mu.Lock()
	defer p.mu.Unlock()
	*where = append(*where, item)
}

// call runs fn with the context of one item.
func (p *processor[T]) call(item T) (err error) {
	ctx := p.items
	if p.ItemTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.ItemTimeout)
		defer cancel()
	}
	if p.CapturePanics {
		defer func() {
			if v := recover(); v != nil {
				err = &PanicError{Value: v, Stack: debug.Stack()}
			}
		}()
	}
	return p.fn(ctx, item)
}

func (p *processor[T]) report(o Outcome[T]) {
	if o.Err != nil {
		p.logFailure(o)
	}
	if p.OnOutcome != nil {
		p.OnOutcome(o)
	}
}
