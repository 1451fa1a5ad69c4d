package reflector

import (
	"context"
	"time"
)

// confirmRemoval is called after a 404, which is also what a wrong address and a server
// that is starting answer. If the sink has the collection, and the source confirms that
// the resource does not exist any more, as after the deletion of a
// CustomResourceDefinition, the collection is empty and the sink gets it.
//
// Resource versions of a resource that is created again are not comparable with
// what the sink had, so the next list is read without one, which a server answers from etcd.
func (r *Reflector[T]) confirmRemoval(ctx context.Context) {
	source, ok := As[interface {
		Served(ctx context.Context) (bool, error)
	}](r.lw)
	if h := r.Health(); !ok || !h.Synced || h.ResourceRemoved {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer newDeadline(cancel, r.opts.Timeouts.Answer, errNoAnswer).stop()
	if r.allowance.spend(time.Now(), 1) > 0 {
		return // the next 404 leads here again
	}
	if served, err := source.Served(r.counted(ctx, cancel)); served || err != nil {
		return // it is not certain
	}
	if err := r.sink.Replace(ctx, nil, ""); err != nil {
		// The next 404 leads here again.
		err = &sinkError{op: "Replace", err: err}
		r.warn("removal", "the resource was removed, but the sink refuses the empty collection", "error", err)
		return
	}
	r.pos.removed()
	r.requarantine(nil)
	r.status.update(func(h *Health) { h.ResourceRemoved, h.ResourceVersion = true, "" })
	r.warn("removed", "the server does not serve the resource any more: the collection is empty")
}
