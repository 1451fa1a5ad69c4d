package clientgo_test

import (
	"fmt"

	upstream "k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// Code that takes client-go's interface works on a queue of this library.
func ExampleNewTypedRateLimitingQueue() {
	work := func(queue upstream.TypedRateLimitingInterface[string]) {
		key, _ := queue.Get()
		defer queue.Done(key)
		fmt.Println("reconciling", key)
	}
	queue := clientgo.NewTypedRateLimitingQueue(upstream.DefaultTypedControllerRateLimiter[string]())
	queue.Add("default/web")
	work(queue)
	// Output: reconciling default/web
}
