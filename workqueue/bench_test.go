package workqueue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// Run with: go test -run '^$' -bench . ./workqueue

type benchKey struct{ Namespace, Name string }

func benchKeys(n int) []benchKey {
	keys := make([]benchKey, n)
	for i := range keys {
		keys[i] = benchKey{fmt.Sprint("namespace-", i%50), fmt.Sprint("pod-", i)}
	}
	return keys
}

func benchOptions() map[string]workqueue.Options[benchKey] {
	group := func(k benchKey) string { return k.Namespace }
	maxWait := []time.Duration{0, time.Minute}
	return map[string]workqueue.Options[benchKey]{
		"fifo":           {},
		"times":          {Times: true},
		"classes":        {MaxWait: maxWait},
		"groups":         {Group: group},
		"classes+groups": {MaxWait: maxWait, Group: group},
	}
}

func BenchmarkAddGetDone(b *testing.B) {
	keys, ctx := benchKeys(1000), context.Background()
	for name, opts := range benchOptions() {
		b.Run(name, func(b *testing.B) {
			q := workqueue.New(opts)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.Add(keys[i%len(keys)])
				k, _ := q.Get(ctx)
				q.Done(k)
			}
		})
	}
}

// Every worker adds an item and then processes one, whichever comes. No item is
// ever added twice: two adds that collapse would leave a worker without.
func BenchmarkWorkers(b *testing.B) {
	type key struct {
		namespace string
		worker, n int
	}
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			ctx := context.Background()
			q := workqueue.New(workqueue.Options[key]{})
			b.ReportAllocs()
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range b.N/workers + 1 {
						q.Add(key{"namespace", w, i})
						k, _ := q.Get(ctx)
						q.Done(k)
					}
				})
			}
			wg.Wait()
		})
	}
}

func BenchmarkBacklog(b *testing.B) {
	keys, ctx := benchKeys(100_000), context.Background()
	for _, how := range []string{"Add", "AddAll", "AddAfter"} {
		b.Run(how, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := workqueue.NewDelaying(workqueue.Options[benchKey]{})
				switch how {
				case "Add":
					for _, k := range keys {
						q.Add(k)
					}
				case "AddAll":
					addAll(q, keys)
				case "AddAfter":
					for i, k := range keys {
						q.AddAfter(k, time.Duration(1+i*7919%20000)*time.Microsecond)
					}
				}
				for range keys {
					k, _ := q.Get(ctx)
					q.Done(k)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/item")
		})
	}
}

func BenchmarkAddAfterSupersededByAdd(b *testing.B) {
	keys, ctx := benchKeys(1000), context.Background()
	q := workqueue.NewDelaying(workqueue.Options[benchKey]{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.AddAfter(keys[i%len(keys)], time.Hour)
		q.Add(keys[i%len(keys)])
		k, _ := q.Get(ctx)
		q.Done(k)
	}
}

// What a worker does with an item that succeeds.
func BenchmarkAddGetForgetDone(b *testing.B) {
	keys, ctx := benchKeys(1000), context.Background()
	q := workqueue.NewRateLimiting[benchKey](nil, workqueue.Options[benchKey]{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%len(keys)])
		k, _ := q.Get(ctx)
		q.Forget(k)
		q.Done(k)
	}
}

func BenchmarkAddRateLimited(b *testing.B) {
	keys, ctx := benchKeys(1000), context.Background()
	q := workqueue.NewRateLimiting[benchKey](nil, workqueue.Options[benchKey]{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := keys[i%len(keys)]
		q.AddRateLimited(k)
		q.Forget(k)
		q.Add(k)
		k, _ = q.Get(ctx)
		q.Done(k)
	}
}

func BenchmarkLimiter(b *testing.B) {
	for name, limiter := range limiters() {
		b.Run(name, func(b *testing.B) {
			l := limiter()
			b.ReportAllocs()
			for b.Loop() {
				l.When("default/web")
				l.Forget("default/web")
			}
		})
	}
}
