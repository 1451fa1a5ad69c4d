package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// defaultPage is the size of pages that the server reads from etcd.
const defaultPage = 500

// position holds the rules for resourceVersions and page sizes.
type position struct {
	// rv is the point up to which the sink has everything.
	rv string
	// gap says that the collection was read as of no version: what was deleted
	// before the watch began is not known, and rv no point to resume from.
	gap bool
	// lost says that the server does not know rv (any more, or yet), so that
	// the collection has to be read without one, which a server answers from etcd.
	lost bool
	// rewritten says that the server's history ends before rv: it is not the
	// one that rv belongs to, and its versions may be old numbers for new
	// states.
	rewritten bool
	// doubt says that the server may have lost rv: the last watch from it has
	// ended in a way that may have been a restart.
	doubt bool
	// suspect says that since the last end of that kind the server was not seen to have what
	// the sink has. An event does not clear that.
	suspect bool
	// uncached says that the server has paged a list that a watch cache would
	// have answered in one piece, so there is none, and big answers hurt.
	uncached bool
}

// resumable says whether a watch can go on from rv.
func (p *position) resumable() bool { return isVersion(p.rv) && !p.gap }

// isVersion says whether rv names a point in the history.
func isVersion(rv string) bool { return rv != "" && rv != "0" }

// advance notes that everything up to version has been delivered, and reports
// whether that is further than before. It never goes back: events out of order
// are delivered, but the newest of them is where to resume.
func (p *position) advance(version string) bool {
	if version == "" || version == p.rv {
		return false
	}
	// Versions that are no numbers have no order but that of their arrival.
	if isBefore(version, p.rv) {
		return false
	}
	p.rv, p.doubt = version, false
	return true
}

// list returns the options for the first page of a list.
func (p *position) list(pageSize int64) metav1.ListOptions {
	var o metav1.ListOptions
	switch {
	case p.lost:
		o.ResourceVersion = ""
	case p.rv == "":
		o.ResourceVersion = "0" // whatever the watch cache has
	default:
		o.ResourceVersion = p.rv // or newer: never back in time
	}
	switch {
	case pageSize > 0:
		o.Limit = pageSize
	case p.uncached:
		o.Limit = defaultPage
	case !isVersion(o.ResourceVersion):
		o.Limit = defaultPage // ignored by a watch cache
	}
	if o.Limit > 0 && isVersion(o.ResourceVersion) {
		// With a limit and no match it would have to be that very version.
		o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return o
}

// watchList returns the options for a watch with initial events.
func (p *position) watchList() metav1.ListOptions {
	yes := true
	o := metav1.ListOptions{
		SendInitialEvents:    &yes,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	}
	if !p.lost {
		o.ResourceVersion = p.rv
	}
	return o
}

// watch returns the options for a resumed watch.
func (p *position) watch() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: p.rv, AllowWatchBookmarks: true}
}

// probe returns the options for a list that costs next to nothing and fails if
// the server does not know rv.
func (p *position) probe() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: p.rv, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 1}
}

// note looks whether an error says that rv is not to be had.
func (p *position) note(err error) (lost bool) {
	class := Classify(err)
	return class == classFuture || class == ClassExpired
}

// again notes why a reading of the collection has failed, and reports whether it is due at once:
// each reason counts once, because the server has answered, and a second answer of the kind is a
// failure to back off from.
func (p *position) again(err error) bool {
	var before *position
	switch copied := *p; {
	case errors.Is(err, errWentBack):
		before, p.rewritten = &copied, true
	case p.note(err) || p.refused(err):
		// The server does not know our resourceVersion: ask for what it has.
		before, p.lost = &copied, true
	}
	return before != nil && *before != *p
}

// isBefore reports whether version is known to be earlier than rv.
func isBefore(version, rv string) bool {
	order, err := resourceversion.CompareResourceVersion(version, rv)
	return err == nil && order < 0
}

// refused says whether a list may have been rejected because of rv. A server
// rejects what is not one of its versions, such as one that was damaged on the way
// or comes from another kind of storage, and would always reject it.
func (p *position) refused(err error) bool {
	return isVersion(p.rv) && Classify(err) == classRejected
}

// synced notes that the collection has been read as of rv.
func (p *position) synced(rv string) {
	*p = position{rv: rv, gap: !isVersion(rv), uncached: p.uncached}
}

// A server that was restored from a backup has a shorter history. It accepts a
// watch from a version that it has not reached, and sends nothing until it has.
// Only a list says that the version is unknown. So after a watch whose end may
// have been such a restart the version is in doubt, until the server has sent an
// event or a bookmark past it, or has been asked.

// checkAfter is for how long a resumed watch may clear the doubt by itself, by an
// event, before the server is asked. The time is drawn from once to twice that:
// after a restart all clients would ask at once.
const checkAfter = time.Second

// checkVersion asks the server, while live is followed, whether it knows the version of
// the watch and has some of the objects of the sink, if that is in doubt. If it does not, the
// watch ends with a [relistError]. finish waits for the end of it, and is called by the
// goroutine of Run.
func (r *Reflector[T]) checkVersion(live *liveStream[T]) (finish func()) {
	doubt, rv, probe := r.pos.doubt, r.pos.rv, r.pos.probe() // now: the position moves while the watch is followed
	if r.pos.suspect {
		live.samples = r.samples()
	}
	if !doubt && len(live.samples) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(live.ctx)
	var known time.Time // when the server knew the version, or zero
	var complete bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		sleep(ctx, checkAfter+time.Duration(rand.Int64N(int64(checkAfter))))
		if doubt && !live.moved.Load() && r.knowsVersion(ctx, live, probe) {
			known = time.Now()
		}
		if len(live.samples) == 0 || ctx.Err() != nil {
			return
		}
		var err error
		if complete, err = r.spotCheck(ctx, live, rv); err != nil {
			live.cancel(&relistError{reason: classHistory, rewritten: true, err: err})
		}
	}()
	return func() {
		cancel()
		<-done
		if !known.IsZero() {
			r.pos.doubt = false
			if known.After(r.moved) {
				r.moved = known
			}
		}
		r.pos.suspect = r.pos.suspect && !complete
	}
}

// knowsVersion asks the server whether it knows the version of the watch, which ends if not.
func (r *Reflector[T]) knowsVersion(ctx context.Context, live *liveStream[T], probe metav1.ListOptions) bool {
	// One object is answer enough, and none needs to be decoded, nor transformed.
	req := Request{ListOptions: probe, Known: func(types.NamespacedName, []byte, []byte) any { return true }}
	left := burst/2 + 1
	if len(live.samples) > 0 { // there is more to be asked soon
		left = reserve + 1
	}
	if !r.afford(ctx, left, &live.moved) {
		return false
	}
	_, err := r.ask(ctx, req)
	if Classify(err) == classFuture && r.afford(ctx, left, &live.moved) {
		// A replica that is behind says that, too. Without a version the answer is that of etcd.
		req.ListOptions.ResourceVersion, req.ListOptions.ResourceVersionMatch = "", ""
		var at string
		if at, err = r.ask(ctx, req); err == nil && isBefore(at, probe.ResourceVersion) {
			live.cancel(&relistError{reason: classFuture, rewritten: true, err: fmt.Errorf(
				"the server is at the resourceVersion %s, which is before that of the watch, %s: it was restored from a backup", at, probe.ResourceVersion)})
			return false
		}
	}
	if Classify(err) == ClassExpired {
		live.cancel(&relistError{reason: ClassExpired, err: fmt.Errorf(
			"the server does not know the resourceVersion %s of the watch any more: %w", probe.ResourceVersion, err)})
	}
	return err == nil // any other error says nothing about the version, so the doubt stays
}

// afford takes a request from the allowance when at least so many are left, as watches come
// first. It returns false if ctx ends before that, or moved is set.
func (r *Reflector[T]) afford(ctx context.Context, left int, moved *atomic.Bool) bool {
	for ctx.Err() == nil && !moved.Load() {
		d := r.allowance.spend(time.Now(), left)
		if d == 0 {
			return true
		}
		sleep(ctx, d)
	}
	return false
}

// ask makes a LIST request and returns the version of the list. Some sources know no limit, so
// the first object ends the list.
func (r *Reflector[T]) ask(ctx context.Context, req Request) (version string, err error) {
	r.status.update(func(h *Health) { h.Lists++ })
	answered := false
	err = r.single(ctx, func(ctx context.Context) error {
		meta, err := r.lw.List(ctx, req, func(WatchEvent[T]) error { answered = true; return io.EOF })
		version = meta.ResourceVersion
		return err
	})
	if answered {
		err = nil
	}
	return version, err
}

// doubted is whether the end of a watch leaves its version in doubt: any but an
// orderly one at the time agreed, and that if nothing has come for minutes.
func (r *Reflector[T]) doubted(end ending) bool {
	if r.inProcess() {
		return false
	}
	switch end.op {
	case opWatch:
		return end.class != classThrottled
	case opStream:
		return end.noProgress || !end.timely && end.class != classQuarantine && end.class != classSink
	}
	return false
}

// relistError ends a watch because the sink cannot be right: the server does not know
// the version of the watch, or [Monitored].Relist was called. That is not a failure: the
// answer to it is known, and needs no wait.
type relistError struct {
	reason ErrorClass
	err    error
	// rewritten says that the server's history may be another one, in which the same
	// version is another state.
	rewritten bool
}

func (e *relistError) class() ErrorClass { return e.reason }
func (e *relistError) Error() string     { return e.err.Error() }
func (e *relistError) Unwrap() error     { return e.err }
