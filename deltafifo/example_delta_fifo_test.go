package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

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

// A producer lists and watches; a consumer keeps a store up to date, as an informer
// does: in the order of arrival. After each batch the store equals the collection at one
// point in time.
func Example() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{})

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
		err := queue.Pop(ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
			for _, d := range batch.Deltas {
				switch d.Type {
				case deltafifo.Replaced:
					clear(store)
					for _, p := range d.List.Objects {
						store[keyOf(p)] = p
					}
					version = d.List.ResourceVersion
				case deltafifo.Bookmark:
					version = d.List.ResourceVersion
				case deltafifo.Deleted:
					delete(store, d.Key())
					version = d.Object.ResourceVersion
				default:
					store[d.Key()] = d.Object
					version = d.Object.ResourceVersion
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

// podStore is a consumer's store. An indexer.Indexer has these methods too, and
// unlike this one may be read while it is written.
type podStore map[types.NamespacedName]*corev1.Pod

func (s podStore) Get(key types.NamespacedName) (*corev1.Pod, bool) { p, ok := s[key]; return p, ok }
func (s podStore) All() iter.Seq[*corev1.Pod]                       { return maps.Values(s) }

// apply reads a batch by object.
func (s podStore) apply(batch deltafifo.Batch[*corev1.Pod]) error {
	for _, deltas := range batch.ByObject() {
		for _, d := range deltas {
			fmt.Println(d.Type, d.Key().Name, "tombstone:", d.FinalStateUnknown)
			if d.Type == deltafifo.Deleted {
				delete(s, d.Key())
			} else {
				s[d.Key()] = d.Object
			}
		}
	}
	return nil
}

// The loop of every DeltaFIFO article: each object comes with all that has
// happened to it. The second list lacks db, so there is a deletion that nobody has seen.
func ExampleDeltaFIFO() {
	ctx := context.Background()
	store := podStore{}
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{KnownObjects: store})

	_ = queue.Replace(ctx, []*corev1.Pod{pod("web", "1"), pod("db", "1")}, "1")
	_ = queue.Update(ctx, pod("web", "2"))
	_ = queue.Pop(ctx, store.apply)
	fmt.Println("synced:", queue.HasSynced())

	_ = queue.Replace(ctx, []*corev1.Pod{pod("web", "2")}, "5")
	_ = queue.Pop(ctx, store.apply)
	// Output:
	// Replaced web tombstone: false
	// Updated web tombstone: false
	// Replaced db tombstone: false
	// synced: true
	// Replaced web tombstone: false
	// Deleted db tombstone: true
}

// Everything that is pending is one batch. It can be read in the order of arrival, or by
// object.
func ExampleBatch() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{})
	_ = queue.Add(ctx, pod("web", "1"))
	_ = queue.Add(ctx, pod("db", "2"))
	_ = queue.Update(ctx, pod("web", "3"))

	_ = queue.Pop(ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
		for _, d := range batch.Deltas {
			fmt.Println(d.Type, d.Key().Name, d.Object.ResourceVersion)
		}
		for _, deltas := range batch.ByObject() {
			newest := deltas.Newest()
			fmt.Println(newest.Key().Name, "is at", newest.Object.ResourceVersion, "after", len(deltas), "changes")
		}
		return nil
	})
	// Output:
	// Added web 1
	// Added db 2
	// Updated web 3
	// web is at 3 after 2 changes
	// db is at 2 after 1 changes
}

// What could not be processed goes back to the end of the queue, unless newer
// changes of the object are there already.
func ExampleDeltaFIFO_AddIfNotPresent() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{})
	_ = queue.Add(ctx, pod("web", "1"))
	_ = queue.Add(ctx, pod("db", "1"))

	failed := false
	for queue.Len() > 0 {
		err := queue.Pop(ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
			var errs []error
			for _, deltas := range batch.ByObject() {
				name := deltas.Newest().Key().Name
				if name == "web" && !failed {
					failed = true
					errs = append(errs, errors.New("no disk space for web"), queue.AddIfNotPresent(deltas))
					continue
				}
				fmt.Println("processed", name)
			}
			return errors.Join(errs...)
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// processed db
	// no disk space for web
	// processed web
}

// A producer that is faster than the consumer waits once the limit is reached; its
// context and Close end the wait. A transform keeps what is never needed out of memory. It
// runs once for each object that is received.
func ExampleOptions() {
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{
		Limit: 1,
		Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			p.ManagedFields = nil
			return p, nil
		},
	})
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
