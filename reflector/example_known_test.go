package reflector_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

// pods is a store that can be asked for what it has. It is written by one goroutine;
// Known only reads.
type pods map[types.NamespacedName]*corev1.Pod

func (s pods) Add(_ context.Context, p *corev1.Pod) error {
	s[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	return nil
}
func (s pods) Update(ctx context.Context, p *corev1.Pod) error { return s.Add(ctx, p) }
func (s pods) Bookmark(context.Context, string) error          { return nil }
func (s pods) Delete(_ context.Context, p *corev1.Pod) error {
	delete(s, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	return nil
}

func (s pods) Replace(ctx context.Context, list []*corev1.Pod, _ string) error {
	unchanged := 0
	old := make(pods, len(s))
	for key, p := range s {
		old[key] = p
	}
	clear(s)
	for _, p := range list {
		if old[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] == p {
			unchanged++
		}
		_ = s.Add(ctx, p)
	}
	fmt.Println(len(list), "pods,", unchanged, "of them unchanged")
	return nil
}

func (s pods) Known(key types.NamespacedName) (*corev1.Pod, bool) {
	p, ok := s[key]
	return p, ok
}

// A sink that implements Known gets its own pointer for each object that has not
// changed, and finds what has changed by comparing pointers. Here the store was filled
// before the first list, for example from a file.
func ExampleKnown() {
	server := newServer(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}},
	)
	defer server.Close()
	source, err := reflector.NewResource[*corev1.Pod](server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	store := pods{}
	readOnce(source, store)
	readOnce(source, store)
	// Output:
	// 2 pods, 0 of them unchanged
	// 2 pods, 2 of them unchanged
}

// A health check that says why there is nothing in the sink yet.
func ExampleReflector_Health() {
	server := newServer()
	defer server.Close()
	widgets := corev1.SchemeGroupVersion.WithResource("widgets")
	source, err := reflector.NewResource[*metav1.PartialObjectMetadata](server.Config(), widgets, reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	failed := make(chan struct{}, 1)
	r, err := reflector.New(source, &mirror[*metav1.PartialObjectMetadata]{}, reflector.Options{
		Policy: func(reflector.Failure) reflector.Decision { failed <- struct{}{}; return reflector.Stop() },
	})
	if err != nil {
		panic(err)
	}
	_ = r.Run(context.Background())
	<-failed
	h := r.Health()
	reason, _, degraded := h.Degraded()
	fmt.Println(h.State, h.Synced, degraded, reason)
	// Output: Stopped false true not found
}

// readOnce runs a reflector of its own until it has listed.
func readOnce(source reflector.ListerWatcher[*corev1.Pod], sink reflector.Sink[*corev1.Pod]) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := reflector.New(source, sink, reflector.Options{OnStateChange: func(h reflector.Health) {
		if h.State == reflector.StateSynced {
			cancel()
		}
	}})
	if err != nil {
		panic(err)
	}
	_ = r.Run(ctx)
}
