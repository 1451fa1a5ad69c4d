package workqueue

import (
	"errors"
	"fmt"
	"time"
)

// Result is what a function run by [ProcessWith] asks for when it returns. The
// zero value asks for nothing: the item is done until it is added again.
type Result struct {
	// RequeueAfter, if positive, processes the item again after that time. As in
	// controller-runtime it counts as a success, and has no effect when the
	// function returns an error as well: then the rate limiter gives the delay.
	RequeueAfter time.Duration

	// Until, if set, parks the item: it is not processed again before the
	// condition is met, or ParkTimeout has passed. It occupies no worker and no
	// goroutine meanwhile. Without an error and without RequeueAfter, the item
	// is processed again as soon as the park ends.
	//
	// It is for a reconcile that has written: until the cache has seen the write,
	// another look at the cache would show the state before it. So every request
	// for the item waits, whether it comes from Add, from RequeueAfter, or because
	// the function returned an error as well. After a [Terminal] error the item is
	// processed again only if it is added.
	Until Condition

	// Hold makes Until hold back requests only. With Hold, the end of the park is no request
	// itself, so the item is processed after the park only if something else asked for
	// that, such as the event of what was written. Without Hold, an item that always writes, and changes nothing
	// by it, is processed again and again without a pause.
	Hold bool

	// ParkTimeout is for how long the item is parked at most; 0 means a minute. If it is negative only the
	// condition ends the park.
	ParkTimeout time.Duration
}

// Terminal returns an error with which a function run by [Process] says that
// the item failed with err and that trying again is pointless. The item is
// dropped until it is added again. The error may be wrapped, and
// unwraps to err. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// terminalError is found by errors.As, so that a function may wrap what Terminal returned.
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

// Action is what [Process] did with an item after its function returned, in one word, as logs
// have it.
type Action string

// The actions.
const (
	// Succeeded: the function returned no error and asked for nothing; the item's
	// failures are forgotten.
	Succeeded Action = "succeeded"
	// Requeued: it succeeded with [Result].RequeueAfter; the item comes again after
	// that.
	Requeued Action = "requeued"
	// Parked: it succeeded with [Result].Until, without Hold and RequeueAfter; the item
	// comes again when the condition is met.
	Parked Action = "parked"
	// Retried: it failed; the item comes again after the limiter's delay.
	Retried Action = "retried"
	// Dropped: it failed with [Terminal], or for the last permitted time; the
	// item does not come again by itself.
	Dropped Action = "dropped"
	// Interrupted: it failed after the stop had begun, and is not tried again.
	Interrupted Action = "interrupted"
)

// Outcome describes one processing of one item.
type Outcome[T comparable] struct {
	Item    T
	Attempt int // 1 for the first after a success, 2 for its first retry, …
	Action  Action
	Result  Result // as the function returned it
	Err     error  // as the function returned it
	Took    time.Duration
}

// classify says what to do about an item for which the function returned r and err.
func classify(r Result, err error) Action {
	var terminal *terminalError
	// Only what call made of a panic, not a PanicError that the function wraps.
	_, panicked := err.(*PanicError)
	switch {
	case panicked:
		return Retried // whatever the value of the panic wraps
	case errors.As(err, &terminal):
		return Dropped
	case err != nil:
		return Retried
	case r.RequeueAfter > 0:
		return Requeued
	case r.Until != nil && !r.Hold:
		return Parked
	default:
		return Succeeded
	}
}
