package workqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// A certificate is to be looked at when it is about to expire, or earlier if
// something happens to it.
func ExampleDelayingQueue() {
	ctx := context.Background()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.AddAfter("default/soon", 20*time.Millisecond)
	q.AddAfter("default/later", 24*time.Hour)
	q.Add("default/later") // something happened: the delay is forgotten

	for range 2 {
		key, _ := q.Get(ctx)
		fmt.Println(key)
		q.Done(key)
	}
	fmt.Println("delayed:", q.Stats().Delayed)
	// Output:
	// default/later
	// default/soon
	// delayed: 0
}
