package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/informerkit/informerkit/workqueue"
)

// The loop by hand: retry what failed, forget what succeeded, and in any case
// say that it is done. Process is this loop with workers and a graceful stop.
func ExampleRateLimitingQueue() {
	ctx := context.Background()
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
	q.Add("default/web")

	for attempt := 1; ; attempt++ {
		key, ok := q.Get(ctx)
		if !ok {
			break
		}
		if attempt < 3 {
			fmt.Println("attempt", attempt, "failed")
			q.AddRateLimited(key)
		} else {
			fmt.Println("attempt", attempt, "succeeded after", q.NumRequeues(key), "retries")
			q.Forget(key)
			q.ShutDown()
		}
		q.Done(key)
	}
	// Output:
	// attempt 1 failed
	// attempt 2 failed
	// attempt 3 succeeded after 2 retries
}

func ExampleProcess() {
	ctx, cancel := context.WithCancel(context.Background())
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
	q.Add("default/web")

	attempts := 0
	err := workqueue.Process(ctx, q, 1, func(ctx context.Context, key string) error {
		if attempts++; attempts == 1 {
			return errors.New("the API server is busy") // comes again in 5 ms
		}
		fmt.Println(key, "reconciled")
		cancel()
		return nil
	})
	fmt.Println("stopped:", err)
	// Output:
	// default/web reconciled
	// stopped: <nil>
}

// An item that can never succeed is dropped; a function may ask for a later run.
func ExampleProcessWith() {
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{Name: "pods"})
	for _, key := range []string{"poison", "flaky", "checked hourly", "fine"} {
		q.Add(key)
	}
	ctx, cancel := context.WithCancel(context.Background())

	err := workqueue.ProcessWith(ctx, q, workqueue.ProcessOptions[string]{
		MaxAttempts:   3,
		ItemTimeout:   time.Minute,
		CapturePanics: true,
		OnOutcome: func(o workqueue.Outcome[string]) {
			fmt.Println(o.Item, o.Action, o.Attempt)
			if o.Item == "flaky" && o.Action == workqueue.Dropped {
				cancel()
			}
		},
	}, func(_ context.Context, key string) (workqueue.Result, error) {
		switch key {
		case "poison":
			return workqueue.Result{}, workqueue.Terminal(errors.New("no such field"))
		case "flaky":
			panic("again")
		case "checked hourly":
			return workqueue.Result{RequeueAfter: time.Hour}, nil
		}
		return workqueue.Result{}, nil
	})
	fmt.Println("lost:", q.Stats().ShutdownLosses, err)
	// Output:
	// poison dropped 1
	// flaky retried 1
	// checked hourly requeued 1
	// fine succeeded 1
	// flaky retried 2
	// flaky dropped 3
	// lost: 1 <nil>
}

// Each item backs off on its own with some jitter, and all of them together
// stay under 50 retries per second.
func ExampleMaxOf() {
	limiter := workqueue.MaxOf(
		workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Second, Max: time.Minute, Jitter: 0.1}),
		workqueue.Bucket[string](rate.NewLimiter(50, 10)),
	)
	q := workqueue.NewRateLimiting(limiter, workqueue.Options[string]{})
	q.AddRateLimited("default/web")
	fmt.Println("retries:", q.NumRequeues("default/web"), "delayed:", q.Stats().Delayed)
	// Output: retries: 1 delayed: 1
}

func ExampleExponential() {
	limiter := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Second, Max: 5 * time.Second})
	for range 4 {
		fmt.Println(limiter.When("default/web"))
	}
	// Output:
	// 1s
	// 2s
	// 4s
	// 5s
}
