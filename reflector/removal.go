package reflector

import "context"

// resourceChecker is what a ListerWatcher implements to confirm a 404. Served
// reports whether the server has the resource, by another request than list and
// watch. Its error says that this is not known.
type resourceChecker interface {
	Served(ctx context.Context) (bool, error)
}

// resourceCheckerOf returns what can confirm a 404 of lw, or nil.
func resourceCheckerOf[T Object](lw ListerWatcher[T]) resourceChecker {
	if w, ok := lw.(interface{ resourceChecker() resourceChecker }); ok {
		return w.resourceChecker()
	}
	c, _ := lw.(resourceChecker)
	return c
}

// noteAbsence is called after a 404. If the sink has the collection and the source
// confirms that the resource does not exist any more, as after the deletion of a
// CustomResourceDefinition, the collection is empty and the sink gets it. A source
// that cannot confirm it leaves the sink as it is: a server that is starting may
// not serve its custom resources yet, and must not empty a cache.
//
// Resource versions of a resource that is created again are not comparable with
// what the sink had, so the next list is read without one, which a server answers from etcd.
func (r *Reflector[T]) noteAbsence(ctx context.Context) {
	checker := resourceCheckerOf(r.lw)
	if h := r.Health(); checker == nil || !h.Synced || h.ResourceRemoved {
		return
	}
	if r.opts.Timeouts.Answer > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.opts.Timeouts.Answer, errNoAnswer)
		defer cancel()
	}
	r.allowance.charge()
	if served, err := checker.Served(r.charged(ctx)); served || err != nil {
		return
	}
	if err := r.sink.Replace(ctx, nil, ""); err != nil {
		// The next 404 leads here again.
		err = &sinkError{op: "Replace", err: err}
		r.warn("removal", "the resource was removed, but the sink refuses the empty collection", "err", err)
		return
	}
	r.pos.removed()
	r.requarantine(nil)
	r.status.update(func(h *routine) { h.ResourceRemoved, h.ResourceVersion = true, "" })
	r.warn("removed", "the server does not serve the resource any more: the collection is empty")
}
