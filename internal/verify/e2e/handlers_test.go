package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// tempered is a witness with a temper.
type tempered struct {
	*witness[*corev1.ConfigMap]
	name    string
	opts    informer.HandlerOptions
	before  func()        // called before an event is noted, if set
	after   func()        // called after it, if set
	changed chan struct{} // gets a value after each event, if there is room
	calls   atomic.Int64
}

func (h *tempered) OnEvent(e informer.Event[*corev1.ConfigMap]) {
	h.calls.Add(1)
	if h.before != nil {
		h.before()
	}
	h.witness.OnEvent(e)
	select {
	case h.changed <- struct{}{}:
	default:
	}
	if h.after != nil {
		h.after()
	}
}

// waitFor waits until want, and nothing else, was delivered to the handler.
func (h *tempered) waitFor(t *testing.T, want versions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		h.mu.Lock()
		got := maps.Clone(h.vs)
		h.mu.Unlock()
		if maps.Equal(want, got) {
			return
		}
		select {
		case <-h.changed:
		case <-ctx.Done():
			assert.Equal(t, want, got, "%s: what was delivered differs from the server's list", h.name)
			return
		}
	}
}

// load writes without end, whatever the server does, and counts what succeeds.
type load struct {
	burst
	written chan struct{}
}

// run writes until ctx ends, and returns when the last write has.
func (l load) run(ctx context.Context, t *testing.T) {
	var wg sync.WaitGroup
	for w := range l.workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			pause := time.NewTicker(20 * time.Millisecond)
			defer pause.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				if err := l.write(t, r, fmt.Sprintf("%d-%d", w, i)); err != nil {
					<-pause.C // the name is taken, the object is gone, or so is the server
					continue
				}
				select {
				case l.written <- struct{}{}:
				default:
				}
			}
		})
	}
	wg.Wait()
}

// waitFor waits for n more writes.
func (l load) waitFor(t *testing.T, n int) {
	t.Helper()
	for len(l.written) > 0 {
		<-l.written
	}
	timeout := time.After(2 * patience)
	for i := range n {
		select {
		case <-l.written:
		case <-timeout:
			require.FailNow(t, "the server hardly takes writes", "%d of %d", i, n)
		}
	}
}

// Ten handlers of every temper share an informer while writers are busy and the
// server crashes under them, twice. When it is quiet again, each of them has been
// sees exactly what the server has, by events that follow from one another.
func TestHandlersOfEveryTemperAgreeWithAServerThatIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	namespace := newNamespace(t, client)
	labels := map[string]string{"load": namespace}
	selector := "load=" + namespace
	writers := load{
		burst:   burst{client: client, namespaces: []string{namespace}, labels: labels, names: 100, workers: 6},
		written: make(chan struct{}, 1000),
	}
	lw, err := reflector.NewResource[*corev1.ConfigMap](cp.Config(), configMapResource, reflector.ResourceOptions{LabelSelector: selector})
	require.NoError(t, err)
	inf, err := informer.New(lw, informer.Options[*corev1.ConfigMap]{
		Name: "configmaps", Reflector: reflector.Options{Backoff: reflector.Backoff{Max: time.Second}},
	})
	require.NoError(t, err)

	all := map[string]*tempered{}
	temper := func(name string, opts informer.HandlerOptions) *tempered {
		opts.Name = name
		h := &tempered{
			witness: newWitness[*corev1.ConfigMap](t, ""), name: name, opts: opts, changed: make(chan struct{}, 1),
		}
		all[name] = h
		return h
	}
	join := func(h *tempered) *informer.Registration {
		t.Helper()
		r, err := inf.AddHandler(h, h.opts)
		require.NoError(t, err)
		return r
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })

	join(temper("fast", informer.HandlerOptions{}))
	slow := temper("slow", informer.HandlerOptions{Bound: 32})
	slow.before = func() { <-tick.C }
	join(slow)
	stalled := temper("stalled", informer.HandlerOptions{Bound: 32})
	stalled.before = func() { <-gate }
	join(stalled)
	panicking := temper("panicking", informer.HandlerOptions{OnPanic: func(informer.HandlerPanic) {}})
	panicking.after = func() {
		if panicking.calls.Load()%3 == 0 {
			panic("every third time")
		}
	}
	join(panicking)
	join(temper("lossless", informer.HandlerOptions{Lossless: true}))
	patient := temper("stalled lossless", informer.HandlerOptions{Lossless: true})
	patient.before = stalled.before
	join(patient)
	join(temper("resyncing", informer.HandlerOptions{ResyncPeriod: time.Second}))
	removed := temper("removed", informer.HandlerOptions{})
	registration := join(removed)
	delete(all, "removed") // it is not going to agree

	run(t, inf)
	t.Cleanup(open) // before the informer ends, which waits for its handlers
	pulling, stopPulling := context.WithCancel(t.Context())
	puller := temper("iterator", informer.HandlerOptions{})
	pulled := make(chan struct{})
	go func() {
		defer close(pulled)
		for e := range inf.Events(pulling) {
			puller.OnEvent(e)
		}
	}()
	defer func() {
		stopPulling()
		<-pulled
	}()
	loading, endLoad := context.WithCancel(t.Context())
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		writers.run(loading, t)
	}()
	defer func() {
		endLoad()
		<-loaded
	}()

	const some = 500
	writers.waitFor(t, some)
	require.NoError(t, cp.KillAPIServer())
	require.NoError(t, cp.StartAPIServer(t.Context()))
	writers.waitFor(t, some)
	late := join(temper("late", informer.HandlerOptions{}))
	require.NoError(t, registration.RemoveAndWait(t.Context()))
	before := removed.calls.Load()
	writers.waitFor(t, some)
	require.NoError(t, cp.KillAPIServer())
	require.NoError(t, cp.StartAPIServer(t.Context()))
	writers.waitFor(t, some)
	open()
	writers.waitFor(t, some)
	endLoad()
	<-loaded

	want, version := listed(t, client, selector, "")
	require.NotEmpty(t, want)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last := configMap("last") // the informer's selector lets it through
	last.Labels = labels
	last, err = client.CoreV1().ConfigMaps(namespace).Create(t.Context(), last, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, inf.WaitForResourceVersion(ctx, last.ResourceVersion))
	want[keyOf(last)] = versionOf(last)
	cached := versions{}
	for o := range inf.Snapshot().All() {
		cached[keyOf(o)] = versionOf(o)
	}
	assert.Equal(t, want, cached, "the cache differs from the server's list at %s", version)
	require.Len(t, all, 9)
	for _, h := range all {
		h.waitFor(t, want)
	}
	require.NoError(t, informer.WaitForSync(ctx, late))

	assert.Equal(t, before, removed.calls.Load(), "an event was delivered to a removed handler")
	assert.Positive(t, before)
	for _, h := range inf.Health().Handlers {
		t.Logf("%-17s got %5d events, %d overflows, %d panics", h.Name, h.Delivered, h.Overflows, h.Panics)
		switch h.Name {
		case "stalled":
			assert.Positive(t, h.Overflows, h.Name)
		case "lossless", "stalled lossless":
			assert.Zero(t, h.Overflows, h.Name)
		case "panicking":
			assert.Positive(t, h.Panics, h.Name)
		}
	}
	reconnects := 0
	for _, n := range inf.Health().Sources[0].Reflector.Reconnects {
		reconnects += n
	}
	assert.GreaterOrEqual(t, reconnects, 2)
}
