package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// Syncable is what [WaitForSync] can wait for: an [Informer] or a
// [Registration].
type Syncable interface {
	// Synced returns a channel that is closed when it is synced.
	Synced() <-chan struct{}
	// Done returns a channel that is closed when it has ended, so that if it is
	// not synced it never will be.
	Done() <-chan struct{}
	// Unsynced returns an error that names it and says why it is not synced; nil
	// if it is.
	Unsynced() error
}

// NotSyncedError says what [WaitForSync] waited for in vain.
type NotSyncedError struct {
	// Cause is why the waiting ended: the context's cause, or what the Run of an informer
	// returned that ended, or [ErrStopped] if that is nil or a handler was removed.
	Cause error
	// Unsynced has an error for each thing that was not synced, with its name,
	// its state, and the last thing that went wrong.
	Unsynced []error
}

// Error lists everything that is not synced.
func (e *NotSyncedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informer: %v before everything was synced: ", e.Cause)
	for i, err := range e.Unsynced {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns the cause and the errors of what was not synced.
func (e *NotSyncedError) Unwrap() []error { return append([]error{e.Cause}, e.Unsynced...) }

// WaitForSync waits until everything is synced and returns nil. If ctx ends
// first, or one of the things ends without ever having synced, it returns a
// [*NotSyncedError] that names each one that is not synced, and why. It does not
// poll.
//
// If ctx has no deadline, it logs after 10 seconds, and then every minute, what it
// waits for and why: to the informer's logger, or to slog.Default() for a Syncable
// of another package.
func WaitForSync(ctx context.Context, all ...Syncable) error {
	for i, s := range all {
		if object.IsNilPointer(s) {
			return fmt.Errorf("informer: WaitForSync: argument %d is nil; pass an informer or a registration", i+1)
		}
	}
	_, deadline := ctx.Deadline()
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting, reminding sync.WaitGroup
	if !deadline {
		reminding.Go(func() { remind(ctx, all) })
	}
	// A goroutine for each, as select takes a fixed number of channels. All of them end
	// with this call: with sync, with ctx, or with the first that can never sync.
	for _, s := range all {
		waiting.Go(func() {
			select {
			case <-s.Synced():
			case <-s.Done():
				// Both channels may be closed: select picks at random then.
				if !isClosed(s.Synced()) {
					cancel(whyEnded(s))
				}
			case <-ctx.Done():
			}
		})
	}
	waiting.Wait()
	// The cause is nil if ctx did not end. What is asked for now is the latest state: an
	// informer that synced at the last moment is not in the error.
	err := &NotSyncedError{Cause: context.Cause(ctx)}
	cancel(nil)
	reminding.Wait() // nothing is logged after the return
	for _, s := range all {
		if why := s.Unsynced(); why != nil && err.Cause != nil {
			err.Unsynced = append(err.Unsynced, why)
		}
	}
	if len(err.Unsynced) == 0 {
		return nil
	}
	return err
}

// ours is what informers and registrations have besides Syncable.
type ours interface {
	logger() *slog.Logger // names the informer
	failure() error       // what the Run of the informer has returned, or is about to
}

// whyEnded returns why something has ended that is done. It is the error of Run, which
// the caller of Run may not have got yet: done comes first. So the two are the same in
// whatever order they are looked at.
func whyEnded(s Syncable) error {
	if s, ok := s.(ours); ok {
		if err := s.failure(); err != nil {
			return err
		}
	}
	return ErrStopped
}

// remindFirst and remindEvery are when a wait without a deadline logs.
const (
	remindFirst = 10 * time.Second
	remindEvery = time.Minute
)

// remind logs from time to time what is not synced, until ctx ends.
func remind(ctx context.Context, all []Syncable) {
	for waited := remindFirst; ; waited += remindEvery {
		next := remindEvery
		if waited == remindFirst {
			next = remindFirst
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		for _, s := range all {
			if why := s.Unsynced(); why != nil {
				log := slog.Default()
				if s, ok := s.(ours); ok {
					log = s.logger()
				}
				log.Warn("still waiting for this informer to sync", "waited", waited.Round(time.Second), "error", why)
			}
		}
	}
}

func (inf *Informer[T]) logger() *slog.Logger { return inf.log }

func (r *Registration) logger() *slog.Logger { return r.informer.logger() }

func (inf *Informer[T]) failure() error { return inf.applier.progress.failed() }

func (inf *Informer[T]) unlisted() error { return inf.applier.progress.unlisted() }

func (r *Registration) failure() error { return r.informer.failure() }

// Synced returns a channel that is closed when the cache has had the contents of
// the first list: that of each namespace, if there are several. Handlers may not
// have got it yet: for those see [Registration.Synced].
func (inf *Informer[T]) Synced() <-chan struct{} { return inf.applier.progress.first }

// HasSynced reports whether the channel of Synced is closed.
func (inf *Informer[T]) HasSynced() bool { return isClosed(inf.applier.progress.first) }

// Done returns a channel that is closed when Run has returned.
func (inf *Informer[T]) Done() <-chan struct{} { return inf.done }

// Unsynced returns why the informer is not synced yet, or nil if it is.
func (inf *Informer[T]) Unsynced() error {
	if inf.HasSynced() {
		return nil
	}
	if !inf.applier.progress.isStarted() {
		return fmt.Errorf("informer %q is not running: call Run, or Start of its Factory", inf.name)
	}
	// None if the last list was applied since HasSynced looked.
	why := inf.applier.progress.unlisted()
	if why == nil {
		return fmt.Errorf("informer %q is not synced: it has only just begun", inf.name)
	}
	return fmt.Errorf("informer %q is not synced: %w", inf.name, why)
}

// Readiness is what [ReadyHandler] can ask: an [Informer], a [Shared] or a
// [Factory].
type Readiness interface {
	// Ready returns why its caches are not fit for use, or nil if they are.
	Ready() error
}

// optionalGrace is for how long Ready reports that an optional kind is missing which was there.
const optionalGrace = 10 * time.Minute

// missingIsFine reports whether a source reads an optional kind that the server does not serve: one
// that it has never served, or not for optionalGrace.
func (inf *Informer[T]) missingIsFine(s *source[T]) bool {
	h := s.reflector.Health()
	return inf.optional.Load() && h.LastErrorClass == reflector.ClassNotFound && !h.DegradedSince.IsZero() &&
		(!h.Synced || time.Since(h.DegradedSince) > optionalGrace)
}

// Ready returns an error if the informer is not synced, has stopped, or has been
// degraded for longer than 30 seconds: then the cache is readable, but may be
// stale. See [ForOptions].Optional for a kind that the server need not serve. The error
// names the informer and the reason. Objects that cannot be read do not
// count: one bad object must not take every replica out of service. Reads of it return
// [ErrUnreadable], and Health and the metrics count it.
func (inf *Informer[T]) Ready() error {
	sources := slices.DeleteFunc(slices.Clone(inf.applier.progress.current()), inf.missingIsFine)
	if err := inf.Unsynced(); err != nil && (len(sources) > 0 || !inf.optional.Load()) {
		return err
	}
	if inf.applier.progress.stopped.Load() {
		return inf.named(ErrStopped)
	}
	var whys []error
	for _, s := range sources {
		// A broken watch is not an outage: the cache stays readable. So it counts only
		// after a while, or a restart of the API server would take all replicas out of service.
		h := s.reflector.Health()
		if _, since, degraded := h.Degraded(); degraded && time.Since(since) > degradedGrace {
			whys = append(whys, fmt.Errorf("informer %q is degraded since %s: %s%w", inf.name, since.Format(time.TimeOnly), s.where(), h.LastError))
		}
	}
	return errors.Join(whys...)
}

// ReadyHandler returns a handler for the readiness probe of a pod. It answers 200
// if all are ready, and else 503 with a line for each reason. It fails if one of
// them is nil, or if there are none.
//
// It suits controllers, which can do nothing without the API server. It does not suit a webhook or a data plane, which
// can serve from a cache that is stale: if the API server is away for 30 seconds, all replicas leave the service. Their
// probe reports [Factory.Unsynced], and thus only whether the caches have had a first list.
//
// Think before you use it for a liveness probe: a restart does not help against an
// API server that is out of reach.
func ReadyHandler(all ...Readiness) (http.Handler, error) {
	if len(all) == 0 {
		return nil, errors.New("informer: ReadyHandler has nothing to ask; pass informers or a factory")
	}
	for i, r := range all {
		if object.IsNilPointer(r) {
			return nil, fmt.Errorf("informer: ReadyHandler: argument %d is nil; pass an informer or a factory", i+1)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var whys []error
		for _, r := range all {
			whys = append(whys, r.Ready())
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := errors.Join(whys...); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	}), nil
}
