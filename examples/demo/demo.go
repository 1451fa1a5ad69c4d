// Package demo is what the scripted demos of the examples have in common: how
// they are configured, how they run beside the controller they are about, how
// they wait for it, and how they print what happens in causal order.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Options configures a scripted demo; the zero value runs in namespace default,
// silently.
type Options struct {
	// Namespace in which it takes place; it must exist.
	Namespace string
	// Patience is how long one step may take to converge; zero means 10 s.
	Patience time.Duration
	// Transcript prints what happens; nil prints nothing.
	Transcript *Transcript
	// Stay, if set, is called at the end of the demo. The controller keeps running
	// until the context ends.
	Stay func()
	// Log gets what goes wrong underneath; nil discards it.
	Log *slog.Logger
	// Inspect, if set, is given the parts of the controller, to show them.
	Inspect func(...inspect.Source) error
	// History, if set, is what the page tells the story of a key from.
	History *history.Recorder
}

// Say prints a line of the demo's output.
func (o Options) Say(who, format string, args ...any) { o.Transcript.Say(who, format, args...) }

// WithDefaults returns the options with every field set.
func (o Options) WithDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = metav1.NamespaceDefault
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Transcript == nil {
		o.Transcript = NewTranscript(io.Discard)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Inspect == nil {
		o.Inspect = func(...inspect.Source) error { return nil }
	}
	return o
}

// Beside runs the parts until the demo has ended, and returns when all of them
// have returned. If a part fails, the demo's context is cancelled with the part's
// error as its cause.
func Beside(ctx context.Context, transcript func(context.Context) error, parts ...func(context.Context) error) error {
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
	err := transcript(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	cancel(nil)
	for range parts {
		<-ended
	}
	return err
}

// Bell wakes a goroutine that waits for something. It may be rung at any time,
// from any goroutine; ringing never blocks.
type Bell chan struct{}

// NewBell returns a bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring signals that something has changed.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default: // already signalled, not received yet
	}
}

// lookAgain is how often Until calls done although the bell is silent.
const lookAgain = 20 * time.Millisecond

// Until blocks until done returns true. It calls done at first, after each Ring, and now
// and then: the metrics of a queue, say, may report an Add only when its item is handed
// out. After patience it fails with the text that problem returns. Only one goroutine may
// wait at a time.
func (b Bell) Until(ctx context.Context, patience time.Duration, done func() bool, problem func() string) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for !done() {
		select {
		case <-b:
		case <-again.C:
		case <-timeout.C:
			return fmt.Errorf("not converged after %v: %s", patience, problem())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
