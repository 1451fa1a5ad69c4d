package deltafifo

import "errors"

var (
	// ErrClosed is returned by a write to a closed queue, and by a pop from a
	// closed queue that is empty. It is final: a queue never opens again.
	ErrClosed = errors.New("deltafifo: the queue is closed")

	// ErrConcurrentPop is returned by a pop that begins while another one of
	// the same queue is waiting or processing, in another goroutine or, called
	// from process, in this one. Nothing was taken. A queue has one consumer:
	// two of them could not keep the order of changes.
	ErrConcurrentPop = errors.New("deltafifo: another pop of this queue is in progress; use one consumer, and do not pop from within process")

	// ErrInvalidObject is wrapped by the error of a write whose object, key or
	// deltas cannot be queued: a nil object, an object without a name. Nothing
	// was queued.
	ErrInvalidObject = errors.New("nothing was queued")

	errNotMade   = errors.New("deltafifo: the queue was not created by New or NewBatch")
	errNoProcess = errors.New("deltafifo: the process function is nil; nothing was taken")
)
