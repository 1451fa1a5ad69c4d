package reflector_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds the simulation runs")
	seed  = flag.Uint64("seed", 0, "the first seed of the simulation; 0 means 1")
)

// TestSimulation writes at random to a server whose answers are broken at
// random. The sink is one of three kinds: it cannot be asked for what it has, or
// it can, or it is a DeltaFIFO in front of a store. After the faults end, the sink must hold what the server holds; on the
// way it must never see an object go back in time; and at the end no goroutine
// may be left, which the bubble checks.
//
// Repeat one seed with -seed N -seeds 1.
//
// Promise reflector/1
func TestSimulation(t *testing.T) {
	t.Parallel()
	first := max(*seed, 1)
	for s := first; s < first+uint64(*seeds); s++ {
		ok := t.Run(fmt.Sprint("seed=", s), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, s) })
		})
		if !ok {
			t.Fatalf("failed; repeat with: go test ./reflector -run TestSimulation -seed %d -seeds 1", s)
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	chance := func(p float64) bool { return rng.Float64() < p }
	server := informertest.Start(t, informertest.Options{
		InMemory: true, Seed: seed, Scheme: scripted.CoreTypes(),
		HistoryLength:     1 + rng.IntN(30),
		DisableWatchList:  chance(0.3),
		PaginateFromCache: chance(0.3),
	})
	faults := &faults{rng: rand.New(rand.NewPCG(seed, 2)), rate: rng.Float64() * 0.8}
	cfg := server.Config()
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { faults.next = rt; return faults })
	lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{
		LabelSelector: "sim=yes",
		Encoding:      []reflector.Encoding{reflector.EncodingAuto, reflector.EncodingJSON}[seed%2],
	})
	require.NoError(t, err)
	if chance(0.3) {
		lw = &blurred{ListerWatcher: lw, rng: rand.New(rand.NewPCG(seed, 3)), faults: faults}
	}
	if chance(0.5) {
		lw = reflector.Transform(lw, intern.Transform[*corev1.ConfigMap](intern.NewPool()))
	}

	opts := reflector.Options{}
	checker := &ordered{recorder: newRecorder(), t: t, last: map[types.NamespacedName]uint64{}}
	var sink reflector.Sink[*corev1.ConfigMap] = checker
	switch {
	case chance(0.4):
		sink = &orderedKnowing{checker}
		if chance(0.5) {
			opts.Monitor = audit.Every(time.Duration(1+rng.IntN(30)) * time.Minute)
		}
	case chance(0.5):
		sink = queued(t, checker)
	}
	if chance(0.4) {
		opts.Sync = reflector.SyncList
	}
	if chance(0.3) {
		opts.PageSize = int64(1 + rng.IntN(5))
	}
	r := run(t, lw, sink, opts)

	calm := func() {}
	if chance(0.5) {
		calm = server.InjectChaos(informertest.Chaos{Seed: seed, Rate: rng.Float64() * 0.8, Stalls: chance(0.5), Longest: time.Minute})
	}
	if chance(0.1) {
		server.Inject(informertest.Fault{Verb: "watch", Times: 1 + rng.IntN(20), Effect: informertest.DuplicateEvents()})
	}
	for range 40 + rng.IntN(80) {
		mutate(t, server, rng)
		switch {
		case chance(0.05):
			server.Compact()
		case chance(0.03):
			server.BreakConnections()
		case chance(0.03):
			server.Restart()
		case chance(0.02):
			require.NoError(t, server.Pause())
			after(time.Duration(rng.Int64N(int64(5 * time.Minute))))
			require.NoError(t, server.Resume())
		case chance(0.3):
			after(time.Duration(rng.Int64N(int64(20 * time.Second))))
		case chance(0.02):
			after(time.Duration(rng.Int64N(int64(15 * time.Minute))))
		}
	}
	faults.stop()
	calm()
	server.ClearFaults()
	switch {
	case opts.Monitor != nil && chance(0.5):
		// A backup, whose history overtakes the version that clients have: only an audit
		// can know.
		after(70 * time.Minute)
		checker.forget()
		require.NoError(t, server.Pause())
		remembered := version(t, server)
		for range rng.IntN(20) {
			mutate(t, server, rng)
		}
		require.NoError(t, server.RestartWithNewHistory())
		for past := remembered + rng.IntN(3); version(t, server) < past; {
			mutate(t, server, rng)
		}
		require.NoError(t, server.Resume())
	case chance(0.1):
		// Caught up, it remembers a version past the end of the new history. One
		// that had stopped, by chance, at just the version where that ends could
		// not know that it is another history: no client can.
		after(70 * time.Minute)
		checker.forget()
		require.NoError(t, server.RestartWithNewHistory())
	}
	// Long enough for the longest wait, and for what has stalled to be noticed.
	after(70 * time.Minute)

	want := map[string]string{}
	objs, err := server.List(scripted.ConfigMaps, "", nil)
	require.NoError(t, err)
	for _, o := range objs {
		if o.GetLabels()["sim"] == "yes" {
			want[o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion() + o.GetAnnotations()["n"]
		}
	}
	got := map[string]string{}
	for k, o := range checker.state {
		got[k.String()] = o.ResourceVersion + o.Annotations["n"]
	}
	require.Equal(t, want, got, "at version %s, the server at %s; %d faults, last error %v",
		r.Health().ResourceVersion, server.ResourceVersion(), faults.count, r.Health().LastError)
	require.Equal(t, reflector.StateWatching, r.Health().State)
	require.Zero(t, r.Health().ConsecutiveFailures)
	r.cancel()
	require.NoError(t, <-r.done)
}

// version is that of the server.
func version(t *testing.T, server *informertest.Server) int {
	v, err := strconv.Atoi(server.ResourceVersion())
	require.NoError(t, err)
	return v
}

// mutate writes to one of a few objects.
func mutate(t *testing.T, server *informertest.Server, rng *rand.Rand) {
	namespace, name := fmt.Sprint("ns", rng.IntN(2)), fmt.Sprint("o", rng.IntN(8))
	_, err := server.Get(scripted.ConfigMaps, namespace, name)
	switch {
	case err != nil:
		err = server.Create(&corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"sim": "yes"}},
		})
	case rng.IntN(4) == 0:
		err = server.Delete(scripted.ConfigMaps, namespace, name)
	default:
		err = server.Modify(scripted.ConfigMaps, namespace, name, func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"n": fmt.Sprint(rng.Uint32())})
			if rng.IntN(5) == 0 { // leaves or enters the selection
				u.SetLabels(map[string]string{"sim": []string{"yes", "no"}[rng.IntN(2)]})
			}
		})
	}
	require.NoError(t, err)
}

// ordered is a sink that fails the test if an object goes back in time.
type ordered struct {
	*recorder
	t    *testing.T
	last map[types.NamespacedName]uint64
}

// orderedKnowing can be asked what it holds.
type orderedKnowing struct{ *ordered }

func (s *orderedKnowing) Known(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	return knowing{s.recorder}.Known(key)
}

// Contents is for audits.
func (s *orderedKnowing) Contents() (func(types.NamespacedName) (metav1.Object, bool), iter.Seq[metav1.Object]) {
	state := s.objects()
	get := func(key types.NamespacedName) (metav1.Object, bool) { o, ok := state[key]; return o, ok }
	return get, func(yield func(metav1.Object) bool) {
		for _, o := range state {
			if !yield(o) {
				return
			}
		}
	}
}

// forget ends the checks of the order: time starts again.
func (s *ordered) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
}

func (s *ordered) see(o *corev1.ConfigMap) {
	rv, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return
	}
	require.GreaterOrEqual(s.t, rv, s.last[keyOf(o)], "%s went back in time", keyOf(o))
	s.last[keyOf(o)] = rv
}

func (s *ordered) Add(ctx context.Context, o *corev1.ConfigMap) error {
	s.see(o)
	return s.recorder.Add(ctx, o)
}

func (s *ordered) Update(ctx context.Context, o *corev1.ConfigMap) error {
	s.see(o)
	return s.recorder.Update(ctx, o)
}

func (s *ordered) Delete(ctx context.Context, o *corev1.ConfigMap) error {
	s.see(o)
	return s.recorder.Delete(ctx, o)
}

func (s *ordered) Replace(ctx context.Context, objs []*corev1.ConfigMap, rv string) error {
	seen := map[types.NamespacedName]bool{}
	for _, o := range objs {
		s.see(o)
		require.False(s.t, seen[keyOf(o)], "%s is listed twice", keyOf(o))
		seen[keyOf(o)] = true
	}
	return s.recorder.Replace(ctx, objs, rv)
}

// blurred makes the objects of some events unreadable.
type blurred struct {
	reflector.ListerWatcher[*corev1.ConfigMap]
	rng    *rand.Rand
	faults *faults
}

func (b *blurred) SupportsWatchList() bool { return true }

func (b *blurred) Unwrap() any { return b.ListerWatcher }

func (b *blurred) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[*corev1.ConfigMap], error) {
	s, err := b.ListerWatcher.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &blurredStream{Stream: s, b: b, initial: req.ListOptions.SendInitialEvents != nil}, nil
}

type blurredStream struct {
	reflector.Stream[*corev1.ConfigMap]
	b       *blurred
	initial bool
}

func (s *blurredStream) Next() (reflector.WatchEvent[*corev1.ConfigMap], error) {
	ev, err := s.Stream.Next()
	if err != nil {
		return ev, err
	}
	if ev.InitialEventsEnd {
		s.initial = false
	}
	// A frame that a fault has damaged may be unreadable already.
	readable := ev.Type != watch.Bookmark && ev.Err == nil
	if readable && !s.initial && s.b.faults.active() && s.b.rng.IntN(5) == 0 {
		ev.Err = &reflector.ObjectError{Key: keyOf(ev.Object), ResourceVersion: ev.ResourceVersion, Class: reflector.ClassDecode, Err: errBroken}
		ev.Object = nil
	}
	return ev, nil
}

// faults breaks requests and answers at random.
type faults struct {
	next  http.RoundTripper
	mu    sync.Mutex
	rng   *rand.Rand
	rate  float64
	ended bool
	count int
}

func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

func (f *faults) active() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.ended
}

func (f *faults) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	fault, at, status := -1, 0, 0
	if !f.ended && f.rng.Float64() < f.rate {
		f.count++
		fault, at = f.rng.IntN(9), f.rng.IntN(3000)
		status = []int{400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504}[f.rng.IntN(11)]
	}
	f.mu.Unlock()
	switch fault {
	case 0:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case 1:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case 2:
		return &http.Response{
			StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(bytes.NewReader(scripted.StatusJSON(status, "", "fault"))),
		}, nil
	}
	resp, err := f.next.RoundTrip(req)
	if err != nil || fault < 3 {
		return resp, err
	}
	if fault == 6 && !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		// Protobuf has no syntax that shows damage within a string. Nothing but
		// the checks of the transport can notice it.
		fault = 3
	}
	body := &faultyBody{ReadCloser: resp.Body, ctx: req.Context(), left: at}
	switch fault {
	case 3:
		body.then = func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
	case 4:
		body.then = func([]byte) (int, error) { return 0, io.EOF }
	case 5:
		body.then = func([]byte) (int, error) { <-req.Context().Done(); return 0, req.Context().Err() }
	case 6:
		body.then = func(p []byte) (int, error) { return copy(p, "\x00garbage}]\""), nil }
	case 7:
		body.then = func([]byte) (int, error) { return 0, &net.OpError{Op: "read", Err: syscall.ECONNRESET} }
	case 8:
		resp.Body = &deafBody{r: bufio.NewReader(resp.Body), Closer: resp.Body}
		return resp, nil
	}
	resp.Body = body
	return resp, nil
}

// faultyBody passes on so many bytes, and then does something else.
type faultyBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // of the request
	left  int
	ended bool // before left was used up
	then  func([]byte) (int, error)
}

func (b *faultyBody) Read(p []byte) (int, error) {
	if b.left == 0 && !b.ended {
		return b.then(p)
	}
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.ended = errors.Is(err, io.EOF)
	return n, err
}

// deafBody swallows bookmarks.
type deafBody struct {
	io.Closer
	r    *bufio.Reader
	rest []byte
}

func (b *deafBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		line, err := b.r.ReadString('\n')
		if err != nil && line == "" {
			return 0, err
		}
		if !strings.Contains(line, `"BOOKMARK"`) {
			b.rest = []byte(line)
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
