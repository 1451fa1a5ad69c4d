package reconcile

import (
	"context"
	"fmt"
	"sync"
	"time"
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
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	return together(ctx, n, func() bool {
		select {
		case <-tick.C:
			return true
		case <-ctx.Done():
			return false
		}
	}, write)
}

// atOnce makes n writes, as many at a time as writers.
func atOnce(ctx context.Context, n, writers int, write writeFunc) ([]written, error) {
	free := make(chan struct{}, writers)
	return together(ctx, n, func() bool {
		select {
		case free <- struct{}{}:
			return true
		case <-ctx.Done():
			return false
		}
	}, func(ctx context.Context, i int) (version, error) {
		defer func() { <-free }()
		return write(ctx, i)
	})
}

// together makes n writes, each when next has returned true, and returns when all
// have been answered.
func together(ctx context.Context, n int, next func() bool, write writeFunc) ([]written, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make([]written, n)
	var wg sync.WaitGroup
	for i := range n {
		if !next() {
			break
		}
		wg.Go(func() {
			sent := time.Now()
			v, err := write(ctx, i)
			if err != nil {
				cancel(err)
			}
			all[i] = written{v, sent, time.Now()}
		})
	}
	wg.Wait()
	return all, context.Cause(ctx)
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
