package deltafifo

import (
	"errors"
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// defaultLimit is the number of pending deltas beyond which producers wait
// if the options do not say otherwise.
const defaultLimit = 16384

// Options configures a [DeltaFIFO]. The zero value is for a consumer that keeps no
// store, or reads its batches in the order of arrival.
type Options[T Object] struct {
	// KnownObjects is the consumer's store. The consumer must apply what it
	// pops to that store before process returns. With it, [Batch.ByObject] has the
	// deletion of an object that is only in the store, the missing ones of a list and
	// something for a resync, and Known knows what is neither pending nor in process.
	// Nil means that the consumer remembers nothing.
	KnownObjects KnownObjects[T]

	// Transform, if not nil, is applied once to each object given to Add,
	// Update, Delete and Replace, before it is queued, and without a lock held.
	// It may modify the object that it is given or return another one, of the
	// same namespace and name. If it fails, so does the write.
	Transform func(T) (T, error)

	// Limit is the number of pending deltas beyond which producers wait for the
	// consumer; a Replace, a Bookmark and a Resync count as one each. 0 means
	// 16,384, any negative number that producers never wait. What the
	// consumer is processing does not count, so that up to twice the limit can be held.
	Limit int
}

// KnownObjects is the consumer's store, as far as a [DeltaFIFO] has to look
// into it. An indexer and a snapshot of one satisfy it. Its methods are called with
// nothing locked; Get must be safe for use while the consumer writes to the store.
type KnownObjects[T Object] interface {
	// Get returns the object that the store holds under key.
	Get(key types.NamespacedName) (T, bool)
	// All yields what the store holds, in any order, each object once.
	All() iter.Seq[T]
}

var (
	// ErrClosed is returned by a write to a closed queue, and by a pop from a
	// closed queue that is empty. It is final: a queue never opens again.
	ErrClosed = errors.New("deltafifo: the queue is closed")

	// ErrConcurrentPop is returned by a pop that begins while another one of
	// the same queue is waiting or processing, in another goroutine or, called
	// from process, in this one. Nothing was taken. A queue has one consumer:
	// two of them could not keep the order of changes.
	ErrConcurrentPop = errors.New("deltafifo: another pop of this queue is in progress; use one consumer, and do not pop from within process")

	// ErrInvalidObject is wrapped by the error of a write whose object or deltas
	// cannot be queued: a nil object, an object without a name. Nothing was queued.
	ErrInvalidObject = errors.New("nothing was queued")

	errNotMade   = errors.New("deltafifo: the queue was not created by New")
	errNoProcess = errors.New("deltafifo: the process function is nil; nothing was taken")
)
