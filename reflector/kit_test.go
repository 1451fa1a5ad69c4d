package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"sort"
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

// sourceOf returns a source that reads ConfigMaps from a server.
func sourceOf(t testing.TB, s *scripted.Server) reflector.ListerWatcher[*corev1.ConfigMap] {
	lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	return lw
}

// recorder is a sink that keeps the state and a log.
type recorder struct {
	mu    sync.Mutex
	state map[types.NamespacedName]*corev1.ConfigMap
	rv    string
	log   []string
	fail  func(op string) error
	block chan struct{} // if not nil, every call waits for it or its context
}

func newRecorder() *recorder {
	return &recorder{state: map[types.NamespacedName]*corev1.ConfigMap{}}
}

func (s *recorder) do(ctx context.Context, op string, f func()) error {
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(op); err != nil {
			return err
		}
	}
	s.log = append(s.log, op)
	f()
	return nil
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (s *recorder) Add(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "add "+o.Name+"@"+o.ResourceVersion, func() { s.state[keyOf(o)] = o })
}

func (s *recorder) Update(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "update "+o.Name+"@"+o.ResourceVersion, func() { s.state[keyOf(o)] = o })
}

func (s *recorder) Delete(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "delete "+o.Name+"@"+o.ResourceVersion, func() { delete(s.state, keyOf(o)) })
}

func (s *recorder) Bookmark(ctx context.Context, rv string) error {
	return s.do(ctx, "bookmark @"+rv, func() { s.rv = rv })
}

func (s *recorder) Replace(ctx context.Context, objs []*corev1.ConfigMap, rv string) error {
	var names []string
	for _, o := range objs {
		names = append(names, o.Name+"@"+o.ResourceVersion)
	}
	return s.do(ctx, fmt.Sprintf("replace %v @%s", names, rv), func() {
		clear(s.state)
		for _, o := range objs {
			s.state[keyOf(o)] = o
		}
		s.rv = rv
	})
}

// calls returns the log so far.
func (s *recorder) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// objects returns a copy of the state.
func (s *recorder) objects() map[types.NamespacedName]*corev1.ConfigMap {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.state)
}

// holds returns the objects as name@rv, sorted.
func (s *recorder) holds() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k, o := range s.state {
		out = append(out, k.Name+"@"+o.ResourceVersion)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

// knowing is a recorder that implements reflector.Known.
type knowing struct{ *recorder }

func (s knowing) Known(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.state[key]
	return o, ok
}

// running is a reflector in its own goroutine.
type running struct {
	*reflector.Reflector[*corev1.ConfigMap]
	cancel context.CancelFunc
	done   chan error
}

// run starts a reflector that ends with the test at the latest.
func run(t testing.TB, lw reflector.ListerWatcher[*corev1.ConfigMap], sink reflector.Sink[*corev1.ConfigMap], opts reflector.Options) *running {
	r, err := reflector.New(lw, sink, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	out := &running{Reflector: r, cancel: cancel, done: make(chan error, 1)}
	finished := make(chan struct{})
	go func() { defer close(finished); out.done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-finished })
	return out
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

// listMode reads with LIST.
var listMode = reflector.Options{Sync: reflector.SyncList}

var errBroken = errors.New("broken")

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
)

type (
	flusher   = http.Flusher
	configMap = corev1.ConfigMap
)

// quietLog is for servers whose errors are part of the test.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }
