package deltafifo

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// maxKept is for how many keys, and for how many later deltas of theirs, an empty
// DeltaFIFO keeps its memory. A steady load fits in; a list of a million objects, or the
// backlog of a slow consumer, must not occupy memory after it has been processed.
const maxKept = 1024

// Pop waits until an object is queued, removes the first one, and calls process
// with all its deltas. It returns what process returned.
//
// The deltas belong to process and may be kept. Process may call any method of
// the queue but Pop; a write may then wait for room that is never made, until
// its context ends.
//
// The object is gone from the queue whatever process does: if process fails,
// the caller may put the deltas back with [DeltaFIFO.AddIfNotPresent], from
// within process rather than later, as in between the queue does not know of
// the object. A panic propagates to the caller, and the queue stays usable.
//
// Pop returns the error of ctx without taking anything if ctx has ended or ends
// while it waits. After Close it delivers what remains and then returns
// [ErrClosed]. A call while another one is in progress gets [ErrConcurrentPop].
func (q *DeltaFIFO[T]) Pop(ctx context.Context, process func(deltas Deltas[T]) error) error {
	if err := q.beginPop(process != nil); err != nil {
		return err
	}
	defer q.endPop()
	if err := q.lockWhenPending(ctx); err != nil {
		return err
	}
	it := q.line.pop()
	q.inProcess = it
	q.countAndUnlock(-it.len())

	defer q.finish() // also if process panics
	return process(it.deltas())
}

// finish notes that the object is not in process any more.
func (q *DeltaFIFO[T]) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line.release(q.inProcess)
	q.inProcess = nil
	q.initial.processed++
	q.initial.check()
}

// isInProcess reports whether the consumer has popped the object and not finished
// it. The mutex must be locked.
func (q *DeltaFIFO[T]) isInProcess(key types.NamespacedName) bool {
	return q.inProcess != nil && q.inProcess.key == key
}

// AddIfNotPresent puts deltas back that were popped and could not be processed,
// unless the object has been queued again in the meantime: then newer changes
// are there, and nothing happens. It may be called from within process, so it
// neither waits for room nor transforms. The deltas must be of one object.
func (q *DeltaFIFO[T]) AddIfNotPresent(deltas Deltas[T]) error {
	if err := deltas.check(); err != nil {
		return err
	}
	if err := q.lockIfOpen(); err != nil {
		return err
	}
	n := 0
	if !q.line.has(deltas[0].Key) {
		q.line.pushAll(deltas)
		q.initial.pushed++
		n = len(deltas)
	}
	q.noteWrite(false)
	q.countAndUnlock(n)
	return nil
}
