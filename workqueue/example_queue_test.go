package workqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// However often a key is added, a worker gets it once; if it is added while the
// worker is busy with it, once more afterwards.
func Example() {
	ctx := context.Background()
	q := workqueue.New(workqueue.Options[string]{})
	q.Add("default/web")
	q.Add("default/web")
	q.Add("default/db")
	q.ShutDown() // what is queued is still handed out

	for {
		key, ok := q.Get(ctx)
		if !ok {
			break
		}
		fmt.Println("working on", key)
		q.Done(key)
	}
	// Output:
	// working on default/web
	// working on default/db
}

// Class 0 comes first, but after a minute an item of class 1 has a share in the
// hand-outs. Within a class, namespaces take turns.
func ExampleOptions() {
	type key struct{ Namespace, Name string }
	q := workqueue.New(workqueue.Options[key]{
		MaxWait: []time.Duration{0, time.Minute},
		Group:   func(k key) string { return k.Namespace },
	})
	q.PriorityClass(1).Add(key{"noisy", "a"})
	q.PriorityClass(1).Add(key{"noisy", "b"})
	q.PriorityClass(1).Add(key{"quiet", "c"})
	q.Add(key{"noisy", "urgent"})

	for q.Len() > 0 {
		k, _ := q.Get(context.Background())
		fmt.Println(k.Namespace, k.Name)
		q.Done(k)
	}
	// Output:
	// noisy urgent
	// noisy a
	// quiet c
	// noisy b
}

// Code that only knows how to add gets a view of the queue, and what it adds is
// of the class of that view.
func ExampleQueue_PriorityClass() {
	q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
	addAll := func(q interface{ Add(string) }, keys ...string) {
		for _, key := range keys {
			q.Add(key)
		}
	}
	addAll(q.PriorityClass(1), "default/old-1", "default/old-2")
	addAll(q, "default/news")

	for q.Len() > 0 {
		key, _ := q.Get(context.Background())
		fmt.Println(key)
		q.Done(key)
	}
	// Output:
	// default/news
	// default/old-1
	// default/old-2
}

// A drain waits until workers have finished everything that was added.
func ExampleQueue_ShutDownWithDrain() {
	ctx := context.Background()
	q := workqueue.New(workqueue.Options[int]{})
	sum := 0
	go func() {
		for n, ok := q.Get(ctx); ok; n, ok = q.Get(ctx) {
			sum += n
			q.Done(n)
		}
	}()
	addAll(q, []int{1, 2, 3})
	err := q.ShutDownWithDrain(ctx)
	fmt.Println(sum, err)
	// Output: 6 <nil>
}
