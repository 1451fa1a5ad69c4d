package reflector

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// synchronize reads the whole collection and gives it to the sink. If it did so
// with a WatchList it returns the watch, which continues.
func (r *Reflector[T]) synchronize(ctx context.Context) (*liveStream[T], ending) {
	// WatchList first, as the server then reads the collection from memory, and sends
	// it as it goes, without a page held on either side.
	// After a 404 both have their turn: what can be listed and not watched may respond so to any watch.
	list := r.listNext
	r.listNext = false
	if !list && r.useWatchList() {
		if live, end, fallback := r.watchList(ctx); !fallback {
			return live, end
		}
	}
	return nil, r.listAll(ctx)
}

// listAll reads the collection with LIST.
func (r *Reflector[T]) listAll(ctx context.Context) ending {
	start := time.Now()
	var list *collectedList[T]
	read := func() error {
		var rv string
		var err error
		if list, rv, err = r.pages(ctx); err == nil {
			err = r.replace(ctx, list, rv)
		}
		return err
	}
	err := read()
	for r.pos.again(err) {
		err = read()
	}
	r.opts.Metrics.Listed(time.Since(start), len(list.objs), Classify(err))
	if err != nil {
		return failed(opList, err)
	}
	return ending{}
}

// pages makes the requests of one list, and returns the resourceVersion of the first: that
// of all of them.
func (r *Reflector[T]) pages(ctx context.Context) (list *collectedList[T], rv string, err error) {
	list = r.newCollectedList()
	first := r.pos.list(r.opts.PageSize)
	opts := first
	// A server that ignores tokens would be asked for its first page for ever. So a
	// token must not come twice, and each page must bring an object that is new.
	used := map[string]bool{} // continue tokens
	for {
		before := list.fresh
		meta, err := r.page(ctx, opts, list)
		if err != nil && opts.Continue != "" && Classify(err) == ClassExpired {
			// The token is too old: all in one piece then, as pages that take longer than
			// the server's history lasts would expire again.
			list = r.newCollectedList()
			first.Limit = 0
			meta, err = r.page(ctx, first, list)
			return list, meta.ResourceVersion, err
		}
		if err != nil {
			return list, "", err
		}
		if opts.Continue == "" {
			rv = meta.ResourceVersion
		}
		fresh := list.fresh - before
		switch {
		case meta.Continue == "":
			return list, rv, nil
		case used[meta.Continue]:
			return list, "", &wire.DecodeError{Err: errors.New("the server answered with the continue token of an earlier page: it does not support limit and continue")}
		case fresh == 0:
			return list, "", &wire.DecodeError{Err: errors.New("the server answered with a page without new objects and with a continue token: it does not support limit and continue")}
		case int64(fresh) < cmp.Or(opts.Limit, defaultPage)/2:
			// Pages that are nearly empty may never end: they are paced.
			if err := r.request(ctx); err != nil {
				return list, "", err
			}
		}
		used[meta.Continue] = true
		if first.ResourceVersion == "0" && r.opts.PageSize == 0 {
			r.pos.uncached = true
		}
		opts.Continue = meta.Continue
		opts.ResourceVersion, opts.ResourceVersionMatch = "", "" // the token holds them
	}
}

// page makes one request, and collects the objects of the answer.
func (r *Reflector[T]) page(ctx context.Context, opts metav1.ListOptions, list *collectedList[T]) (metav1.ListMeta, error) {
	// Only the first page counts against the allowance: a large collection has many,
	// and the server has asked for them by sending a token.
	if opts.Continue == "" {
		if err := r.request(ctx); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// One deadline for the answer to begin, then the same for each silence within it:
	// how long a list takes depends on its size, how long it stalls does not. Bytes count
	// before the first object is whole, which may take longer on a slow link; objects
	// count where the source does not report bytes.
	silent := newDeadline(cancel, r.opts.Timeouts.Answer, errNoAnswer)
	defer silent.stop()
	var answered atomic.Bool
	arrived := func() {
		answered.Store(true)
		silent.extend()
	}
	r.setState(StateConnecting)
	r.status.update(func(h *Health) { h.Lists++ })
	first := true
	req := Request{ListOptions: opts, Known: list.have(), Arrived: arrived}
	meta, err := r.lw.List(r.counted(ctx, cancel), req, func(ev WatchEvent[T]) error {
		// The source may have more objects decoded already; they must not reach the
		// list after it has ended.
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if first {
			first = false
			r.setState(StateListing)
		}
		arrived()
		if _, err := list.take(ev); err != nil {
			return err
		}
		if list.stale > maxStale {
			return &wire.DecodeError{Err: errors.New("more than 1000 objects have no name, or that of another one")}
		}
		return nil
	})
	if err = because(ctx, err); errors.Is(err, errNoAnswer) && answered.Load() {
		err = errStalled
	}
	return meta, err
}
