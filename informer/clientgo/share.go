package clientgo

import (
	"sync/atomic"

	"github.com/informerkit/informerkit/informer/intern"
)

// pool has the parts that all informers share; nil: they share nothing.
var pool atomic.Pointer[intern.Pool]

// ShareEqualParts has the informers that client-go's constructors make from now on (such as
// [NewSharedIndexInformer]) store equal parts of their objects once, in the whole process:
// environment variables, labels, probes, names. See package intern for what that saves.
//
// A program that modifies an object of a cache, which it must not, then damages all objects
// that share the part. Run it with KUBE_CACHE_MUTATION_DETECTOR=true first: that ends the
// process where an object of a cache was modified. Objects of fake clients are not shared.
func ShareEqualParts() { pool.CompareAndSwap(nil, intern.NewPool()) }

// newShare returns a function that shares the parts of the objects of one informer, or nil.
func newShare() func(any) (any, error) {
	if p := pool.Load(); p != nil {
		return intern.Transform[any](p)
	}
	return nil
}
