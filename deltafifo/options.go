package deltafifo

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// DefaultLimit is the number of pending deltas beyond which producers wait
	// if the options do not say otherwise.
	DefaultLimit = 16384
	// Unbounded as a limit lets producers never wait. What is pending is then
	// bounded only by memory.
	Unbounded = -1
)

// BatchOptions configures a [BatchFIFO]. The zero value is ready to use.
type BatchOptions struct {
	// Limit is the number of pending deltas beyond which producers wait for the
	// consumer; a Replace and a Bookmark count as one each. 0 means
	// [DefaultLimit], any negative number [Unbounded]. What the consumer is
	// processing does not count, so that up to twice the limit can be held.
	Limit int
}

// KnownObjects is the consumer's store, as far as a [DeltaFIFO] has to look
// into it. An indexer and a snapshot of one satisfy it.
//
// Its methods are called with the queue locked: they must not call the queue,
// and must be safe for use while the consumer writes to the store.
type KnownObjects[T Object] interface {
	// Get returns the object that the store holds under key.
	Get(key types.NamespacedName) (T, bool)
	// All yields what the store holds, in any order, each object once.
	All() iter.Seq[T]
}

// Options configures a [DeltaFIFO]. The zero value is for a consumer that keeps no
// store.
type Options[T Object] struct {
	// KnownObjects is the consumer's store. The consumer must apply what it
	// pops to that store before process returns. With it, Delete is propagated
	// for objects that are only in the store, Replace finds the missing ones,
	// Resync has something to deliver, and Known knows what is neither queued
	// nor in process. Nil means that the consumer remembers
	// nothing.
	KnownObjects KnownObjects[T]

	// Transform, if not nil, is applied once to each object given to Add,
	// Update, Delete and Replace, before it is queued, and without a lock held.
	// It may modify the object that it is given or return another one, of the
	// same namespace and name. If it fails, so does the write.
	Transform func(T) (T, error)

	// Limit is the number of pending deltas beyond which producers wait for the
	// consumer. 0 means [DefaultLimit], any negative number [Unbounded]. A
	// Replace or Resync is admitted as a whole when there is room for one
	// delta, so that up to its size more than the limit can be held.
	Limit int
}
