package intern

import (
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// An estimate is near what the heap says, with and without sharing.
func TestSizesAreEstimated(t *testing.T) {
	const n = 2000
	for _, s := range samples {
		for _, share := range []bool{false, true} {
			raw := s.encoded(t, n)
			before := live()
			pool := NewPool()
			in := NewInterner(pool, s.typ)
			kept := make([]unsafe.Pointer, n)
			for i, r := range raw {
				var err error
				kept[i], err = s.decode(r)
				require.NoError(t, err)
				if share {
					in.Intern(kept[i])
				}
			}
			heap := float64(live() - before)
			sizer, all, own := NewSizer(pool, s.typ), 0, 0
			for _, p := range kept {
				a, o := sizer.Size(p)
				all, own = all+a, own+o
			}
			estimate := float64(own + pool.PartsBytes() + pool.Stats().Bytes)
			assert.InDelta(t, 1, estimate/heap, 0.2, "%s, shared: %v: %.0f of %.0f", s.name, share, estimate/n, heap/n)
			if !share {
				assert.Equal(t, all, own)
			}
			runtime.KeepAlive(kept)
			runtime.KeepAlive(in)
			runtime.KeepAlive(raw)
		}
	}
}

func TestSizesOfExoticValues(t *testing.T) {
	circle := &recursive{Name: "circle"}
	circle.Left = circle
	all, own := NewSizer(nil, reflect.TypeFor[*recursive]()).Size(unsafe.Pointer(circle))
	assert.Positive(t, all)
	assert.Equal(t, all, own)

	all, own = NewSizer(nil, reflect.TypeFor[string]()).Size(unsafe.Pointer(circle))
	assert.Zero(t, all+own)
	all, own = NewSizer(nil, reflect.TypeFor[*corev1.Pod]()).Size(nil)
	assert.Zero(t, all+own)
}
