package intern

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// rig interns values of one type.
type rig[T any] struct {
	pool *Pool
	of   func(*T) (*T, error)
}

func newRig[T any]() rig[T] { return rigOf[T](NewPool()) }

func rigOf[T any](pool *Pool) rig[T] { return rig[T]{pool, Transform[*T](pool)} }

// intern returns v, interned.
func (r rig[T]) intern(v T) *T {
	p, err := r.of(&v)
	if err != nil || p != &v {
		panic("it is another object")
	}
	return p
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
		p.sweep()
	}
}

// share interns an object of any type.
func (p *Pool) share(obj any) {
	s := sharer{p, map[reflect.Type]*node{}}
	s.share(reflect.ValueOf(obj))
}

func TestMain(m *testing.M) { os.Exit(m.Run()) }
