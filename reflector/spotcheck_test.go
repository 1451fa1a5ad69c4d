package reflector_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

const anotherHistory reflector.ErrorClass = "another history"

// listing is a sink whose contents can be iterated over.
type listing struct{ knowing }

func (s listing) Contents() (func(types.NamespacedName) (metav1.Object, bool), iter.Seq[metav1.Object]) {
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

// contentsOf are the ConfigMaps of a server, as recorder.holds writes them.
func contentsOf(t *testing.T, server *informertest.Server) string {
	objs, err := server.List(scripted.ConfigMaps, "", nil)
	require.NoError(t, err)
	s := newRecorder()
	for _, o := range objs {
		s.state[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: o.GetResourceVersion()}}
	}
	return s.holds()
}

// Promise reflector/1
func TestARestoredServerWhoseHistoryHasOvertakenIsNoticed(t *testing.T) {
	create := func(t *testing.T, server *informertest.Server, format string, n int) {
		for i := range n {
			require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf(format, i)}}))
		}
	}
	remove := func(t *testing.T, server *informertest.Server, format string, n int) {
		for i := range n {
			require.NoError(t, server.Delete(scripted.ConfigMaps, "default", fmt.Sprintf(format, i)))
		}
	}
	for name, restore := range map[string]func(*testing.T, *informertest.Server){
		"emptied":    func(t *testing.T, s *informertest.Server) { remove(t, s, "old%d", 50); create(t, s, "new%d", 60) },
		"an hour":    func(t *testing.T, s *informertest.Server) { remove(t, s, "old%d", 10); create(t, s, "new%d", 3) },
		"other UIDs": func(t *testing.T, s *informertest.Server) { remove(t, s, "old%d", 50); create(t, s, "old%d", 50) },
	} {
		for _, mode := range []reflector.SyncMode{reflector.SyncList, ""} {
			for _, outage := range []time.Duration{0, 10 * time.Second, 10 * time.Minute} {
				t.Run(fmt.Sprint(name, " ", mode, " ", outage), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
						create(t, server, "busy%d", 1)
						create(t, server, "old%d", 50)
						write := func(until int) {
							for now := version(t, server); now < until; now = version(t, server) {
								require.NoError(t, server.Modify(scripted.ConfigMaps, "default", "busy0", func(u *unstructured.Unstructured) {
									u.SetAnnotations(map[string]string{"at": fmt.Sprint(now)})
								}))
							}
						}
						write(300) // further than the number of objects
						source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{})
						require.NoError(t, err)
						sink := listing{knowing{newRecorder()}}
						r := run(t, source, sink, reflector.Options{Sync: mode})
						after(time.Minute)
						require.Equal(t, contentsOf(t, server), sink.holds())
						remembered := version(t, server)
						require.NoError(t, server.Pause())
						after(outage)
						restore(t, server)
						require.NoError(t, server.RestartWithNewHistory())
						write(remembered + 5)
						require.NoError(t, server.Resume())
						for begun := time.Now(); r.Health().State != reflector.StateWatching; after(100 * time.Millisecond) {
							require.Less(t, time.Since(begun), time.Minute)
						}
						after(30 * time.Second)
						require.Equal(t, contentsOf(t, server), sink.holds())
						h := r.Health()
						require.Equal(t, 1, h.Reconnects[anotherHistory], "%v", h.Reconnects)
						require.ErrorContains(t, h.LastError, "restored from a backup")
						require.Zero(t, h.ConsecutiveFailures)
						asked := h.Lists
						after(time.Hour)
						require.LessOrEqual(t, r.Health().Lists-asked, r.Health().Watches-h.Watches, "no object is asked for without a broken connection")
					})
				})
			}
		}
	}
}

var connections = flag.Int("connections", 60, "the broken connections of the simulation of a busy server")

// busyServer is a collection in memory that changes 2,000 times a second. Its watches lag
// behind, and break.
type busyServer struct {
	mu      sync.Mutex
	rv      int
	objs    map[types.NamespacedName]*corev1.ConfigMap
	history []reflector.WatchEvent[*corev1.ConfigMap]
	first   int // the version before history[0]
	times   []time.Time
	looks   int
	broken  int
	random  *rand.Rand
	steady  bool // watches do not break
}

func (s *busyServer) change(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		key := types.NamespacedName{Namespace: "n", Name: strconv.Itoa(int(s.random.ExpFloat64() * 300))}
		s.rv++
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: strconv.Itoa(s.rv)}}
		typ := watch.Modified
		switch old, ok := s.objs[key]; {
		case !ok:
			typ, o.UID = watch.Added, types.UID(o.ResourceVersion)
		case s.random.IntN(4) == 0:
			typ, o.UID = watch.Deleted, old.UID
		default:
			o.UID = old.UID
		}
		if typ == watch.Deleted {
			delete(s.objs, key)
		} else {
			s.objs[key] = o
		}
		s.history = append(s.history, reflector.WatchEvent[*corev1.ConfigMap]{Type: typ, Object: o, ResourceVersion: o.ResourceVersion})
		s.times = append(s.times, time.Now())
	}
	if len(s.history) > 200_000 {
		cut := len(s.history) - 100_000
		s.history, s.times, s.first = append(s.history[:0], s.history[cut:]...), append(s.times[:0], s.times[cut:]...), s.first+cut
	}
}

// restore replaces the history by another one that has got further.
func (s *busyServer) restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv += 1000
	s.history, s.times, s.first = nil, nil, s.rv
	for key, o := range s.objs {
		if s.random.IntN(2) == 0 {
			delete(s.objs, key)
			continue
		}
		o = o.DeepCopy()
		o.UID += "'"
		s.objs[key] = o
	}
	s.broken++ // ends the watches
}

func (s *busyServer) List(_ context.Context, req reflector.Request, each func(reflector.WatchEvent[*corev1.ConfigMap]) error) (metav1.ListMeta, error) {
	s.mu.Lock()
	rv, objs := s.rv, make([]*corev1.ConfigMap, 0, len(s.objs))
	for _, o := range s.objs {
		objs = append(objs, o)
	}
	s.mu.Unlock()
	for _, o := range objs {
		if err := each(reflector.WatchEvent[*corev1.ConfigMap]{Type: watch.Added, Object: o}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(rv)}, nil
}

func (s *busyServer) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[*corev1.ConfigMap], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.Atoi(req.ListOptions.ResourceVersion)
	if err != nil {
		return nil, err
	}
	lasts := 3*time.Second + time.Duration(s.random.Int64N(int64(9*time.Second)))
	if s.steady {
		lasts = time.Hour
	}
	return &busyStream{
		s: s, ctx: ctx, next: max(from-s.first, 0) + s.first, broken: s.broken,
		end: time.Now().Add(lasts), lag: time.Duration(s.random.Int64N(int64(6 * time.Second))),
	}, nil
}

func (s *busyServer) Metadata() (reflector.ListerWatcher[*metav1.PartialObjectMetadata], error) {
	return &busyMetadata{s: s}, nil
}

// busyMetadata answers with one object.
type busyMetadata struct {
	reflector.ListerWatcher[*metav1.PartialObjectMetadata]
	s *busyServer
}

func (m *busyMetadata) List(_ context.Context, req reflector.Request, each func(reflector.WatchEvent[*metav1.PartialObjectMetadata]) error) (metav1.ListMeta, error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.looks++
	sel, err := fields.ParseSelector(req.ListOptions.FieldSelector)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	name, _ := sel.RequiresExactMatch("metadata.name")
	namespace, _ := sel.RequiresExactMatch("metadata.namespace")
	if o, ok := m.s.objs[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		if err := each(reflector.WatchEvent[*metav1.PartialObjectMetadata]{Type: watch.Added, Object: &metav1.PartialObjectMetadata{ObjectMeta: o.ObjectMeta}}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(m.s.rv)}, nil
}

// busyStream delivers each change a while after it was made.
type busyStream struct {
	s      *busyServer
	ctx    context.Context //nolint:containedctx // the life of one watch
	next   int             // the version of the last event
	end    time.Time
	lag    time.Duration
	broken int
}

func (w *busyStream) Next() (reflector.WatchEvent[*corev1.ConfigMap], error) {
	for {
		w.s.mu.Lock()
		now := time.Now()
		i := w.next - w.s.first
		switch {
		case w.ctx.Err() != nil, !now.Before(w.end), w.broken != w.s.broken && w.s.first > w.next:
			w.s.mu.Unlock()
			return reflector.WatchEvent[*corev1.ConfigMap]{}, io.ErrUnexpectedEOF
		case i >= 0 && i < len(w.s.history) && now.Sub(w.s.times[i]) >= w.lag:
			ev := w.s.history[i]
			w.next++
			w.s.mu.Unlock()
			return ev, nil
		}
		w.s.mu.Unlock()
		select {
		case <-w.ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (w *busyStream) Close() error { return nil }

// A server that changes all the time, and is seen with a lag, is not taken for one with
// another history; one that has another history is, beside the same changes.
func TestABusyServerIsNotTakenForARestoredOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &busyServer{objs: map[types.NamespacedName]*corev1.ConfigMap{}, random: rand.New(rand.NewPCG(1, 2))}
		for i := range 1000 { // which do not change
			s.rv++
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("quiet", i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: strconv.Itoa(s.rv)}}
			s.objs[types.NamespacedName{Namespace: "n", Name: o.Name}] = o
		}
		s.first = s.rv
		s.change(5000)
		stop, stopped := make(chan struct{}), make(chan struct{})
		end := sync.OnceFunc(func() { close(stop); <-stopped })
		defer end()
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
					s.change(20)
				}
			}
		}()
		sink := &silent{listing: listing{knowing{newRecorder()}}}
		opts := listMode
		opts.Backoff.Healthy = time.Second // so that the allowance lets each connection be checked
		r := run(t, reflector.ListerWatcher[*corev1.ConfigMap](s), sink, opts)
		broken := func() int { return r.Health().Reconnects["network"] }
		for broken() < *connections {
			after(10 * time.Second)
			require.Zero(t, r.Health().Reconnects[anotherHistory], "%v", r.Health().LastError)
		}
		s.mu.Lock()
		looks := s.looks
		s.steady = true
		s.mu.Unlock()
		t.Logf("%d broken connections, %d looks, %d lists", broken(), looks, r.Health().Lists)
		require.Greater(t, looks, broken()/2)
		require.LessOrEqual(t, looks, 10*broken())

		after(time.Minute)
		s.restore()
		after(30 * time.Second)
		require.Equal(t, 1, r.Health().Reconnects[anotherHistory], "%v", r.Health().Reconnects)
		end()
		after(20 * time.Second)
		s.mu.Lock()
		want := newRecorder()
		want.state = s.objs
		s.mu.Unlock()
		require.Equal(t, want.holds(), sink.holds())
	})
}

// silent keeps no log, which would be long.
type silent struct{ listing }

func (s *silent) put(o *corev1.ConfigMap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	return nil
}

func (s *silent) Add(_ context.Context, o *corev1.ConfigMap) error    { return s.put(o) }
func (s *silent) Update(_ context.Context, o *corev1.ConfigMap) error { return s.put(o) }
func (s *silent) Delete(_ context.Context, o *corev1.ConfigMap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	return nil
}
func (s *silent) Bookmark(context.Context, string) error { return nil }
func (s *silent) Replace(_ context.Context, objs []*corev1.ConfigMap, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.state)
	for _, o := range objs {
		s.state[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	}
	return nil
}

// What is asked is small: one object, by its name, where it is.
func TestASingleObjectIsAskedForInItsNamespace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, time.Minute)
			scripted.Cut()
		}, scripted.Quiet)}
		r := run(t, sourceOf(t, s), listing{knowing{newRecorder()}}, listMode)
		after(5 * time.Minute)
		reqs := s.Requests()
		require.Equal(t, reflector.StateWatching, r.Health().State)
		last := reqs[len(reqs)-1]
		require.Contains(t, last.Query.Get("fieldSelector"), "metadata.name=a")
		require.Equal(t, "NotOlderThan", last.Query.Get("resourceVersionMatch"))
		require.Len(t, reqs, 5, "%s", s.Verbs()) // list, watch, watch, the version, the object
		require.True(t, strings.HasPrefix(s.Verbs(), "list@0 watch@10 watch@10"), s.Verbs())
	})
}
