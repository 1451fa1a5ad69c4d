package workqueue

// addAllChunk is how many items AddAll adds before others get a chance to take
// the lock.
const addAllChunk = 64

// addAll calls all user code before it adds the first item: a panic leaves the
// queue unchanged.
func (q *engine[T]) addAll(items []T) {
	var few [addAllChunk]request[T]
	requests := few[:]
	if len(items) > len(few) {
		requests = make([]request[T], len(items))
	}
	requests = requests[:len(items)]
	for i, item := range items {
		q.prepare(&requests[i], item)
	}
	for len(requests) > 0 {
		n := min(len(requests), addAllChunk)
		q.addChunk(requests[:n])
		requests = requests[n:]
	}
}

func (q *engine[T]) addChunk(requests []request[T]) {
	now := q.timeIfKept()
	added := 0
	q.mu.Lock()
	for i := range requests {
		if q.addLocked(&requests[i], now) {
			added++
		}
	}
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if added > 0 && q.opts.Metrics != nil {
		q.opts.Metrics.Added(added)
	}
}
