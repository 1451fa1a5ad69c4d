package reflector_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// removable is a source that can say whether its resource exists.
type removable struct {
	reflector.ListerWatcher[*corev1.ConfigMap]
	served func() (bool, error)
	asked  atomic.Int32
}

func (s *removable) Served(context.Context) (bool, error) {
	s.asked.Add(1)
	return s.served()
}

// removedServer has one object until its watch ends, then answers 404, and has
// another object two lists later.
func removedServer() *scripted.Server {
	absent := scripted.Fails(404, metav1.StatusReasonNotFound)
	return &scripted.Server{
		List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1")), absent, scripted.Lists("90", scripted.ConfigMap("b", "80"))),
		Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 30*time.Second)
		}, absent, scripted.Quiet),
	}
}

// Promise reflector/10
func TestARemovedResourceEmptiesTheSink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := removedServer()
		source := &removable{ListerWatcher: sourceOf(t, s), served: func() (bool, error) { return false, nil }}
		keep := func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) { return o, nil }
		sink := newRecorder()
		opts := listMode
		opts.Policy = func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(10 * time.Second) }
		r := run(t, reflector.Transform(source, keep), sink, opts)
		after(20 * time.Second)
		require.Equal(t, "a@1", sink.holds())
		require.False(t, r.Health().ResourceRemoved)

		after(15 * time.Second)
		require.Equal(t, []string{"replace [a@1] @10", "replace [] @"}, sink.calls())
		h := r.Health()
		require.True(t, h.ResourceRemoved)
		require.True(t, h.Synced, "the sink has the collection, which is empty")
		require.Equal(t, reflector.ClassNotFound, h.LastErrorClass)
		require.Empty(t, r.Health().ResourceVersion)

		after(time.Minute)
		require.Equal(t, "b@80", sink.holds())
		require.False(t, r.Health().ResourceRemoved)
		require.Equal(t, "list@0 watch@10 watch@10 list@ list@ watch@90", s.Verbs(),
			"the versions of a resource that was removed say nothing about the next one")
		require.EqualValues(t, 1, source.asked.Load())
	})
}

// Promise reflector/10
func TestAResourceThatMayExistLeavesTheSinkAsItIs(t *testing.T) {
	for name, served := range map[string]func() (bool, error){
		"it is served":    func() (bool, error) { return true, nil },
		"it is not known": func() (bool, error) { return false, errors.New("no discovery") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := removedServer()
				sink := newRecorder()
				r := run(t, &removable{ListerWatcher: sourceOf(t, s), served: served}, sink, listMode)
				after(30500 * time.Millisecond)
				require.Equal(t, reflector.ClassNotFound, r.Health().LastErrorClass)
				require.False(t, r.Health().ResourceRemoved)
				require.Equal(t, "a@1", sink.holds())
				require.Equal(t, "10", r.Health().ResourceVersion)
			})
		})
	}
}

func TestASinkThatRefusesTheRemovalGetsItAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := removedServer()
		refused := false
		sink := newRecorder()
		sink.fail = func(op string) error {
			if op == "replace [] @" && !refused {
				refused = true
				return errBroken
			}
			return nil
		}
		source := &removable{ListerWatcher: sourceOf(t, s), served: func() (bool, error) { return false, nil }}
		r := run(t, source, sink, listMode)
		after(32 * time.Second)
		require.True(t, r.Health().ResourceRemoved)
		require.Equal(t, []string{"replace [a@1] @10", "replace [] @"}, sink.calls())
		require.EqualValues(t, 2, source.asked.Load())
	})
}
