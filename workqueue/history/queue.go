package history

import (
	"math"

	"github.com/informerkit/informerkit/workqueue"
)

// Queue returns an observer for the options of a queue, which notes each step of its items:
//
//	workqueue.Options[types.NamespacedName]{Name: "web", Observe: history.Queue[types.NamespacedName](recorder, "web")}
//
// It costs less than 100 ns per step. It is nil, which observes nothing, if r is nil or T has no keys, see [KeyFunc]. The name is that of the queue; a later queue of the
// same name replaces this one in [Recorder.Failures] and [Recorder.Throughput].
func Queue[T comparable](r *Recorder, name string) workqueue.Observer[T] {
	keyOf := KeyFunc[T]()
	if r == nil || keyOf == nil {
		return nil
	}
	part, log := &Part{Name: name}, r.newQueueLog(name)
	return func(o workqueue.Observation[T]) {
		key := keyOf(o.Item).parsed()
		observeLog(log, key, &o)
		record := recordOf(&o)
		if record.What == 0 {
			return
		}
		record.Key, record.Part = key, part
		if record.What.failed() {
			r.NoteError(o.Time, &record, o.Err)
			return
		}
		r.Note(o.Time, &record)
	}
}

// recordOf describes a step. Its What is 0 if another record says the same.
func recordOf[T comparable](o *workqueue.Observation[T]) Record {
	record := Record{
		Class: uint16(min(o.Class, math.MaxUint16)), Attempt: uint16(min(o.Attempt, math.MaxUint16)), Duration: max(0, o.Duration),
	}
	switch o.Step {
	case workqueue.StepAdd:
		record.What = addedAs(o)
	case workqueue.StepReject:
		record.What = Rejected
	case workqueue.StepDelay:
		record.What = Delayed
	case workqueue.StepRetry:
		record.What = Retried
	case workqueue.StepDue:
		record.What = Due
	case workqueue.StepTake:
		record.What = HandedOut
	case workqueue.StepDone:
		if !o.Processed { // else its outcome was noted
			record.What = Done
		}
	case workqueue.StepPark:
		record.What, record.Object.Name = Parked, o.Until.String()
	case workqueue.StepUnpark:
		record.What = ConditionMet
		if o.TimedOut {
			record.What = ParkTimedOut
		}
	case workqueue.StepOutcome:
		record.What = outcomeAs(o.Action)
	}
	if why, ok := o.Why.(*Cause); ok && why != nil {
		record.Set(why)
	}
	return record
}

// addedAs says what an add has led to.
func addedAs[T comparable](o *workqueue.Observation[T]) What {
	switch {
	case o.Parked:
		return AddedParked
	case !o.Requested:
		return Collapsed
	case o.Running:
		return AddedAgain
	}
	return Added
}

// outcomeAs says how a processing has ended.
func outcomeAs(a workqueue.Action) What {
	switch a {
	case workqueue.Retried:
		return Failed
	case workqueue.Dropped:
		return Dropped
	case workqueue.Interrupted:
		return Interrupted
	}
	return Succeeded
}
