package workqueue

// addAllChunk is how many items AddAll adds before others get a chance to take
// the lock.
const addAllChunk = 64

func (q *engine[T]) addAll(items []T) {
	var requests [addAllChunk]request[T]
	for len(items) > 0 {
		n := min(len(items), addAllChunk)
		for i, item := range items[:n] {
			requests[i] = request[T]{}
			q.prepare(&requests[i], item)
		}
		q.addChunk(requests[:n])
		items = items[n:]
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
