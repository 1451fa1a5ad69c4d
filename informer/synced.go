package informer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/object"
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
	defer cancel(nil)
	if !deadline {
		defer remind(all)()
	}
	// A goroutine for each, as select takes a fixed number of channels. All of them end
	// with this call: with sync, with ctx, or with the first that can never sync.
	var waiting sync.WaitGroup
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

// whyEnded returns why something has ended that is done. It is the error of Run, which
// the caller of Run may not have got yet: done comes first. So the two are the same in
// whatever order they are looked at.
func whyEnded(s Syncable) error {
	if has, ok := s.(interface{ failure() error }); ok {
		if err := has.failure(); err != nil {
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

// remind logs from time to time what is not synced, until it is stopped.
func remind(all []Syncable) (stop func()) {
	var mu sync.Mutex // held while it logs, so that nothing is logged after stop
	stopped := false
	waited := remindFirst
	var timer *time.Timer
	// Held until timer is set, which the function below uses.
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(waited, func() {
		mu.Lock()
		defer mu.Unlock()
		// Stop does not end a call that has begun already, but waits for mu.
		if stopped {
			return
		}
		for _, s := range all {
			if why := s.Unsynced(); why != nil {
				loggerOf(s).Warn("still waiting for sync", "waited", waited, "reason", why)
			}
		}
		waited += remindEvery
		timer.Reset(remindEvery)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// loggerOf returns the logger of an informer or registration, or the default.
func loggerOf(s Syncable) *slog.Logger {
	if has, ok := s.(interface{ logger() *slog.Logger }); ok {
		return has.logger()
	}
	return slog.Default()
}

// logger returns the logger that names the informer.
func (inf *Informer[T]) logger() *slog.Logger { return inf.log }

// logger returns the logger of the informer.
func (r *Registration) logger() *slog.Logger { return r.log }

// failure returns what Run has returned, or is about to.
func (inf *Informer[T]) failure() error { return inf.applier.progress.failed() }

// failure returns what ended the informer of the handler.
func (r *Registration) failure() error { return r.whyEnded() }

// Synced returns a channel that is closed when the cache has had the contents of
// the first list: that of each namespace, if there are several. Handlers may not
// have got it yet: for those see [Registration.Synced].
func (inf *Informer[T]) Synced() <-chan struct{} { return inf.applier.progress.first.wait() }

// HasSynced reports whether the channel of Synced is closed.
func (inf *Informer[T]) HasSynced() bool { return inf.applier.progress.first.isClosed() }

// Done returns a channel that is closed when Run has returned.
func (inf *Informer[T]) Done() <-chan struct{} { return inf.done.wait() }

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
