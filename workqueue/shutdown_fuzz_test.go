package workqueue_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/workqueue"
)

// FuzzShutDown races random operations with every kind of shutdown. Nothing may
// panic or hang (the bubble would report a deadlock), no item may be in two
// hands, and a drain that reports success must have left nothing behind.
func FuzzShutDown(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, byte(seed), byte(seed*7))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kinds, shape byte) {
		synctest.Test(t, func(t *testing.T) { raceShutDown(t, seed, kinds, shape) })
	})
}

func raceShutDown(t *testing.T, seed uint64, kinds, shape byte) {
	opts := workqueue.Options[int]{Times: shape&1 != 0}
	if shape&2 != 0 {
		opts.MaxWait = []time.Duration{0, time.Millisecond}
	}
	if shape&4 != 0 {
		opts.Group = func(i int) string { return string(rune('a' + i%3)) }
	}
	q := workqueue.NewRateLimiting(workqueue.FastSlow[int](time.Microsecond, time.Millisecond, 2), opts)
	const items = 8
	var busy [items]atomic.Int32
	var wg sync.WaitGroup

	for w := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(50))*time.Microsecond)
				item, ok := q.Get(ctx)
				expired := ctx.Err() != nil
				cancel()
				if !ok {
					if expired {
						continue
					}
					return
				}
				assert.EqualValues(t, 1, busy[item].Add(1), "an item in two hands")
				if r.IntN(3) == 0 {
					q.AddRateLimited(item)
				}
				busy[item].Add(-1)
				q.Done(item)
			}
		})
	}
	for p := range 2 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 100+uint64(p)))
			for range 60 {
				produce(q, r, r.IntN(items))
			}
		})
	}
	for i := range 3 { // the three shutdowns, each at its own moment
		wg.Go(func() {
			<-time.After(time.Duration(rand.New(rand.NewPCG(seed, 200+uint64(i))).IntN(200)) * time.Microsecond)
			shutDownSomehow(t, q, kinds>>(2*i)&3)
		})
	}
	wg.Wait()
	q.ShutDown()
	for _, ok := q.Get(t.Context()); ok; _, ok = q.Get(t.Context()) {
		assert.Fail(t, "an item was left although a worker saw the end of the queue")
	}
	assert.Zero(t, q.Stats().Delayed)
}

func produce(q *workqueue.RateLimitingQueue[int], r *rand.Rand, item int) {
	switch r.IntN(7) {
	case 0:
		q.AddAfter(item, time.Duration(r.IntN(30))*time.Microsecond)
	case 1:
		addAll(q, []int{item, 1, 2})
	case 2:
		q.PriorityClass(1).Add(item)
	case 3:
		q.AddRateLimited(item)
	case 4:
		<-time.After(time.Duration(r.IntN(10)) * time.Microsecond)
	case 5:
		q.Forget(item)
		q.Inspect(10_000)
	default:
		q.Add(item)
	}
}

func shutDownSomehow(t *testing.T, q *workqueue.RateLimitingQueue[int], kind byte) {
	switch kind {
	case 0:
		q.ShutDown()
	case 1, 2:
		if err := q.ShutDownWithDrain(t.Context()); err == nil {
			s := q.Stats()
			assert.Zero(t, s.Queued+s.Running+s.Again+s.Delayed, "a drain left %+v", s)
		} else {
			assert.ErrorContains(t, err, "ShutDown ended the drain")
		}
	case 3:
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Microsecond)
		defer cancel()
		_ = q.ShutDownWithDrain(ctx)
	}
}
