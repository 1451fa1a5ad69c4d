package deltafifo_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/informerkit/informerkit/deltafifo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}

func keyOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// A producer lists and watches; a consumer keeps a store up to date. After each
// batch the store equals the collection at one point in time.
func Example() {
	ctx := context.Background()
	queue := deltafifo.NewBatch[*corev1.Pod](deltafifo.BatchOptions{})

	// The producer. A reflector does this in its own goroutine.
	_ = queue.Replace(ctx, []*corev1.Pod{pod("web", "1"), pod("db", "2")}, "2")
	_ = queue.Update(ctx, pod("web", "3"))
	_ = queue.Delete(ctx, pod("db", "4"))
	_ = queue.Bookmark(ctx, "7")
	queue.Close()

	// The consumer.
	store := map[types.NamespacedName]*corev1.Pod{}
	version := ""
	for {
		err := queue.PopBatch(ctx, func(batch []deltafifo.Change[*corev1.Pod]) error {
			for _, c := range batch {
				switch c.Type {
				case deltafifo.Replaced:
					clear(store)
					for _, p := range c.Collection.Objects {
						store[keyOf(p)] = p
					}
					version = c.Collection.ResourceVersion
				case deltafifo.Deleted:
					delete(store, keyOf(c.Object))
					version = c.Object.ResourceVersion
				case deltafifo.Bookmark:
					version = c.Collection.ResourceVersion
				default:
					store[keyOf(c.Object)] = c.Object
					version = c.Object.ResourceVersion
				}
			}
			return nil
		})
		if errors.Is(err, deltafifo.ErrClosed) {
			break
		}
	}
	fmt.Println("pods:", len(store), "as of:", version)
	// Output: pods: 1 as of: 7
}

// Everything that is pending is one batch, in the order of arrival.
func ExampleBatchFIFO_PopBatch() {
	ctx := context.Background()
	queue := deltafifo.NewBatch[*corev1.Pod](deltafifo.BatchOptions{})
	_ = queue.Add(ctx, pod("web", "1"))
	_ = queue.Add(ctx, pod("db", "2"))
	_ = queue.Update(ctx, pod("web", "3"))

	_ = queue.PopBatch(ctx, func(batch []deltafifo.Change[*corev1.Pod]) error {
		for _, c := range batch {
			fmt.Println(c.Type, keyOf(c.Object), c.Object.ResourceVersion)
		}
		return nil
	})
	// Output:
	// Added default/web 1
	// Added default/db 2
	// Updated default/web 3
}

// A producer that is faster than the consumer waits once the limit is reached;
// its context and Close end the wait.
func ExampleBatchOptions() {
	queue := deltafifo.NewBatch[*corev1.Pod](deltafifo.BatchOptions{Limit: 1})
	ctx, cancel := context.WithCancel(context.Background())
	_ = queue.Add(ctx, pod("web", "1"))

	done := make(chan error)
	go func() { done <- queue.Add(ctx, pod("db", "2")) }()
	cancel()
	fmt.Println(<-done)
	fmt.Println("pending:", queue.Len())
	// Output:
	// context canceled
	// pending: 1
}
