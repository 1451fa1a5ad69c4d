package workqueue

import "time"

// Metrics is told about events in a queue, with the meaning that the metrics
// of Kubernetes' workqueues have; the series to feed are given in brackets.
// What is a level rather than an event (workqueue_depth,
// workqueue_unfinished_work_seconds,
// workqueue_longest_running_processor_seconds) is read from [Queue.Stats] when
// somebody wants to know, so that no goroutine has to keep it up to date.
//
// The methods are called without the queue's lock held, concurrently, by the
// goroutine that caused the event; they should return quickly.
type Metrics interface {
	// Added says that n items were asked for that were not asked for before
	// (workqueue_adds_total). A delayed item counts when its delay ends.
	Added(n int)
	// Retried says that an item was added with a rate limit
	// (workqueue_retries_total).
	Retried()
	// Started says that an item was handed out after waiting so long since it
	// was first asked for (workqueue_queue_duration_seconds).
	Started(waited time.Duration)
	// Finished says that an item was done after so long since it was handed
	// out (workqueue_work_duration_seconds).
	Finished(worked time.Duration)
}

// Stats is the state of a queue in numbers.
type Stats struct {
	// Queued is the number of items ready to be handed out.
	Queued int
	// Again is the number of running items that were added once more and will
	// be queued when they are done. Queued+Again is workqueue_depth.
	Again int
	// Delayed is the number of items waiting for their delay to end.
	Delayed int
	// Running is the number of items handed out and not done.
	Running int

	// Added is how many requests there were; an add that changed nothing,
	// because the item was queued already, is not one.
	Added uint64
	// Retried is how many times an item was added with a rate limit.
	Retried uint64
	// Dropped is how many items [Process] dropped after a failure: with [Terminal],
	// or after MaxAttempts. Each was an [Outcome] with the action Dropped.
	Dropped uint64
	// ShutdownLosses is how many requests were lost to the shutdown: delayed items,
	// retries that came after it, and what a stopping [Process] took out of the
	// queue.
	ShutdownLosses uint64

	// The durations are 0 in a queue that does not keep times, see
	// [Options].Times.

	// UnfinishedWork is the sum of the times that the running items have been
	// running for (workqueue_unfinished_work_seconds).
	UnfinishedWork time.Duration
	// LongestRunning is how long the item that was handed out first of all
	// running ones has been running (workqueue_longest_running_processor_seconds).
	LongestRunning time.Duration
}

// Stats returns the state of the queue in numbers, in constant time.
func (q *Queue[T]) Stats() Stats {
	e := q.engine
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.statsLocked(now)
}

func (q *engine[T]) statsLocked(now int64) Stats {
	now = q.observe(now)
	s := Stats{
		Queued:  q.order.n,
		Again:   q.count.again,
		Delayed: q.delays.len(),
		Running: q.count.running,
		Added:   q.count.added,
		Retried: q.count.retried,
		Dropped: q.count.dropped,

		ShutdownLosses: q.count.shutdownLosses,
	}
	if first := q.running.head; first != nil && q.timed {
		s.UnfinishedWork = time.Duration(int64(q.count.running)*now - q.startedSum)
		s.LongestRunning = time.Duration(now - first.startedAt)
	}
	return s
}
