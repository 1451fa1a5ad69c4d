package reflector

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// synchronize reads the whole collection and gives it to the sink. If it did so
// with a WatchList it returns the watch, which continues.
func (r *Reflector[T]) synchronize(ctx context.Context) (*liveStream[T], ending) {
	// WatchList first, as the server then reads the collection from memory, and sends
	// it as it goes, without a page held on either side.
	if r.useWatchList() {
		live, end, fallback := r.watchList(ctx)
		if !fallback {
			return live, end
		}
	}
	return nil, r.listAll(ctx)
}

// listAll is the LIST way.
func (r *Reflector[T]) listAll(ctx context.Context) ending {
	start := time.Now()
	list := r.newCollectedList(false)
	meta, err := r.pages(ctx, list)
	// At once and only once: the server has answered, so this is not a failure to back
	// off from, and a second answer of the kind is.
	if (r.pos.note(err) || r.pos.refused(err)) && !r.pos.lost {
		// The server does not know our resourceVersion: ask for what it has.
		r.pos.lost = true
		list = r.newCollectedList(false)
		meta, err = r.pages(ctx, list)
	}
	if err == nil {
		err = r.replace(ctx, list, meta.ResourceVersion)
	}
	r.opts.Metrics.Listed(time.Since(start), len(list.objs), Classify(err))
	if err != nil {
		return failed(OpList, err)
	}
	return ending{}
}

// pages makes the requests of one list. Several pages have the
// resourceVersion of the first.
func (r *Reflector[T]) pages(ctx context.Context, list *collectedList[T]) (metav1.ListMeta, error) {
	first := r.pos.list(r.opts.PageSize)
	opts := first
	var result metav1.ListMeta
	// A server that ignores tokens would be asked for its first page for ever. So a
	// token must not come twice, and each page must bring an object that is new.
	used := map[string]bool{} // continue tokens
	for page := 0; ; page++ {
		before := list.fresh
		meta, err := r.page(r.withKnown(ctx, list), opts, list.take)
		if err != nil {
			if page == 0 || Classify(err) != ClassExpired {
				return result, err
			}
			// The token is too old: all in one piece then.
			list.reset()
			opts = first
			// No limit: pages that take longer than the server's history lasts would
			// expire again.
			opts.Limit, opts.Continue = 0, ""
			return r.page(r.withKnown(ctx, list), opts, list.take)
		}
		if page == 0 {
			result = meta
		}
		if meta.Continue == "" {
			break
		}
		switch {
		case used[meta.Continue]:
			return result, &wire.DecodeError{Err: errors.New("the server answered with the continue token of an earlier page: it does not support limit and continue")}
		case list.fresh == before:
			return result, &wire.DecodeError{Err: errors.New("the server answered with a page without new objects and with a continue token: it does not support limit and continue")}
		case int64(list.fresh-before) < cmp.Or(opts.Limit, defaultPage)/2:
			// Pages that are nearly empty may never end: they are paced.
			if err := r.request(ctx); err != nil {
				return result, err
			}
		}
		used[meta.Continue] = true
		if first.ResourceVersion == "0" && r.opts.PageSize == 0 {
			r.pos.uncached = true
		}
		opts.Continue = meta.Continue
		opts.ResourceVersion, opts.ResourceVersionMatch = "", "" // the token holds them
	}
	result.Continue = ""
	return result, nil
}

// page makes one request, and hands over the objects of the answer.
func (r *Reflector[T]) page(ctx context.Context, opts metav1.ListOptions, each func(T, error) error) (metav1.ListMeta, error) {
	// Only the first page counts against the allowance: a large collection has many,
	// and the server has asked for them by sending a token.
	if opts.Continue == "" {
		if err := r.request(ctx); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	ctx, cancel := context.WithCancelCause(r.charged(ctx))
	defer cancel(nil)
	// One deadline for the answer to begin, then the same for each silence within it:
	// how long a list takes depends on its size, how long it stalls does not.
	watchdog := newDeadline(cancel)
	defer watchdog.stop()
	watchdog.set(r.opts.Timeouts.Answer, errNoAnswer)
	// Bytes are noticed before the first object is whole, which may take longer than
	// the deadline on a slow link. A source without progress says so with its objects.
	var answered sync.Once
	ctx = wire.WithProgress(ctx, func() {
		answered.Do(func() { watchdog.set(r.opts.Timeouts.Answer, errStalled) })
		watchdog.extend(time.Now())
	})

	r.setState(StateConnecting)
	r.status.update(func(h *routine) { h.Lists++ })
	first := true
	meta, err := r.lw.List(ctx, opts, func(obj T, err error) error {
		// The source may have more objects decoded already; they must not reach the
		// list after it has ended.
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if first {
			first = false
			r.setState(StateListing)
			answered.Do(func() { watchdog.set(r.opts.Timeouts.Answer, errStalled) })
		}
		watchdog.extend(time.Now())
		return each(obj, err)
	})
	return meta, because(ctx, err)
}

// replace gives a collection to the sink.
func (r *Reflector[T]) replace(ctx context.Context, list *collectedList[T], rv string) error {
	// If nothing at all can be decoded, the fault is with the type or the server. A
	// Replace would delete everything.
	if err := list.unreadable(); err != nil {
		return err
	}
	objs := list.finish()
	n := len(objs)
	repaired := r.auditOf(objs)
	// Nothing is noted unless the sink has accepted it: the position must not get ahead
	// of it.
	if err := r.sink.Replace(ctx, objs, rv); err != nil {
		return &sinkError{op: "Replace", err: err}
	}
	repaired()
	now := time.Now()
	r.pos.synced(rv)
	r.moved = now
	r.status.update(func(h *routine) { h.Synced, h.ResourceRemoved, h.LastSync, h.ResourceVersion = true, false, now, rv })
	r.requarantine(list.bad)
	// An object may be in an older state than rv says, so another list is due.
	if list.lost {
		r.lose()
	}
	r.setState(StateSynced)
	r.info("synced", "synced", "objects", n, "resourceVersion", rv, "quarantined", len(list.bad))
	return nil
}
