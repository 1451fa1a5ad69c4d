package e2e

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

var configMapResource = corev1.SchemeGroupVersion.WithResource("configmaps")

// versions maps the key of each object to its UID and resourceVersion, which stand
// for its whole state.
type versions map[types.NamespacedName]string

// versionOf is what versions says of an object.
func versionOf(o metav1.Object) string {
	return string(o.GetUID()) + "@" + o.GetResourceVersion()
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// mirror is the plainest sink: a map, and a channel that signals changes.
type mirror[T reflector.Object] struct {
	mu       sync.Mutex
	objects  map[types.NamespacedName]T
	replaced int           // how many times
	same     int           // objects whose pointer the last Replace has kept
	changed  chan struct{} // closed and renewed at each change
}

func newMirror[T reflector.Object]() *mirror[T] {
	return &mirror[T]{objects: map[types.NamespacedName]T{}, changed: make(chan struct{})}
}

// change runs f and wakes the waiters.
func (m *mirror[T]) change(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

func keyOf(o reflector.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Add implements reflector.Sink, like the methods below.
func (m *mirror[T]) Add(_ context.Context, obj T) error {
	return m.change(func() { m.objects[keyOf(obj)] = obj })
}

func (m *mirror[T]) Update(_ context.Context, obj T) error {
	return m.change(func() { m.objects[keyOf(obj)] = obj })
}

func (m *mirror[T]) Delete(_ context.Context, obj T) error {
	return m.change(func() { delete(m.objects, keyOf(obj)) })
}

func (m *mirror[T]) Replace(_ context.Context, objs []T, _ string) error {
	return m.change(func() {
		m.replaced++
		m.same = 0
		now := make(map[types.NamespacedName]T, len(objs))
		for _, obj := range objs {
			key := keyOf(obj)
			now[key] = obj
			if old, ok := m.objects[key]; ok && any(old) == any(obj) {
				m.same++
			}
		}
		m.objects = now
	})
}

func (m *mirror[T]) Bookmark(context.Context, string) error { return m.change(func() {}) }

// Known implements reflector.Known.
func (m *mirror[T]) Known(key types.NamespacedName) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	obj, ok := m.objects[key]
	return obj, ok
}

// versions returns what the mirror shows.
func (m *mirror[T]) versions() versions {
	m.mu.Lock()
	defer m.mu.Unlock()
	vs := versions{}
	for key, obj := range m.objects {
		vs[key] = versionOf(obj)
	}
	return vs
}

// waitFor waits until the mirror shows want.
func (m *mirror[T]) waitFor(t *testing.T, want versions, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		got := m.versions()
		if maps.Equal(got, want) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			require.Equal(t, want, got, why)
			return
		}
	}
}

// startReflector runs a reflector into a new mirror until the test ends. Its retries are
// quicker than usual.
func startReflector[T reflector.Object](t *testing.T, lw reflector.ListerWatcher[T], opts reflector.Options) (*reflector.Reflector[T], *mirror[T]) {
	t.Helper()
	if opts.Backoff == (reflector.Backoff{}) {
		opts.Backoff = reflector.Backoff{Initial: 50 * time.Millisecond, Max: 500 * time.Millisecond}
	}
	sink := newMirror[T]()
	r, err := reflector.New(lw, sink, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, r.Run(ctx))
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			t.Logf("health: %+v", r.Health())
		}
	})
	return r, sink
}

// reflectConfigMaps is startReflector for the ConfigMaps of a namespace.
func reflectConfigMaps(t *testing.T, cfg *rest.Config, namespace string, opts reflector.Options) (*reflector.Reflector[*corev1.ConfigMap], *mirror[*corev1.ConfigMap]) {
	t.Helper()
	lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, configMapResource, reflector.ResourceOptions{Namespace: namespace})
	require.NoError(t, err)
	return startReflector(t, lw, opts)
}

// states returns an OnStateChange that reports into a channel that need not be
// drained, and a function that waits for a state with a property.
func states() (func(reflector.Health), func(t *testing.T, why string, ok func(reflector.Health) bool) reflector.Health) {
	var mu sync.Mutex
	var seen []reflector.Health
	changed := make(chan struct{})
	note := func(h reflector.Health) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, h)
		close(changed)
		changed = make(chan struct{})
	}
	wait := func(t *testing.T, why string, ok func(reflector.Health) bool) reflector.Health {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for next := 0; ; {
			mu.Lock()
			news, more := seen[next:], changed
			next = len(seen)
			mu.Unlock()
			for _, h := range news {
				if ok(h) {
					return h
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				require.FailNow(t, why, "the last state is %+v", news)
			}
		}
	}
	return note, wait
}
