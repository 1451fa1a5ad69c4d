package reflector_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// Promise reflector/8
func TestARelistKeepsThePointersOfUnchangedObjects(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		t.Run(string(mode), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				reborn := strings.Replace(scripted.ConfigMap("c", "3"), "uid-c", "uid-other", 1)
				unversioned := strings.Replace(scripted.ConfigMap("d", "4"), `"resourceVersion":"4"`, `"resourceVersion":""`, 1)
				rounds := [][]string{
					{scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2"), scripted.ConfigMap("c", "3"), unversioned},
					{scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "12"), reborn, unversioned},
				}
				s := &scripted.Server{
					List: scripted.InTurn(scripted.Lists("10", rounds[0]...), scripted.Lists("20", rounds[1]...)),
					WatchList: func(w httpWriter, r *httpRequest, n int) {
						for _, o := range rounds[min(n, 2)-1] {
							scripted.Send(w, "ADDED", o)
						}
						scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(n*10), true))
						scripted.Linger(r, time.Minute)
					},
					Watch: scripted.InTurn(scripted.Fails(410, ""), scripted.Quiet),
				}
				sink := newRecorder()
				run(t, sourceOf(t, s), knowing{sink}, reflector.Options{Sync: mode})
				after(time.Millisecond)
				before := sink.objects()
				require.Len(t, before, 4)
				after(90 * time.Second)
				require.Equal(t, "a@1 b@12 c@3 d@", sink.holds())
				for k, o := range sink.objects() {
					require.Equal(t, k.Name == "a", before[k] == o, k.Name)
				}
			})
		})
	}
}

// heapSink measures the heap at its largest while lists come in.
type heapSink struct {
	state map[types.NamespacedName]*corev1.ConfigMap
	known bool
	lists chan struct{}
}

func (s *heapSink) Known(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	if !s.known {
		return nil, false
	}
	o, ok := s.state[key]
	return o, ok
}
func (s *heapSink) Add(context.Context, *corev1.ConfigMap) error    { return nil }
func (s *heapSink) Update(context.Context, *corev1.ConfigMap) error { return nil }
func (s *heapSink) Delete(context.Context, *corev1.ConfigMap) error { return nil }
func (s *heapSink) Bookmark(context.Context, string) error          { return nil }
func (s *heapSink) Replace(_ context.Context, objs []*corev1.ConfigMap, _ string) error {
	if s.state == nil {
		s.state = make(map[types.NamespacedName]*corev1.ConfigMap, len(objs))
	}
	for _, o := range objs {
		s.state[keyOf(o)] = o
	}
	s.lists <- struct{}{}
	return nil
}

// BenchmarkRelistLiveHeap reports the live heap when a relist with 1% changed
// has been decoded to its last object, over that of steady state, with a sink
// that implements Known and with one that does not.
func BenchmarkRelistLiveHeap(b *testing.B) {
	for _, known := range []bool{true, false} {
		b.Run(fmt.Sprintf("known=%t", known), func(b *testing.B) {
			const n = 10_000
			var peak uint64
			object := func(i, rv int) string {
				return fmt.Sprintf(`{"metadata":{"name":"o%d","namespace":"ns","uid":"u%d","resourceVersion":"%d"},"data":{"x":%q}}`, i, i, rv, strings.Repeat("x", 1000))
			}
			s := &scripted.Server{Watch: scripted.Fails(410, ""), List: func(w httpWriter, _ *httpRequest, round int) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
				for i := range n {
					rv := 1
					if i%100 == 0 {
						rv = round
					}
					if i > 0 {
						fmt.Fprint(w, ",")
					}
					fmt.Fprint(w, object(i, rv))
				}
				w.(flusher).Flush()
				peak = max(peak, liveHeap())
				fmt.Fprint(w, "]}")
			}}
			sink := &heapSink{known: known, lists: make(chan struct{})}
			r, err := reflector.New(sourceOf(b, s), sink, reflector.Options{
				Sync: reflector.SyncList, Policy: func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(time.Millisecond) },
			})
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			<-sink.lists
			peak = 0
			steady := liveHeap()
			for b.Loop() {
				<-sink.lists
			}
			b.ReportMetric(float64(peak)/float64(steady), "peak/steady")
			cancel()
			for {
				select {
				case <-sink.lists:
					continue
				case err := <-done:
					require.NoError(b, err)
				}
				return
			}
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
