package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

var rangedResource = corev1.SchemeGroupVersion.WithResource("configmaps")

// rangedWorld is a server with ConfigMaps, and replicas that share them, in a bubble.
type rangedWorld struct {
	t      *testing.T
	server *informertest.Server
	parts  int
	all    []*rangedReplica
	logs   syncedLog
	level  slog.LevelVar // of the log

	mu      sync.Mutex
	working map[string]string // the replica that works on an object
	double  []string
	done    map[string]string // the version that was processed last
}

// rangedReplica is a replica, and what its function does.
type rangedReplica struct {
	w      *rangedWorld
	name   string
	dead   atomic.Bool
	inf    *Ranged[*corev1.ConfigMap]
	reader *slowReader
	ranges *Ranges
	// do is called for each key; nil takes 20 ms.
	do    func(ctx context.Context, part *Part, key types.NamespacedName) (workqueue.Result, error)
	calls atomic.Int64
	stop  context.CancelFunc
	ended chan error
}

// slowReader is a reader whose lists arrive when the test says so.
type slowReader struct {
	RangeReader
	wait func(ctx context.Context) error
}

func (r *slowReader) WaitForRanges(ctx context.Context, ranges ...HashRange) error {
	if r.wait != nil {
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	return r.RangeReader.WaitForRanges(ctx, ranges...)
}

// stoppedHandler is a handler that blocks in the first call after a stop.
type stoppedHandler struct {
	informer.Handler[*corev1.ConfigMap]
	stopped atomic.Pointer[chan struct{}]
}

func (h *stoppedHandler) OnEvent(e informer.Event[*corev1.ConfigMap]) {
	if gate := h.stopped.Swap(nil); gate != nil {
		<-*gate
	}
	h.Handler.OnEvent(e)
}

type syncedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns how many lines have a text, and forgets all.
func (l *syncedLog) take(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return strings.Count(l.text.String(), text)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// inRanges runs a test with some objects and parts.
func inRanges(t *testing.T, objects, parts int, test func(t *testing.T, w *rangedWorld)) {
	t.Helper()
	inServer(t, func(t *testing.T, server *informertest.Server) {
		w := &rangedWorld{t: t, server: server, parts: parts, working: map[string]string{}, done: map[string]string{}}
		for i := range objects {
			w.create(fmt.Sprint("object-", i))
		}
		test(t, w)
		for _, r := range w.all {
			r.leave()
		}
		assert.Empty(t, w.double, "objects that two replicas worked on at once")
	})
}

func (w *rangedWorld) create(name string) {
	w.t.Helper()
	require.NoError(w.t, w.server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"version": "0"},
	}))
}

// change writes a version into an object.
func (w *rangedWorld) change(name, version string) {
	w.t.Helper()
	require.NoError(w.t, w.server.Modify(rangedResource, "default", name, func(u *unstructured.Unstructured) {
		require.NoError(w.t, unstructured.SetNestedField(u.Object, version, "data", "version"))
	}))
}

func (w *rangedWorld) prepare() *rangedReplica {
	w.t.Helper()
	r := &rangedReplica{w: w, name: fmt.Sprint("replica-", len(w.all)), ended: make(chan error, 1)}
	cfg := rest.CopyConfig(w.server.Config())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if r.dead.Load() {
				return nil, errors.New("this process was killed")
			}
			return next.RoundTrip(request)
		})
	})
	log := slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: &w.level}))
	source, err := reflector.NewResource[*corev1.ConfigMap](cfg, rangedResource, reflector.ResourceOptions{})
	require.NoError(w.t, err)
	r.inf, err = NewRanged(source, HashUID, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Logger: log})
	require.NoError(w.t, err)
	r.reader = &slowReader{RangeReader: r.inf}
	r.ranges, err = NewRanges(cfg, RangesOptions[*corev1.ConfigMap]{
		Options: Options{Name: "group", Namespace: "default", Identity: r.name, Parts: w.parts, Logger: log},
		Objects: r.inf, Reader: r.reader,
	})
	require.NoError(w.t, err)
	w.all = append(w.all, r)
	return r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *rangedReplica) run() *rangedReplica {
	r.w.t.Helper()
	group, err := informer.NewGroup(r.inf)
	require.NoError(r.w.t, err)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(r.w.t.Context())
	opts := workqueue.ProcessOptions[Key]{Workers: 3, Logger: slog.New(slog.NewTextHandler(&r.w.logs, nil))}
	go func() {
		r.ended <- group.Run(ctx, func(ctx context.Context) error { return r.ranges.Run(ctx, opts, r.process) })
	}()
	return r
}

// start starts a replica and waits until each part has an owner, and has been processed.
func (w *rangedWorld) start() *rangedReplica {
	w.t.Helper()
	r := w.prepare().run()
	pass(15 * time.Second)
	return r
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rangedReplica) leave() {
	if r.stop != nil {
		r.stop()
		require.NoError(r.w.t, <-r.ended)
		r.stop = nil
	}
}

// process is the function of all replicas: it notes who works on what.
func (r *rangedReplica) process(ctx context.Context, part *Part, key types.NamespacedName) (workqueue.Result, error) {
	w := r.w
	r.calls.Add(1)
	if do := r.do; do != nil {
		return do(ctx, part, key)
	}
	object, exists := r.inf.Snapshot().Get(key)
	if !exists {
		return workqueue.Result{}, nil
	}
	w.mu.Lock()
	if r.dead.Load() {
		w.mu.Unlock()
		return workqueue.Result{}, nil
	}
	if other := w.working[key.Name]; other != "" {
		w.double = append(w.double, fmt.Sprint(key.Name, " by ", other, " and ", r.name))
	}
	if !part.Held() || r.ranges.KeyOf(object).Part != part.Index {
		w.double = append(w.double, fmt.Sprint(key.Name, " by ", r.name, ", which does not have it"))
	}
	w.working[key.Name] = r.name
	w.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.working, key.Name)
	if ctx.Err() != nil || r.dead.Load() {
		return workqueue.Result{}, context.Cause(ctx)
	}
	w.done[key.Name] = object.Data["version"]
	return workqueue.Result{}, nil
}

// version returns the version of an object that was processed last.
func (w *rangedWorld) version(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[name]
}

// live returns the replicas that were not killed and have not left.
func (w *rangedWorld) live() []*rangedReplica {
	return slices.DeleteFunc(slices.Clone(w.all), func(r *rangedReplica) bool { return r.dead.Load() || r.stop == nil })
}

// waiting returns how many keys the gates remember.
func (r *rangedReplica) waiting() (n int) {
	for i := range r.ranges.gates {
		g := &r.ranges.gates[i]
		g.mu.Lock()
		n += len(g.remembered)
		g.mu.Unlock()
	}
	return n
}

// objects returns what is in the cache.
func (r *rangedReplica) objects() map[types.UID]int {
	all := map[types.UID]int{}
	for o := range r.inf.Snapshot().All() {
		all[o.UID] = r.ranges.KeyOf(o).Part
	}
	return all
}

// requireShared checks that the caches have all objects once, each where its part is.
func (w *rangedWorld) requireShared(objects int) {
	w.t.Helper()
	sum := 0
	for _, r := range w.live() {
		held := map[int]bool{}
		for _, p := range r.ranges.Replica().Health().Held {
			held[p.Part] = true
		}
		assert.LessOrEqual(w.t, len(held), (w.parts+len(w.live())-1)/len(w.live()))
		for _, part := range r.objects() {
			assert.True(w.t, held[part], "%s has an object of part %d in its cache", r.name, part)
			sum++
		}
	}
	assert.Equal(w.t, objects, sum, "objects in all caches")
}
