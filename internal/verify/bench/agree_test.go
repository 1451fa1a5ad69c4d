package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Both implementations of an informer must deliver the same events to the same handlers, or their
// figures are not comparable.
func TestInformersAgree(t *testing.T) {
	t.Parallel()
	const objects, handlers, events = 200, 3, 500
	for who, create := range map[string]func(*feed) informers{informerkit: newFedOurs, clientGo: newFedClientGo} {
		ps := pods(objects, 1)
		u := updatesOf(ps)
		inf := start(t.Context(), create, ps, 0)
		received := make(chan struct{}, 2*handlers*events)
		for range handlers {
			inf.OnUpdate(func(_, _ metav1.Object) { received <- struct{}{} })
		}
		inf.AddIdle()
		require.Equal(t, objects, inf.Len(), who)
		for range events {
			inf.Update(u.take())
		}
		for range handlers * events {
			<-received
		}
		require.Empty(t, received, who)
	}
}

// Both implementations of a store must see the same objects.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	for who, s := range map[string]store{informerkit: newOurStore(true), clientGo: newClientGoStore(true)} {
		ps := pods(1000, 10)
		s.WriteAll(ps)
		u := updatesOf(ps)
		for range 1500 {
			s.Write(u.take())
		}
		require.Equal(t, 1000, s.All(), who)
		require.Equal(t, 100, s.InNamespace(namespace(3)), who)
		require.Equal(t, podsPerNode, s.OnNode(nodeName(4)), who)
		for _, k := range keysOf(ps) {
			require.Equal(t, k.Name, s.Get(k).Name, who)
		}
		count := s.Changed()
		require.Zero(t, count(), who)
		s.Write(u.take())
		require.Equal(t, 1, count(), who)
	}
}

// Both implementations read the same objects from a server, in each encoding, and receive what has
// changed in a second list.
func TestServedInformersAgree(t *testing.T) {
	t.Parallel()
	for _, what := range []Served{{"few", false, false}, {"few", true, false}, {"few", true, true}, {"few", false, true}} {
		for who, create := range map[string]func(url string) informers{
			clientGo:    func(url string) informers { return newServedClientGo(url, what) },
			informerkit: func(url string) informers { return newServedOurs(url, what, nil) },
		} {
			server := startServer(what)
			s := served{create(server.url), server, t.Context(), collections["few"].n}
			if what.WatchList {
				s.Sync()
			} else {
				require.Positive(t, s.updates(s.n/100, "Relist").elapsed, who)
			}
			server.stop()
		}
	}
}

// A later version of an encoded object has the same length: protobuf holds it.
func TestLaterVersionsAreOfTheSameObject(t *testing.T) {
	t.Parallel()
	for _, enc := range []encoding{jsonEncoding, protobufEncoding} {
		plain := enc.object(typicalPod(255))
		changed := later(plain, 255, 10_000_000)
		require.Len(t, changed, len(plain), enc.contentType)
		require.Contains(t, string(plain), "web-7f9c6d5b8-000000ff", enc.contentType)
		require.Contains(t, string(plain), "10000255", enc.contentType)
		require.Contains(t, string(changed), "20000255", enc.contentType)
	}
}

// The metrics of a separate process are those of its last line.
func TestMetricsAreReadFromABenchmark(t *testing.T) {
	t.Parallel()
	out := "goos: linux\ncpu: 2 x fast\nBenchmarkX/impl=a-2 \t 1\t 12.5 ns/pod\t 0 allocs/pod\nPASS\n"
	require.Equal(t, map[string]float64{"ns/pod": 12.5, "allocs/pod": 0}, reported([]byte(out)))
	require.Empty(t, reported([]byte("BenchmarkX --- FAIL\nFAIL\n")))
}
