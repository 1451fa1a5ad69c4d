package build

import (
	"context"
	"sync"
	"time"
)

// WorkQueue holds what has to be worked on, each item once, and hands each to one worker
// at a time.
//
//	Add ──▶ dirty, queued ── Get ──▶ processing ── Done ──▶ gone
//	           ▲                         │ Add: dirty again
//	           └───────── Done ──────────┘
type WorkQueue[T comparable] struct {
	mu         sync.Mutex
	changed    chan struct{} // closed when something is queued
	queued     []T           // what Get hands out next
	dirty      map[T]bool    // is to be worked on: queued, or after Done
	processing map[T]bool    // is being worked on
	failures   map[T]int
}

// NewWorkQueue returns an empty queue.
func NewWorkQueue[T comparable]() *WorkQueue[T] {
	return &WorkQueue[T]{changed: make(chan struct{}), dirty: map[T]bool{}, processing: map[T]bool{}, failures: map[T]int{}}
}

// Add asks for an item to be worked on. What is queued already is not queued twice, and
// what is being worked on is queued when that is done: its worker may have looked before.
func (q *WorkQueue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dirty[item] {
		return
	}
	q.dirty[item] = true
	if !q.processing[item] {
		q.enqueue(item)
	}
}

func (q *WorkQueue[T]) enqueue(item T) {
	q.queued = append(q.queued, item)
	close(q.changed)
	q.changed = make(chan struct{})
}

// Get waits for an item, and hands it to the caller until its Done. It returns false when
// ctx has ended.
func (q *WorkQueue[T]) Get(ctx context.Context) (item T, ok bool) {
	q.mu.Lock()
	for len(q.queued) == 0 || ctx.Err() != nil { // once ctx has ended, nothing more is handed out
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return item, false
		}
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	item, q.queued = q.queued[0], q.queued[1:]
	delete(q.dirty, item)
	q.processing[item] = true
	return item, true
}

// Done ends the work on an item. That of an item that nobody has changes nothing.
func (q *WorkQueue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.processing[item] {
		return
	}
	delete(q.processing, item)
	if q.dirty[item] {
		q.enqueue(item)
	}
}

// AddAfter adds an item after a while. An item that is added meanwhile is not held back.
func (q *WorkQueue[T]) AddAfter(item T, d time.Duration) {
	time.AfterFunc(d, func() { q.Add(item) })
}

// Retry adds an item whose work has failed, after the delay that requests have, too.
func (q *WorkQueue[T]) Retry(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures[item]++
	q.AddAfter(item, delay(q.failures[item]))
}

// Forget ends the growth of the delay.
func (q *WorkQueue[T]) Forget(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, item)
}
