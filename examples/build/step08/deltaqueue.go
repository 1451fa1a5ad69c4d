package build

import (
	"context"
	"sync"
)

// DeltaQueue is what was read and not applied, in its order. The network side adds, at
// the pace of the server; the store side takes all that there is, at its own.
type DeltaQueue struct {
	limit int
	more  chan struct{} // has an element if something was added
	room  chan struct{} // has an element if something was taken

	mu     sync.Mutex
	deltas []Delta
}

// NewDeltaQueue returns a queue of at most limit deltas.
func NewDeltaQueue(limit int) *DeltaQueue {
	return &DeltaQueue{limit: limit, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// Add adds a delta. While the queue is full it waits: then the connection is not read,
// and the server has to wait, too. It is for one goroutine.
func (q *DeltaQueue) Add(ctx context.Context, d Delta) error {
	for !q.offer(d) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	signal(q.more)
	return nil
}

func (q *DeltaQueue) offer(d Delta) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.deltas) >= q.limit {
		return false
	}
	q.deltas = append(q.deltas, d)
	return true
}

// Pop returns all that was added since the last Pop, and waits until there is something.
// It is for one goroutine.
func (q *DeltaQueue) Pop(ctx context.Context) ([]Delta, error) {
	for {
		q.mu.Lock()
		batch := q.deltas
		q.deltas = nil
		q.mu.Unlock()
		if len(batch) > 0 {
			signal(q.room)
			return batch, nil
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// signal wakes the other side, now or when it looks next.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
