package informer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Selection decides which objects of a collection an informer of [NewSelected] reads, if
// that changes while it runs: the hook for a layer such as package sharding. One source
// reads all that is selected at its begin; it is replaced when more is.
//
//	Widen ──▶ Stale ──▶ Begin: a source lists and watches ──▶ its list is applied: Listed
//	Narrow ─▶ objects that are not selected any more leave the cache at once
//
// The informer calls the methods with locks held: they return at once and do not call it. What
// they return may change only in the functions of [Selected.Widen] and [Selected.Narrow],
// and in Listed.
type Selection interface {
	// Reads returns why an object is not selected, or, for nil, why nothing is; else nil.
	Reads(obj metav1.Object) error
	// Missing returns why the cache does not have all that is selected; nil if it has.
	Missing() error
	// Covers returns a function that does not change: whether the cache has an object, if
	// the object exists.
	Covers() func(obj metav1.Object) bool

	// Stale reports whether another source is needed than the present one, which may be nil, and has
	// been listed or not.
	Stale(source any, listed bool) bool
	// Begin returns what a source that begins now reads; nil if nothing is selected.
	Begin() any
	// Keeps reports whether an object that a source has received is selected since its begin
	// without a break: a change may have been under way when it was not.
	Keeps(source any, obj metav1.Object) bool
	// Listed notes that a list of a source is part of the cache.
	Listed(source any)
	// Changed has a value when Stale may have become true.
	Changed() <-chan struct{}

	// Health adds to the health of the informer.
	Health(h *Health)
}

// coverage is which objects of the collection the cache has, or would have if they
// existed. It never changes; nil is all.
type coverage func(obj metav1.Object) bool

// holds reports whether the cache has the object if it exists.
func (c coverage) holds(obj metav1.Object) bool { return c == nil || c(obj) }
