package workqueue

import (
	"math"
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// recording notes what happens to the items in [Options].History. A queue without one
// has a nil recording, which every operation checks first, and that is all it costs.
//
// What happens under the lock is noted under the lock, so that the history of an item is
// in the order in which it happened. A recorder takes a lock of its own for the copy of
// an entry, and calls nothing.
type recording[T comparable] struct {
	recorder *history.Recorder
	part     *history.Part
	keyOf    func(T) history.Key
	start    int64 // of the queue, as the recorder takes times
}

// newRecording returns nil if nothing is to be recorded: there is no recorder, or the
// items have no keys.
func newRecording[T comparable](opts *Options[T], start time.Time) *recording[T] {
	if opts.History == nil {
		return nil
	}
	keyOf := history.KeyFunc[T]()
	if keyOf == nil {
		return nil
	}
	return &recording[T]{opts.History, &history.Part{Name: opts.Name}, keyOf, opts.History.At(start)}
}

// note completes a record and notes it, as of a time of the engine.
func (r *recording[T]) note(now int64, item T, record *history.Record) {
	record.Key, record.Part = r.keyOf(item), r.part
	r.recorder.Note(r.start+now, record)
}

// noteAddLocked notes an add, and why it was made, if that is known. Added is whether it
// made a request. There must be a recording.
func (q *engine[T]) noteAddLocked(r *request[T], added bool, why *history.Cause) {
	var record history.Record
	if why != nil {
		record.Set(why)
	}
	// What the add has led to is what the entry is now.
	switch e := q.items.find(r.item, r.hash); {
	case e == nil:
		record.What = history.Rejected
	default:
		record.Class = e.class
		record.What = q.addedAsLocked(e, added)
	}
	q.recording.note(q.latest, r.item, &record)
}

// addedAsLocked says what an add has led to.
func (q *engine[T]) addedAsLocked(e *entry[T], added bool) history.What {
	switch {
	case e.parked():
		return history.AddedParked
	case !added:
		return history.Collapsed
	case q.order.isPaused(e):
		return history.AddedPaused
	case e.running:
		return history.AddedAgain
	}
	return history.Added
}

// noteDelayLocked notes an add with a delay. Pending is whether something had asked for
// the item already, without a delay.
func (q *engine[T]) noteDelayLocked(e *entry[T], pending, retry, added bool) {
	if q.recording == nil {
		return
	}
	record := history.Record{What: history.Delayed, Class: e.class}
	switch {
	case retry:
		record.What, record.Attempt = history.Retried, uint16(min(q.retriesLocked(e), math.MaxUint16))
	case pending:
		record.What = history.Collapsed
	case added:
		record.What = q.addedAsLocked(e, added)
	}
	// What counts is when it comes: an earlier request wins over this delay.
	if e.delayed() {
		record.Duration = time.Duration(q.delays.at(e.handle) - q.latest)
	}
	q.recording.note(q.latest, e.item, &record)
}

// noteLocked notes what happened to an item by itself.
func (q *engine[T]) noteLocked(e *entry[T], what history.What, took int64) {
	if q.recording == nil {
		return
	}
	q.recording.note(q.latest, e.item, &history.Record{What: what, Class: e.class, Duration: time.Duration(max(0, took))})
}

// notePausedLocked notes that an item waits for its group, if it does.
func (q *engine[T]) notePausedLocked(e *entry[T]) {
	if q.recording != nil && q.order.isPaused(e) {
		q.noteLocked(e, history.Paused, 0)
	}
}

// noteParkLocked notes a park. Condition is its name.
func (q *engine[T]) noteParkLocked(e *entry[T], condition string, timeout time.Duration) {
	if q.recording == nil {
		return
	}
	q.recording.note(q.latest, e.item, &history.Record{What: history.Parked, Duration: timeout, Object: history.Key{Name: condition}})
}

// conditionName is the name of a condition for the history, if there is one.
func (q *engine[T]) conditionName(c Condition) string {
	if q.recording == nil {
		return ""
	}
	return history.FuncName(c)
}

// noteOutcome notes what the function of [ProcessWith] returned. It is called before
// anything is done about it, so that the consequences follow in the history.
func (q *engine[T]) noteOutcome(o *Outcome[T]) {
	r := q.recording
	if r == nil {
		return
	}
	record := history.Record{Key: r.keyOf(o.Item), Part: r.part, Duration: o.Took, Attempt: uint16(min(o.Attempt, math.MaxUint16))}
	switch o.Action {
	case Retried:
		record.What = history.Failed
	case Dropped:
		record.What = history.Dropped
	default:
		record.What = history.Succeeded
		r.recorder.Note(r.recorder.Now(), &record)
		return
	}
	r.recorder.NoteError(r.recorder.Now(), &record, o.Err)
}

// noteInterrupted notes that a failed item is not tried again, because of the shutdown.
func (q *engine[T]) noteInterrupted(item T) {
	if r := q.recording; r != nil {
		r.recorder.Note(r.recorder.Now(), &history.Record{What: history.Interrupted, Key: r.keyOf(item), Part: r.part})
	}
}

// AddBecause is [Queue.Add] with the reason, for [Options].History. The handlers of
// package informer that enqueue call it. Without a recorder it is Add.
func (q *plain[T]) AddBecause(item T, why history.Cause) {
	var r request[T]
	q.engine.prepare(&r, item)
	q.engine.addBecause(&r, &why)
}

// AddBecause is [PriorityClass.Add] with the reason; see [Queue.AddBecause].
func (c PriorityClass[T]) AddBecause(item T, why history.Cause) {
	var r request[T]
	c.engine.prepare(&r, item)
	r.class = c.number
	c.engine.addBecause(&r, &why)
}
