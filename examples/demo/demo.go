// Package demo is what the scripted demos of the examples have in common: how
// they run next to the controller that they are about, how they wait for it, and
// how they print what happens in causal order.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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

const (
	// lookAgain is how often Until calls done, and patience for how long.
	lookAgain = 5 * time.Millisecond
	patience  = 5 * time.Minute // for a machine that is very busy
)

// Until blocks until done returns true, which it calls every few milliseconds. After five minutes, or when ctx
// ends, it fails with the text that problem returns.
func Until(ctx context.Context, done func() bool, problem func() string) error {
	for start := time.Now(); !done(); {
		if time.Since(start) >= patience {
			return fmt.Errorf("not converged after %v: %s", patience, problem())
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), problem())
		}
	}
	return nil
}
