package reflector

import (
	"context"
	"time"
)

// A 404 is what a server answers that does not have the resource (any more), but also one
// that is starting, a wrong address, or one whose CustomResourceDefinition is being
// replaced. To believe each would empty the sink for a moment.
const (
	// absentLooks is how many times in a row, lookEvery apart at least, both a request and
	// the source must say that the resource does not exist: for half a minute.
	absentLooks = 4
	lookEvery   = 10 * time.Second
)

// absence is what is known of a resource that may not exist any more. The zero value is
// nothing.
type absence struct {
	looks int
	last  time.Time
}

// remover is implemented by a sink that distinguishes the removal of the resource from a
// list without objects.
type remover interface {
	// Removed is called in place of Replace.
	Removed(ctx context.Context) error
}

// confirmRemoval is called after a 404 if the sink has the collection. When the absence has
// lasted, the sink gets an empty collection.
//
// Resource versions of a resource that is created again are not comparable with
// what the sink had, so the next list is read without one, which a server answers from etcd.
func (r *Reflector[T]) confirmRemoval(ctx context.Context) {
	source, ok := As[interface {
		Served(ctx context.Context) (bool, error)
	}](r.lw)
	if h := r.Health(); !ok || !h.Synced || h.ResourceRemoved || time.Since(r.absence.last) < lookEvery {
		return
	}
	if r.allowance.spend(time.Now(), 1) > 0 {
		return // the next 404 leads here again
	}
	var served bool
	err := r.single(ctx, func(ctx context.Context) (err error) {
		served, err = source.Served(ctx)
		return err
	})
	if served || err != nil {
		r.absence = absence{} // it is not certain
		return
	}
	if r.absence.last = time.Now(); r.absence.looks < absentLooks {
		r.absence.looks++
	}
	if r.absence.looks < absentLooks {
		return
	}
	if s, ok := r.sink.(remover); ok {
		err = s.Removed(ctx)
	} else {
		err = r.sink.Replace(ctx, nil, "")
	}
	if err != nil {
		// The next 404 leads here again.
		r.absence.last = time.Time{}
		err = &sinkError{op: "Replace", err: err}
		r.warn("removal", "the resource was removed, but the sink refuses the empty collection", "error", err)
		return
	}
	r.pos.removed()
	r.requarantine(nil)
	r.status.update(func(h *Health) { h.ResourceRemoved, h.ResourceVersion = true, "" })
	r.warn("removed", "the server does not serve the resource any more: the collection is empty")
}
