package sharding_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/workqueue"
)

// With one part, the replica that has it leads.
func Example() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	start := func(name string, works chan<- string) (stop func()) {
		stop, err := run(server.Config(), name, works)
		if err != nil {
			panic(err)
		}
		return stop
	}
	works := make(chan string)
	stopFirst := start("first", works)
	fmt.Println(<-works)
	stopSecond := start("second", works)
	stopFirst()
	fmt.Println(<-works)
	stopSecond()
	// Output:
	// first reconciles default/web
	// second reconciles default/web
}

func run(cfg *rest.Config, name string, works chan<- string) (stop func(), err error) {
	replica, err := sharding.New(cfg, sharding.Options{
		Name: "my-controller", Namespace: "default", Identity: name, Parts: 1,
		Work: func(ctx context.Context, part *sharding.Part) error {
			queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
			queue.Add(types.NamespacedName{Namespace: "default", Name: "web"})
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[types.NamespacedName]{StopTimeout: time.Second},
				sharding.Guard(part, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
					works <- fmt.Sprint(name, " reconciles ", key)
					return workqueue.Result{}, nil
				}))
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- replica.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	}, nil
}
