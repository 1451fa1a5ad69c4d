package deltafifo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/informerkit/informerkit/deltafifo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podStore is a consumer's store. An indexer.Indexer has these methods too, and
// unlike this one may be read while it is written.
type podStore map[types.NamespacedName]*corev1.Pod

func (s podStore) Get(key types.NamespacedName) (*corev1.Pod, bool) { p, ok := s[key]; return p, ok }
func (s podStore) All() iter.Seq[*corev1.Pod]                       { return maps.Values(s) }

// apply is what an informer does with the deltas of one object.
func (s podStore) apply(deltas deltafifo.Deltas[*corev1.Pod]) error {
	for _, d := range deltas {
		fmt.Println(d.Type, d.Key.Name, "tombstone:", d.FinalStateUnknown)
		if d.Type == deltafifo.Deleted {
			delete(s, d.Key)
		} else {
			s[d.Key] = d.Object
		}
	}
	return nil
}

// The loop of every DeltaFIFO article: each Pop is one object with all that has
// happened to it. The second list lacks db, so the queue makes up its deletion.
func ExampleDeltaFIFO() {
	ctx := context.Background()
	store := podStore{}
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{KnownObjects: store})

	_ = queue.Replace(ctx, []*corev1.Pod{pod("web", "1"), pod("db", "1")}, "1")
	_ = queue.Update(ctx, pod("web", "2"))
	for queue.Len() > 0 {
		_ = queue.Pop(ctx, store.apply)
	}
	fmt.Println("synced:", queue.HasSynced())

	_ = queue.Replace(ctx, []*corev1.Pod{pod("web", "2")}, "5")
	for queue.Len() > 0 {
		_ = queue.Pop(ctx, store.apply)
	}
	// Output:
	// Replaced web tombstone: false
	// Updated web tombstone: false
	// Replaced db tombstone: false
	// synced: true
	// Replaced web tombstone: false
	// Deleted db tombstone: true
}

// What could not be processed goes back to the end of the line, unless newer
// changes of the object are there already.
func ExampleDeltaFIFO_AddIfNotPresent() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{})
	_ = queue.Add(ctx, pod("web", "1"))
	_ = queue.Add(ctx, pod("db", "1"))

	failed := false
	for queue.Len() > 0 {
		err := queue.Pop(ctx, func(deltas deltafifo.Deltas[*corev1.Pod]) error {
			newest := deltas.Newest()
			if newest.Key.Name == "web" && !failed {
				failed = true
				return errors.Join(errors.New("no disk space for web"), queue.AddIfNotPresent(deltas))
			}
			fmt.Println("processed", newest.Key.Name)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// no disk space for web
	// processed db
	// processed web
}

// A transform keeps what is never needed out of memory. It runs once for each
// object that is received.
func ExampleOptions() {
	ctx := context.Background()
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{
		Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			p.ManagedFields = nil
			return p, nil
		},
	})
	_ = queue.Add(ctx, pod("web", "1"))
	fmt.Println(queue.ListKeys())
	// Output: [default/web]
}
