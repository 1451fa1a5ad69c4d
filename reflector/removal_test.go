package reflector_test

import (
	"context"
	"errors"
	"fmt"
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

// removedServer has one object until its watch ends, then answers 404 to so many lists, and
// has another object afterwards.
func removedServer(lists int) *scripted.Server {
	absent := scripted.Fails(404, metav1.StatusReasonNotFound)
	answers := []scripted.Answer{scripted.Lists("10", scripted.ConfigMap("a", "1"))}
	for range lists {
		answers = append(answers, absent)
	}
	return &scripted.Server{
		List: scripted.InTurn(append(answers, scripted.Lists("90", scripted.ConfigMap("b", "80")))...),
		Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 30*time.Second)
		}, absent, scripted.Quiet),
	}
}

// Promise reflector/10
func TestARemovedResourceEmptiesTheSink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := removedServer(4)
		source := &removable{ListerWatcher: sourceOf(t, s), served: func() (bool, error) { return false, nil }}
		keep := func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) { return o, nil }
		sink := newRecorder()
		opts := listMode
		opts.Policy = func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(10 * time.Second) }
		r := run(t, reflector.Transform(source, keep), sink, opts)
		after(20 * time.Second)
		require.Equal(t, "a@1", sink.holds())
		require.False(t, r.Health().ResourceRemoved)

		after(35 * time.Second) // 404 since 30s, and then every 10s
		require.Equal(t, []string{"replace [a@1] @10"}, sink.calls(), "three looks are not enough")
		require.False(t, r.Health().ResourceRemoved)
		after(10 * time.Second)
		require.Equal(t, []string{"replace [a@1] @10", "replace [] @"}, sink.calls())
		h := r.Health()
		require.True(t, h.ResourceRemoved)
		require.True(t, h.Synced, "the sink has the collection, which is empty")
		require.Equal(t, reflector.ClassNotFound, h.LastErrorClass)
		require.Empty(t, r.Health().ResourceVersion)

		after(time.Minute)
		require.Equal(t, "b@80", sink.holds())
		require.False(t, r.Health().ResourceRemoved)
		require.Equal(t, "list@0 watch@10 watch@10 list@10 list@10 list@10 list@ list@ watch@90", s.Verbs(),
			"the versions of a resource that was removed say nothing about the next one")
		require.EqualValues(t, 4, source.asked.Load())
	})
}

// A server that is starting, or whose CustomResourceDefinition is being replaced, answers
// 404 for a moment, and its discovery agrees.
//
// Promise reflector/10
func TestAnAbsenceThatDoesNotLastIsNotBelieved(t *testing.T) {
	absent := scripted.Fails(404, metav1.StatusReasonNotFound)
	for name, then := range map[string]scripted.Answer{
		"it is served again": scripted.Lists("11", scripted.ConfigMap("a", "1")),
		"it is initializing": scripted.Fails(429, ""),
		"it is restarting":   scripted.Fails(503, ""),
	} {
		for _, seconds := range []int{1, 5, 20} { // seconds; the pace is that of the informer's factory
			t.Run(fmt.Sprint(name, " after ", seconds), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					begun := time.Now()
					gone := func() bool { // for a while, of each 25 s
						return time.Since(begun) > 10*time.Second && int(time.Since(begun).Seconds())%25 < seconds
					}
					s := &scripted.Server{Watch: func(w httpWriter, r *httpRequest, n int) {
						if gone() {
							absent(w, r, n)
							return
						}
						scripted.Begin(w)
						for !gone() && scripted.Linger(r, time.Second) {
						}
					}, List: func(w httpWriter, r *httpRequest, n int) {
						switch {
						case gone():
							absent(w, r, n)
						case n == 1:
							scripted.Lists("10", scripted.ConfigMap("a", "1"))(w, r, n)
						default:
							then(w, r, n)
						}
					}}
					source := &removable{ListerWatcher: sourceOf(t, s), served: func() (bool, error) { return !gone(), nil }}
					sink := newRecorder()
					opts := listMode
					opts.Policy = func(f reflector.Failure) reflector.Decision {
						if f.Class == reflector.ClassNotFound {
							return reflector.RetryAfter(3 * time.Second)
						}
						return reflector.Retry()
					}
					r := run(t, source, sink, opts)
					after(10 * time.Minute)
					require.NotContains(t, sink.calls(), "replace [] @")
					require.Equal(t, "a@1", sink.holds())
					require.False(t, r.Health().ResourceRemoved)
					require.Positive(t, source.asked.Load())
				})
			})
		}
	}
}

// A 404 alone is no removal: the server must also say that it does not serve the resource.
//
// Promise reflector/10
func TestARemovalThatIsNotCertainIsNotBelieved(t *testing.T) {
	for name, served := range map[string]func() (bool, error){
		"the resource is served":   func() (bool, error) { return true, nil },
		"the discovery has failed": func() (bool, error) { return false, errors.New("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				source := &removable{ListerWatcher: sourceOf(t, removedServer(10_000)), served: served}
				sink := newRecorder()
				r := run(t, source, sink, listMode)
				after(time.Hour)
				require.Equal(t, []string{"replace [a@1] @10"}, sink.calls())
				require.False(t, r.Health().ResourceRemoved)
				require.Greater(t, source.asked.Load(), int32(3))
			})
		})
	}
}

// removing is a sink that distinguishes a removal.
type removing struct{ *recorder }

func (s removing) Removed(ctx context.Context) error {
	return s.do(ctx, "removed", func() { clear(s.state) })
}

func TestASinkThatDistinguishesARemovalIsCalledForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := &removable{ListerWatcher: sourceOf(t, removedServer(8)), served: func() (bool, error) { return false, nil }}
		sink := removing{newRecorder()}
		run(t, source, sink, listMode)
		after(3 * time.Minute)
		require.Equal(t, []string{"replace [a@1] @10", "removed"}, sink.calls()[:2])
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
				s := removedServer(1)
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
		s := removedServer(20) // the pauses in between are random
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
		after(3 * time.Minute)
		require.True(t, r.Health().ResourceRemoved)
		require.Equal(t, []string{"replace [a@1] @10", "replace [] @"}, sink.calls())
		require.EqualValues(t, 5, source.asked.Load())
	})
}
