package audit_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// recorder is a sink that keeps the state, counts the lists, and can be audited. It hides
// objects of one name from audits.
type recorder struct {
	mu       sync.Mutex
	state    map[types.NamespacedName]*corev1.ConfigMap
	replaces int
	hidden   string
}

func newRecorder() *recorder {
	return &recorder{state: map[types.NamespacedName]*corev1.ConfigMap{}}
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (s *recorder) Add(_ context.Context, o *corev1.ConfigMap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[keyOf(o)] = o
	return nil
}

func (s *recorder) Update(ctx context.Context, o *corev1.ConfigMap) error { return s.Add(ctx, o) }

func (s *recorder) Delete(_ context.Context, o *corev1.ConfigMap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state, keyOf(o))
	return nil
}

func (s *recorder) Bookmark(context.Context, string) error { return nil }

func (s *recorder) Replace(_ context.Context, objs []*corev1.ConfigMap, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaces++
	clear(s.state)
	for _, o := range objs {
		s.state[keyOf(o)] = o
	}
	return nil
}

func (s *recorder) Known(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.state[key]
	return o, ok
}

func (s *recorder) Contents() (func(types.NamespacedName) (metav1.Object, bool), iter.Seq[metav1.Object]) {
	state := s.objects()
	maps.DeleteFunc(state, func(key types.NamespacedName, _ *corev1.ConfigMap) bool {
		return s.hidden != "" && key.Name == s.hidden
	})
	get := func(key types.NamespacedName) (metav1.Object, bool) { o, ok := state[key]; return o, ok }
	return get, func(yield func(metav1.Object) bool) {
		for _, o := range state {
			if !yield(o) {
				return
			}
		}
	}
}

// objects returns a copy of the state.
func (s *recorder) objects() map[types.NamespacedName]*corev1.ConfigMap {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.state)
}

// holds returns the objects as name@rv, sorted.
func (s *recorder) holds() string {
	var out []string
	for k, o := range s.objects() {
		out = append(out, fmt.Sprint(k.Name, "@", o.ResourceVersion))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// plainSink hides that a recorder can be audited.
type plainSink struct {
	reflector.Sink[*corev1.ConfigMap]
}

// sourceOf returns a source that reads ConfigMaps from a server.
func sourceOf(t testing.TB, s *scripted.Server) reflector.ListerWatcher[*corev1.ConfigMap] {
	lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	return lw
}

// run starts a reflector that ends with the test.
func run(t testing.TB, lw reflector.ListerWatcher[*corev1.ConfigMap], sink reflector.Sink[*corev1.ConfigMap], opts reflector.Options) *reflector.Reflector[*corev1.ConfigMap] {
	r, err := reflector.New(lw, sink, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() { defer close(finished); _ = r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-finished })
	return r
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

// after lets the time of the bubble pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
)
