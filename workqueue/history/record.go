package history

import (
	"fmt"
	"time"
)

// What says what happened to a key.
type What uint8

// What happened. The comments name the fields of the [Record] that are set, besides What,
// Key and Part.
const (
	// Received: a watch reported a change of the object, and it is in the cache. Change,
	// Old, New.
	Received What = iota + 1
	// Delivered: a handler was called with the change. Change, Origin, Old, New.
	Delivered
	// Refused: a predicate or filter of a handler did not pass the change on. Like
	// Delivered; Object.Name is the name of the function.
	Refused
	// Panicked: a handler panicked, and OnPanic was called. Like Delivered.
	Panicked
	// Added: the key was asked for, and nothing had asked for it before. Class; and, if
	// it is known why, Cause and what Delivered has of the object, with Object its key.
	Added
	// Collapsed: an add changed nothing, as the key was queued already. Like Added.
	Collapsed
	// AddedAgain: the key is being processed, and will be queued once it is done. Like
	// Added.
	AddedAgain
	// AddedParked: the key is parked, and will be queued when the park ends. Like Added.
	AddedParked
	// Rejected: an add was ignored because the queue is shut down. Like Added.
	Rejected
	// Delayed: the key will be asked for after Duration.
	Delayed
	// Retried is Delayed by the rate limiter, after a failure. Attempt.
	Retried
	// Due: a delay has ended, and the key is queued, or will be once it is done.
	Due
	// HandedOut: a worker took the key, after it was queued for Duration. Class.
	HandedOut
	// Done: a worker that took the key by Get is done with it, after Duration.
	Done
	// Succeeded: the function returned without an error, after Duration. Attempt.
	Succeeded
	// Failed: the function returned an error, after Duration. Attempt, and the error.
	Failed
	// Dropped is Failed, and the key is not tried again by itself.
	Dropped
	// Interrupted: the key has failed, and is not tried again as the queue was shut down.
	Interrupted
	// Parked: the key is held back until a condition is met, for Duration at most.
	// Object.Name is what the condition says of itself.
	Parked
	// ConditionMet: a park has ended because of its condition.
	ConditionMet
	// ParkTimedOut: a park has ended because its time had passed.
	ParkTimedOut
)

// names are the names of the constants.
var names = [...]string{
	Received: "Received", Delivered: "Delivered", Refused: "Refused", Panicked: "Panicked",
	Added: "Added", Collapsed: "Collapsed", AddedAgain: "AddedAgain", AddedParked: "AddedParked", Rejected: "Rejected",
	Delayed: "Delayed", Retried: "Retried", Due: "Due", HandedOut: "HandedOut", Done: "Done",
	Succeeded: "Succeeded", Failed: "Failed", Dropped: "Dropped", Interrupted: "Interrupted",
	Parked: "Parked", ConditionMet: "ConditionMet", ParkTimedOut: "ParkTimedOut",
}

// String returns the name of the constant.
func (w What) String() string {
	if w == 0 || int(w) >= len(names) {
		return fmt.Sprintf("What(%d)", uint8(w))
	}
	return names[w]
}

// Part is what a record is about, or by: an informer, a handler or a queue. It is made
// once, and records refer to it. Do not change it.
type Part struct {
	// Name is that of the informer, the handler or the queue.
	Name string
	// Informer is the name of the informer of a handler, and Kind what its objects are,
	// such as "Pod". Both are empty for a queue.
	Informer, Kind string
}

// Change is a change of an object, as informers report it.
type Change struct {
	// Type is an informer.ChangeType, Origin an informer.Origin; 0 is none.
	Type, Origin uint8
	// Old and New are the resourceVersions before and after; 0 for one that there is
	// not, or that is not a number.
	Old, New uint64
}

// Cause is why a key was added: a handler was called because an object changed.
type Cause struct {
	Handler *Part
	Object  Key
	Change  Change
}

// Record is what is noted. The zero value of a field means that it says nothing.
type Record struct {
	Key  Key
	Part *Part
	// Cause is the handler that added a key, if it is known.
	Cause *Part
	// Object is the object that caused it, or names a function; see [What].
	Object Key
	// Duration is a time that has passed or will pass; see [What].
	Duration time.Duration
	// Old and New are those of a [Change].
	Old, New uint64
	// Attempt counts processings in a row that failed, including this one.
	Attempt uint16
	// Class is the priority class.
	Class uint16
	What  What
	// Change and Origin are Type and Origin of a [Change].
	Change, Origin uint8
}

// Set notes why.
func (r *Record) Set(cause *Cause) {
	r.Cause, r.Object = cause.Handler, cause.Object
	r.SetChange(&cause.Change)
}

// SetChange notes the change of an object.
func (r *Record) SetChange(c *Change) {
	r.Change, r.Origin, r.Old, r.New = c.Type, c.Origin, c.Old, c.New
}

// Entry is a record that was noted.
type Entry struct {
	Record
	Time time.Time
	// Err is the error of Failed and Dropped, as the function returned it.
	// ErrLost is set instead if more than 256 errors were noted since.
	Err     error
	ErrLost bool
}
