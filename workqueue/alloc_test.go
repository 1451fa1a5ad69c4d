//go:build !race

package workqueue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

type key struct{ Namespace, Name string }

// steady are operations in a steady state; none may allocate.
func steady(ctx context.Context) map[string]func() {
	k := key{"default", "pod"}
	plain := workqueue.New(workqueue.Options[key]{})
	all := workqueue.New(workqueue.Options[key]{
		MaxWait: []time.Duration{0, time.Minute},
	})
	grouped := workqueue.New(workqueue.Options[key]{MaxWait: []time.Duration{0, time.Minute}, Group: func(k key) string { return k.Namespace }})
	pointers := workqueue.New(workqueue.Options[*key]{})
	batch := []key{{"a", "b"}, {"c", "d"}, {"a", "c"}}
	batches := workqueue.New(workqueue.Options[key]{})
	delaying := workqueue.NewDelaying(workqueue.Options[key]{})
	limited := workqueue.NewRateLimiting(workqueue.FastSlow[key](time.Hour, time.Hour, 1), workqueue.Options[key]{})
	recorded := workqueue.NewRateLimiting(workqueue.FastSlow[key](time.Hour, time.Hour, 1), workqueue.Options[key]{Observe: history.Queue[key](history.New(history.Options{Entries: 64}), "q")})
	why := history.Cause{Object: history.Key{Name: "x"}}
	return map[string]func(){
		"with a history": func() {
			recorded.AddRateLimited(k)
			recorded.AddBecause(k, &why)
			item, _ := recorded.Get(ctx)
			recorded.Done(item)
		},
		"add, get, done": func() {
			plain.Add(k)
			item, _ := plain.Get(ctx)
			plain.Done(item)
		},
		"add while running": func() {
			plain.Add(k)
			item, _ := plain.Get(ctx)
			plain.Add(k)
			plain.Done(item)
			item, _ = plain.Get(ctx)
			plain.Done(item)
		},
		"classes": func() {
			all.PriorityClass(1).Add(k)
			all.Add(k)
			item, _ := all.Get(ctx)
			all.Done(item)
		},
		"groups": func() {
			addAll(grouped, batch)
			grouped.PriorityClass(1).Add(k)
			grouped.Add(k)
			for range 4 {
				item, _ := grouped.Get(ctx)
				grouped.Done(item)
			}
		},
		"pointers": func() {
			pointers.Add(&batch[0])
			item, _ := pointers.Get(ctx)
			pointers.Done(item)
		},
		"several": func() {
			addAll(batches, batch)
			for range batch {
				item, _ := batches.Get(ctx)
				batches.Done(item)
			}
		},
		"delay, supersede": func() {
			delaying.AddAfter(k, time.Hour)
			delaying.AddAfter(k, time.Minute)
			delaying.Add(k)
			item, _ := delaying.Get(ctx)
			delaying.Done(item)
		},
		"retry": func() {
			limited.AddRateLimited(k)
			limited.Add(k)
			item, _ := limited.Get(ctx)
			limited.Done(item)
		},
		"stats": func() { _ = plain.Stats() },
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for name, f := range steady(t.Context()) {
		assert.Zero(t, testing.AllocsPerRun(2000, f), name)
	}
}
