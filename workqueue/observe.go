package workqueue

import (
	"slices"
	"time"
)

// Observer is called for each step of each item of a queue, see [Options].Observe. This is
// how metrics and package history learn what happens.
//
// It is called without the queue's lock held, concurrently, by the goroutine that caused
// the step, once the step was made; it should return quickly and may call the queue. Time
// says in which order the steps of an item were made.
type Observer[T comparable] func(Observation[T])

// Observation is a step of one item. A field is zero if it does not belong to the step.
type Observation[T comparable] struct {
	Step Step
	Item T
	Time time.Time
	// Class is the priority class.
	Class int
	// Requested is whether the step has asked for the item, which was not asked for before:
	// an add that collapsed with another one has not, nor has a delay before its end.
	Requested bool
	// Running and Parked say what the item is after the step. One that is requested and
	// running is queued once it is done, and one that is requested and parked when the
	// park ends.
	Running, Parked bool
	// Duration is a time that has passed or will pass; see the steps.
	Duration time.Duration
	// Attempt counts processings in a row that failed, including this one.
	Attempt int
	// Why is what AddBecause was called with.
	Why any
	// Until is the condition of a park.
	Until Condition
	// TimedOut is whether a park has ended because its time had passed.
	TimedOut bool
	// Processed is whether [ProcessWith] has processed the item that is done, after an
	// observation of its outcome.
	Processed bool
	// Action and Err are those of an [Outcome].
	Action Action
	Err    error
}

// Step says what happened to an item.
type Step uint8

// The steps.
const (
	// StepAdd: the item was added. Requested, Why.
	StepAdd Step = iota + 1
	// StepReject: an add was ignored because the queue is shut down. Why.
	StepReject
	// StepDelay: the item was added for after Duration.
	StepDelay
	// StepRetry is StepDelay by the rate limiter, after a failure. Attempt; Requested if
	// there is no delay.
	StepRetry
	// StepDue: a delay has ended. Requested.
	StepDue
	// StepTake: a worker took the item, which was requested for Duration.
	StepTake
	// StepOutcome: the function of [ProcessWith] has returned after Duration. Action, Err,
	// Attempt. It comes before anything is done about it. A second one with the action
	// Interrupted says that the item is not retried because of a shutdown.
	StepOutcome
	// StepDone: the worker is done with the item, after Duration. Processed.
	StepDone
	// StepPark: the item is held back until a condition is met, for Duration at most unless that is 0. Until.
	StepPark
	// StepUnpark: a park has ended. TimedOut, Requested.
	StepUnpark
)

// Observers returns an observer that calls several, in their order. Nil ones are skipped;
// without any others it is nil.
func Observers[T comparable](all ...Observer[T]) Observer[T] {
	all = slices.DeleteFunc(slices.Clone(all), func(o Observer[T]) bool { return o == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return func(o Observation[T]) {
		for _, observer := range all {
			observer(o)
		}
	}
}

// seeLocked notes a step of an entry, which unlock shows to the observer. The caller fills in
// what belongs to the step.
func (q *Queue[T]) seeLocked(step Step, e *entry[T], now int64) *Observation[T] {
	q.seen = Observation[T]{
		Step: step, Item: e.item, Time: q.timeAt(now), Class: int(e.class),
		Running: e.is(running), Parked: e.is(parked),
	}
	return &q.seen
}

// timeAt is a time of the queue as one of the world.
func (q *Queue[T]) timeAt(t int64) time.Time { return q.start.Add(time.Duration(t)) }

// MetricsProvider provides the [Metrics] of each queue, for example series with the queue's
// name as a label. Package informer/prometheus has one.
type MetricsProvider interface {
	// Workqueue is called when a queue is created. The queue is for what is read as needed;
	// one of this package also has PriorityClasses and ShuttingDown.
	Workqueue(name string, queue interface{ Stats() Stats }) Metrics
}

// Metrics records the measurements of one queue, with the meaning that the metrics of
// Kubernetes' workqueues have; the series to feed are given in brackets. Packages
// informer and reflector have a Metrics of the same form, with what they measure.
// What is a level rather than an event (workqueue_depth,
// workqueue_unfinished_work_seconds,
// workqueue_longest_running_processor_seconds) is read from [Queue.Stats] when
// needed, so that no goroutine has to keep it up to date.
//
// The methods are called as an [Observer] is.
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

// measure returns an observer that feeds m.
func measure[T comparable](m Metrics) Observer[T] {
	return func(o Observation[T]) {
		if o.Requested {
			m.Added(1)
		}
		switch o.Step {
		case StepRetry:
			m.Retried()
		case StepTake:
			m.Started(o.Duration)
		case StepDone:
			m.Finished(o.Duration)
		}
	}
}
