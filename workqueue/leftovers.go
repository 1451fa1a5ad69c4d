package workqueue

// shutDownTakingDelayed is ShutDown that returns the delayed items it drops.
func (q *engine[T]) shutDownTakingDelayed() []T {
	var delayed []T
	q.mu.Lock()
	q.dropDelayedLocked(func(item T) { delayed = append(delayed, item) })
	woken := q.closeLocked()
	q.mu.Unlock()
	wakeAll(woken)
	return delayed
}

// takeAll removes everything that is queued from a queue that is shut down, and
// returns it together with the items that are still running. Those are not
// queued again.
func (q *engine[T]) takeAll() (queued, running []T) {
	q.mu.Lock()
	for q.order.n > 0 {
		e := q.order.pop(q.latest)
		queued = append(queued, e.item)
		q.discard(e)
	}
	for e := q.running.head; e != nil; e = e.next {
		running = append(running, e.item)
		if e.again {
			e.again = false
			q.count.again--
		}
	}
	drained := q.drainedLocked()
	q.mu.Unlock()
	drained.end()
	return queued, running
}

// retriesOf returns how often in a row item was retried.
func (q *engine[T]) retriesOf(item T) int {
	hash := q.hash(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(hash, &item); e != nil {
		return int(e.retries)
	}
	return 0
}
