package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// listed returns what the server has of the ConfigMaps with a label, at exactly
// one resourceVersion or, if that is empty, now, and that version.
func listed(t *testing.T, client kubernetes.Interface, selector, atVersion string) (versions, string) {
	t.Helper()
	opts := metav1.ListOptions{LabelSelector: selector}
	if atVersion != "" {
		opts.ResourceVersion, opts.ResourceVersionMatch = atVersion, metav1.ResourceVersionMatchExact
	}
	list, err := client.CoreV1().ConfigMaps("").List(t.Context(), opts)
	require.NoError(t, err)
	vs := versions{}
	for i := range list.Items {
		o := &list.Items[i]
		vs[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = versionOf(o)
	}
	return vs, list.ResourceVersion
}

// run starts an informer that ends with the test, and waits until it is synced.
func run[T informer.Object](t *testing.T, inf *informer.Informer[T]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		<-inf.Done()
	})
	go func() { assert.NoError(t, inf.Run(ctx)) }()
	waitCtx, cancelWait := context.WithTimeout(t.Context(), time.Minute)
	defer cancelWait()
	require.NoError(t, informer.WaitForSync(waitCtx, inf))
}

// witness is a handler that keeps what was delivered to it and complains about an
// event that does not follow from the one before.
type witness[T informer.Object] struct {
	t  *testing.T
	mu sync.Mutex
	vs versions
	// seen is closed when an object of the name until arrives.
	until string
	seen  chan struct{}
}

func newWitness[T informer.Object](t *testing.T, until string) *witness[T] {
	return &witness[T]{t: t, vs: versions{}, until: until, seen: make(chan struct{})}
}

// OnEvent checks the event against what is known.
func (w *witness[T]) OnEvent(e informer.Event[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, exists := w.vs[e.Key]
	switch e.Type {
	case informer.Added:
		assert.False(w.t, exists, "%s was added twice", e.Key)
		w.vs[e.Key] = versionOf(e.New)
	case informer.Updated:
		assert.Equal(w.t, known, versionOf(e.Old), "the old state of %s is not the new one of before", e.Key)
		assert.Equal(w.t, e.Old.GetUID(), e.New.GetUID(), "%s was updated to another object", e.Key)
		w.vs[e.Key] = versionOf(e.New)
	case informer.Deleted:
		assert.Equal(w.t, known, versionOf(e.Old), "%s was deleted in a state that was never delivered", e.Key)
		delete(w.vs, e.Key)
	}
	if e.Key.Name == w.until {
		close(w.seen)
	}
}

// follower is an informer of any type under test, with a handler that was there
// from the beginning and ways to compare.
type follower struct {
	name  string
	cache func() (versions, string) // and its resourceVersion

	seen <-chan struct{} // the last object was delivered to the handler
	view func() versions // what the handler has seen
}

// follow runs an informer of T over all namespaces.
func follow[T informer.Object](t *testing.T, cfg *rest.Config, name string, source reflector.ResourceOptions, sync reflector.SyncMode, last string) follower {
	t.Helper()
	lw, err := reflector.NewResource[T](cfg, configMapResource, source)
	require.NoError(t, err)
	inf, err := informer.New(lw, informer.Options[T]{Name: name, Reflector: reflector.Options{Sync: sync}})
	require.NoError(t, err)
	w := newWitness[T](t, last)
	_, err = inf.AddHandler(w, informer.HandlerOptions{Lossless: true})
	require.NoError(t, err)
	run(t, inf)
	return follower{
		name: name,
		cache: func() (versions, string) {
			snap := inf.Snapshot()
			vs := versions{}
			for o := range snap.All() {
				vs[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = versionOf(o)
			}
			return vs, snap.ResourceVersion()
		},
		seen: w.seen,
		view: func() versions {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.vs
		},
	}
}

// followAll runs informers of every type, encoding and way to list.
func followAll(t *testing.T, cfg *rest.Config, selector, last string) []follower {
	auto := reflector.ResourceOptions{LabelSelector: selector}
	json := reflector.ResourceOptions{LabelSelector: selector, Encoding: reflector.EncodingJSON}
	var all []follower
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
		all = append(all,
			follow[*corev1.ConfigMap](t, cfg, fmt.Sprintf("protobuf, %s", mode), auto, mode, last),
			follow[*corev1.ConfigMap](t, cfg, fmt.Sprintf("JSON, %s", mode), json, mode, last),
			follow[*unstructured.Unstructured](t, cfg, fmt.Sprintf("unstructured, %s", mode), auto, mode, last),
			follow[*metav1.PartialObjectMetadata](t, cfg, fmt.Sprintf("metadata, %s", mode), auto, mode, last),
		)
	}
	return all
}

func TestCacheEqualsTheServersListAfterABurst(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	client := clientFor(t, cp)
	b := burst{
		client:     client,
		namespaces: []string{newNamespace(t, client), newNamespace(t, client)},
		names:      40, workers: 8, writes: 100,
	}
	selector := "burst=" + b.namespaces[0]
	b.labels = map[string]string{"burst": b.namespaces[0]}

	b.run(t) // there is something to list already
	followers := followAll(t, cp.Config(), selector, "last")
	b.run(t)
	last := configMap("last")
	last.Labels = b.labels
	_, err := client.CoreV1().ConfigMaps(b.namespaces[0]).Create(t.Context(), last, metav1.CreateOptions{})
	require.NoError(t, err)

	want, version := listed(t, client, selector, "")
	require.NotEmpty(t, want)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, f := range followers {
		select {
		case <-f.seen:
		case <-ctx.Done():
			t.Fatalf("%s: the last object was never delivered to the handler", f.name)
		}
		got, _ := f.cache()
		assert.Equal(t, want, got, "%s: the cache differs from the server's list at %s", f.name, version)
		assert.Equal(t, want, f.view(), "%s: what was delivered differs from the server's list at %s", f.name, version)
	}
}

func TestSnapshotIsTheServersStateAtItsResourceVersion(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	client := clientFor(t, cp)
	b := burst{
		client:     client,
		namespaces: []string{newNamespace(t, client), newNamespace(t, client)},
		names:      30, workers: 4, writes: 200,
	}
	selector := "burst=" + b.namespaces[0]
	b.labels = map[string]string{"burst": b.namespaces[0]}
	followers := followAll(t, cp.Config(), selector, "")

	done := make(chan struct{})
	go func() {
		defer close(done)
		b.run(t)
	}()
	compared := map[string]bool{}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for _, f := range followers {
			got, version := f.cache()
			want, _ := listed(t, client, selector, version)
			compared[version] = true
			require.Equal(t, want, got, "%s at resourceVersion %s", f.name, version)
		}
	}
	assert.Greater(t, len(compared), 10, "the burst was over too soon to see anything")
	t.Logf("%d points in time compared", len(compared))
}
