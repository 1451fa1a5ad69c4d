package intern

import (
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// rig interns values of one type.
type rig[T any] struct {
	pool *Pool
	in   *Interner
}

func newRig[T any]() rig[T] {
	pool := NewPool()
	return rig[T]{pool, NewInterner(pool, reflect.TypeFor[*T]())}
}

// intern returns v, interned.
func (r rig[T]) intern(v T) *T {
	r.in.Intern(unsafe.Pointer(&v))
	return &v
}

// three interns three values that create makes, of which the first is only seen,
// the second enters the pool, and the third is made of the second.
func (r rig[T]) three(t *testing.T, create func() T) (second, third *T) {
	t.Helper()
	r.intern(create())
	second, third = r.intern(create()), r.intern(create())
	want := create()
	require.Equal(t, &want, second)
	require.Equal(t, &want, third)
	return second, third
}

// collect collects what nothing refers to, and the entries of it.
func (p *Pool) collect() {
	for range 3 {
		runtime.GC()
		p.Sweep()
	}
}
