package workqueue

import (
	"errors"
	"fmt"
	"time"
)

// RequeueAfter returns an error with which a function run by [Process] says
// that it succeeded, and that the item is to be processed again after d (at
// once if d is 0 or less). It counts as a success: the failures of the item are
// forgotten. The error may be wrapped.
func RequeueAfter(d time.Duration) error { return &requeueError{d} }

type requeueError struct{ after time.Duration }

func (e *requeueError) Error() string {
	return fmt.Sprintf("workqueue: process again after %v", e.after)
}

// Terminal returns an error with which a function run by [Process] says that
// the item failed with err and that trying again is pointless. The item is
// dropped until somebody adds it again. The error may be wrapped, and
// unwraps to err. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return "terminal: " + e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// PanicError is what a panic becomes when [ProcessOptions].CapturePanics is set.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("workqueue: panic while processing: %v", e.Value)
}

// Unwrap returns the value of the panic if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Action is what [Process] did with an item after its function returned.
type Action int

// The actions.
const (
	// Succeeded: the function returned nil; the item is forgotten.
	Succeeded Action = iota + 1
	// Requeued: it returned [RequeueAfter]; the item comes again after that.
	Requeued
	// Retried: it failed; the item comes again after the limiter's delay.
	Retried
	// Dropped: it failed with [Terminal], or for the last permitted time; the
	// item does not come again by itself.
	Dropped
	// Interrupted: it failed after the stop had begun, and is among the
	// leftovers.
	Interrupted
)

func (a Action) String() string {
	switch a {
	case Succeeded:
		return "succeeded"
	case Requeued:
		return "requeued"
	case Retried:
		return "retried"
	case Dropped:
		return "dropped"
	case Interrupted:
		return "interrupted"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// Outcome describes one processing of one item.
type Outcome[T comparable] struct {
	Item    T
	Attempt int // 1 for the first after a success, 2 for its first retry, …
	Action  Action
	Err     error // nil if the action is Succeeded or Requeued
	Took    time.Duration
	// After is the delay that was asked for, if the action is Requeued.
	After time.Duration
}

// classify finds out what the function meant. after is set for Requeued only.
func classify(err error) (action Action, after time.Duration) {
	var requeue *requeueError
	var terminal *terminalError
	_, panicked := err.(*PanicError)
	switch {
	case err == nil:
		return Succeeded, 0
	case panicked:
		return Retried, 0 // whatever the value of the panic wraps
	case errors.As(err, &terminal):
		return Dropped, 0
	case errors.As(err, &requeue):
		return Requeued, requeue.after
	default:
		return Retried, 0
	}
}
