package workqueue

import "time"

// releaseBatch is how many delayed items are queued at most before others get
// a chance to take the lock.
const releaseBatch = 256

// addAfter asks for the item to be handed out once d has passed, and returns
// false if the queue is shut down. With retry, it counts as a retry.
func (q *engine[T]) addAfter(item T, d time.Duration, retry bool) bool {
	var r request[T]
	q.prepare(&r, item)
	now := q.now()
	q.mu.Lock()
	if q.shuttingDown {
		q.mu.Unlock()
		return false
	}
	now = q.observe(now)
	e := q.table.findOrInsert(r.hash, &r.item, &q.free)
	if retry {
		q.count.retried++
		e.retries++
	}
	added := q.delayLocked(e, &r, now, d)
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if m := q.opts.Metrics; m != nil {
		if retry {
			m.Retried()
		}
		if added {
			m.Added(1)
		}
	}
	return true
}

// delayLocked asks for e after d and reports whether it asked at once.
func (q *engine[T]) delayLocked(e *entry[T], r *request[T], now int64, d time.Duration) bool {
	if e.queued || e.again {
		return false // comes sooner than any delay
	}
	if !e.running && !e.delayed() {
		// Else it keeps its class: a request for later, or a retry, is no sign
		// that the item has become more urgent.
		e.class = q.order.clamp(r.class)
	}
	q.setGroup(e, r)
	if d <= 0 {
		if e.delayed() {
			q.delays.remove(e)
		}
		q.ask(e, now)
		return true
	}
	at := now + int64(d)
	if at < now {
		at = maxTime // a delay of centuries
	}
	switch {
	case !e.delayed():
		e.at = at
		q.delays.add(e)
	case at < e.at:
		e.at = at
		q.delays.advance(e)
	}
	q.arm(now)
	return false
}

// arm makes the timer fire when the first delay ends. A timer that fires too
// early, because what it was set for has been superseded, is left alone: to
// find nothing to do is cheaper than to stop the timer each time.
func (q *engine[T]) arm(now int64) {
	if q.delays.len() == 0 {
		return
	}
	at := q.delays.first().at
	if at >= q.armed {
		return
	}
	q.armed = at
	d := time.Duration(max(0, at-now))
	if q.timer == nil {
		q.timer = time.AfterFunc(d, q.release)
	} else {
		q.timer.Reset(d)
	}
}

// release queues the entries whose delay has ended. The runtime calls it in a
// goroutine of its own when the timer fires; between, there is none.
func (q *engine[T]) release() {
	for more := true; more; {
		now := q.now()
		added := 0
		q.mu.Lock()
		now = q.observe(now)
		q.armed = maxTime
		for added < releaseBatch && q.delays.len() > 0 && q.delays.first().at <= now {
			e := q.delays.first()
			q.delays.remove(e)
			q.ask(e, now)
			added++
		}
		more = added == releaseBatch
		if !more {
			q.arm(now)
		}
		w := q.waiters.next(q.order.n)
		q.mu.Unlock()
		w.wake()
		if added > 0 && q.opts.Metrics != nil {
			q.opts.Metrics.Added(added)
		}
	}
}
