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
// returns it together with the items that holder still holds, or that were taken
// by Get. Running items are not queued again. What another ProcessWith holds, that
// one returns; only the request to process it again is returned here, as queued.
func (q *engine[T]) takeAll(holder uint16) (queued, running []T) {
	q.mu.Lock()
	for q.order.n > 0 {
		e := q.order.pop(q.latest)
		queued = append(queued, e.item)
		q.count.shutdownLosses++
		q.discard(e)
	}
	for e := range q.running.each {
		own := e.holder == holder || e.holder == nobody
		if own {
			running = append(running, e.item)
		}
		if e.again {
			e.again = false
			q.count.again--
			q.count.shutdownLosses++
			if !own {
				queued = append(queued, e.item)
			}
		}
	}
	drained := q.drainedLocked()
	q.mu.Unlock()
	drained.end()
	return queued, running
}

// heldBy returns the items that were handed out to holder and are not done.
func (q *engine[T]) heldBy(holder uint16) (running []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for e := range q.running.each {
		if e.holder == holder {
			running = append(running, e.item)
		}
	}
	return running
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

// countDropped counts an item that ProcessWith dropped because of its failures.
func (q *engine[T]) countDropped() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count.dropped++
}

// countShutdownLoss counts a request that came after the shutdown.
func (q *engine[T]) countShutdownLoss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count.shutdownLosses++
}
