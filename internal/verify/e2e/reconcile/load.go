package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// written is a write and when it was made.
type written struct {
	version
	sent     time.Time // just before the request
	answered time.Time // when the response was there
}

// writeFunc writes set i and returns which version that has made.
type writeFunc func(ctx context.Context, i int) (version, error)

// paced makes n writes at a fixed rate, each in its time whether those before it
// have been answered or not.
func paced(ctx context.Context, n int, perSecond float64, write writeFunc) ([]written, error) {
	return together(ctx, n, n, rate.NewLimiter(rate.Limit(perSecond), 1), write)
}

// atOnce makes n writes, as many at a time as writers.
func atOnce(ctx context.Context, n, writers int, write writeFunc) ([]written, error) {
	return together(ctx, n, writers, rate.NewLimiter(rate.Inf, 0), write)
}

// together makes n writes, so many at a time and at a rate, and returns when all
// have been answered.
func together(ctx context.Context, n, writers int, pace *rate.Limiter, write writeFunc) ([]written, error) {
	all := make([]written, n)
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	for i := range n {
		if err := pace.Wait(ctx); err != nil {
			return nil, errors.Join(writing.Wait(), err)
		}
		writing.Go(func() error {
			sent := time.Now()
			v, err := write(ctx, i)
			all[i] = written{v, sent, time.Now()}
			return err
		})
	}
	return all, writing.Wait()
}

// name returns the name of set i.
func name(i int) string { return fmt.Sprintf("set-%d", i) }

// creating returns a write that creates sets.
func (u *user) creating(replicas int) writeFunc {
	return func(ctx context.Context, i int) (version, error) {
		generation, err := u.create(ctx, name(i), int32(replicas))
		return version{name(i), generation}, err
	}
}

// scaling returns a write that scales sets.
func (u *user) scaling(replicas int) writeFunc {
	return func(ctx context.Context, i int) (version, error) {
		generation, err := u.scale(ctx, name(i), int32(replicas))
		return version{name(i), generation}, err
	}
}

func versions(writes []written) []version {
	all := make([]version, len(writes))
	for i, w := range writes {
		all[i] = w.version
	}
	return all
}
