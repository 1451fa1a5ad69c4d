package intern

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/verify/population"
)

// sample makes objects of encoded ones.
type sample struct {
	name   string
	encode func(i int) ([]byte, error)
	decode func(raw []byte) (any, error)
	most   float64 // the memory of interned objects over that of others
}

var samples = []sample{
	{"pods",
		func(i int) ([]byte, error) { return population.Pod(i).Marshal() },
		func(raw []byte) (any, error) {
			p := &corev1.Pod{}
			return p, p.Unmarshal(raw)
		}, 0.5},
	{"unstructured pods",
		func(i int) ([]byte, error) { return json.Marshal(population.Pod(i)) },
		func(raw []byte) (any, error) {
			u := &unstructured.Unstructured{}
			return u, k8sjson.Unmarshal(raw, &u.Object)
		}, 0.5},
	{"ConfigMaps",
		func(i int) ([]byte, error) { return population.ConfigMap(i).Marshal() },
		func(raw []byte) (any, error) {
			c := &corev1.ConfigMap{}
			return c, c.Unmarshal(raw)
		}, 1.06},
}

func (s sample) encoded(t testing.TB, n int) [][]byte {
	raw := make([][]byte, n)
	for i := range raw {
		var err error
		raw[i], err = s.encode(i)
		require.NoError(t, err)
	}
	return raw
}

// live is what is on the heap.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The few objects make it less than it is in a large cache.
func TestInterningSavesMemory(t *testing.T) {
	const n = 3000
	for _, s := range samples {
		raw := s.encoded(t, n)
		var bytes [2]float64
		for i := range bytes {
			before := live()
			intern := Transform[any](NewPool())
			kept := make([]any, n)
			for j, r := range raw {
				var err error
				kept[j], err = s.decode(r)
				require.NoError(t, err)
				if i == 1 {
					_, _ = intern(kept[j])
				}
			}
			bytes[i] = float64(live() - before)
			runtime.KeepAlive(kept)
			runtime.KeepAlive(intern)
		}
		t.Logf("%s: %.0f bytes, interned %.0f", s.name, bytes[0]/n, bytes[1]/n)
		assert.Less(t, bytes[1]/bytes[0], s.most, s.name)
	}
}

// BenchmarkIntern is the time of interning objects that were just decoded.
func BenchmarkIntern(b *testing.B) {
	const n, at = 5000, 500
	for _, s := range samples {
		b.Run(s.name, func(b *testing.B) {
			raw := s.encoded(b, n)
			intern := Transform[any](NewPool())
			kept := make([]any, n)
			for done := 0; done < b.N; done += at {
				b.StopTimer()
				some := kept[done%n:][:at]
				for j := range some {
					var err error
					some[j], err = s.decode(raw[done%n+j])
					require.NoError(b, err)
				}
				b.StartTimer()
				for _, p := range some {
					_, _ = intern(p)
				}
			}
		})
	}
}
