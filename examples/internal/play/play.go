// Package play is what the scenarios of the examples have in common: how they
// are configured, how they run beside the controller they are about, and how
// they wait for it.
package play

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/inspect"
)

// Options configures a scenario; the zero value plays in namespace default,
// silently.
type Options struct {
	// Namespace in which the story takes place; it must exist.
	Namespace string
	// Patience is how long one step may take to converge; zero means 10 s.
	Patience time.Duration
	// Say gets the lines of the story, from several goroutines at once.
	Say func(who, format string, args ...any)
	// Stay, if set, is called at the end of the story, and the controller stays at
	// work until the context ends.
	Stay func()
	// Log gets what goes wrong underneath; nil discards it.
	Log *slog.Logger
	// Inspect, if set, is given the parts of the controller, to show them.
	Inspect func(...inspect.Source) error
}

// WithDefaults returns the options with every field set.
func (o Options) WithDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = metav1.NamespaceDefault
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Say == nil {
		o.Say = func(string, string, ...any) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Inspect == nil {
		o.Inspect = func(...inspect.Source) error { return nil }
	}
	return o
}

// Beside runs the parts until the story has ended, and returns when all of them
// have returned. If a part fails, the story's context ends, with the part's error
// as its cause.
func Beside(ctx context.Context, story func(context.Context) error, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{}, len(parts))
	for _, part := range parts {
		go func() {
			defer func() { ended <- struct{}{} }()
			if err := part(ctx); err != nil {
				cancel(err)
			}
		}()
	}
	err := story(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	cancel(nil)
	for range parts {
		<-ended
	}
	return err
}

// Bell wakes the one who waits for something. Anybody may ring it, at any time
// and as often as they like; ringing never blocks.
type Bell chan struct{}

// NewBell returns a bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring says that something has changed.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default: // rung already, and not heard yet
	}
}

// Until waits until done, which it asks at first and whenever the bell has been
// rung. After patience it fails with what problem says. One goroutine at a time
// may wait.
func (b Bell) Until(ctx context.Context, patience time.Duration, done func() bool, problem func() string) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !done() {
		select {
		case <-b:
		case <-timeout.C:
			return fmt.Errorf("not converged after %v: %s", patience, problem())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
