package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/reflector"
)

func cmObject(name, rv string) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", ResourceVersion: rv}}
}

func listOf(items ...corev1.ConfigMap) func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
	return func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: items}, nil
	}
}

func noWatch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

func TestFunctionsAreASource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fake := watch.NewFakeWithChanSize(10, false)
		var listed, watched metav1.ListOptions
		lw := reflector.FromFuncs[*configMap](
			func(ctx context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
				listed = o
				return listOf(cmObject("a", "1"))(ctx, o)
			},
			func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				watched = o
				return fake, nil
			})
		sink := newRecorder()
		r := run(t, lw, sink, reflector.Options{})
		b, c := cmObject("b", "11"), cmObject("a", "12")
		fake.Add(&b)
		fake.Modify(&c)
		fake.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}})
		fake.Delete(&b)
		fake.Action(watch.Bookmark, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "20"}})
		after(time.Second)
		require.Equal(t, []string{"replace [a@1] @10", "add b@11", "update a@12", "delete b@11", "bookmark @20"}, sink.calls())
		require.Equal(t, "0", listed.ResourceVersion)
		require.Equal(t, "10", watched.ResourceVersion)
		require.True(t, watched.Watch)
		require.Equal(t, 1, r.Health().Quarantined)
		require.ErrorContains(t, r.Health().Quarantine[0], "it is a *v1.Pod, not a *v1.ConfigMap")
		r.cancel()
		require.NoError(t, <-r.done)
		require.True(t, fake.IsStopped())
	})
}

func TestErrorEventsOfFunctionsAreFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var fakes []*watch.FakeWatcher
		lw := reflector.FromFuncs[*configMap](listOf(), func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			fakes = append(fakes, watch.NewFakeWithChanSize(1, false))
			return fakes[len(fakes)-1], nil
		})
		r := run(t, lw, newRecorder(), reflector.Options{})
		after(time.Second)
		gone := apierrors.NewResourceExpired("too old").ErrStatus
		fakes[0].Error(&gone)
		after(2 * time.Second)
		require.Equal(t, reflector.ClassExpired, r.Health().LastErrorClass)
		require.Equal(t, 2, r.Health().Lists)
		require.True(t, fakes[0].IsStopped())
		fakes[1].Error(&corev1.Pod{})
		after(3 * time.Second)
		require.Len(t, fakes, 3)
	})
}

func TestAKeptItemDoesNotPinItsList(t *testing.T) {
	t.Parallel()
	list := &corev1.ConfigMapList{Items: []corev1.ConfigMap{cmObject("a", "1"), cmObject("b", "2")}}
	lw := reflector.FromFuncs[*configMap](func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) { return list, nil }, noWatch)
	i := 0
	_, err := lw.List(context.Background(), reflector.Request{}, func(ev reflector.WatchEvent[*configMap]) error {
		obj, err := ev.Object, ev.Err
		require.NoError(t, err)
		require.Equal(t, list.Items[i].Name, obj.Name)
		require.NotSame(t, &list.Items[i], obj)
		i++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, i)
}

func TestUnusableArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	good := reflector.FromFuncs[*configMap](listOf(), noWatch)
	for name, f := range map[string]func() error{
		"no source":   func() error { _, err := reflector.New[*configMap](nil, newRecorder(), reflector.Options{}); return err },
		"no sink":     func() error { _, err := reflector.New(good, nil, reflector.Options{}); return err },
		"nil list":    func() error { return newErr(reflector.FromFuncs[*configMap, *corev1.ConfigMapList](nil, noWatch)) },
		"no watch":    func() error { return newErr(reflector.FromFuncs[*configMap](listOf(), nil)) },
		"no function": func() error { return newErr(reflector.Transform[*configMap, *configMap](good, nil)) },
		"nothing to transform": func() error {
			return newErr(reflector.Transform(nil, reflector.StripManagedFields[*configMap]))
		},
		"transform of unusable": func() error {
			return newErr(reflector.Transform(reflector.FromFuncs[*configMap](listOf(), nil), reflector.StripManagedFields[*configMap]))
		},
		"sync mode":         func() error { return newErr(good, reflector.Options{Sync: "quickly"}) },
		"negative page":     func() error { return newErr(good, reflector.Options{PageSize: -1}) },
		"negative timeout":  func() error { return newErr(good, reflector.Options{Timeouts: reflector.Timeouts{Watch: -1}}) },
		"shrinking backoff": func() error { return newErr(good, reflector.Options{Backoff: reflector.Backoff{Factor: 0.5}}) },
		"negative backoff":  func() error { return newErr(good, reflector.Options{Backoff: reflector.Backoff{Initial: -1}}) },
		"short watches":     func() error { return newErr(good, reflector.Options{Timeouts: reflector.Timeouts{Watch: time.Second}}) },
		"short silence":     func() error { return newErr(good, reflector.Options{Timeouts: reflector.Timeouts{Idle: time.Second}}) },
		"max below initial": func() error {
			return newErr(good, reflector.Options{Backoff: reflector.Backoff{Initial: time.Second, Max: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, f(), "reflector: ")
		})
	}
}

func newErr(lw reflector.ListerWatcher[*configMap], opts ...reflector.Options) error {
	_, err := reflector.New(lw, newRecorder(), append(opts, reflector.Options{})[0])
	return err
}

func TestFunctionsThatReturnNonsenseAreFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lw := reflector.FromFuncs[*configMap](
			func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.ConfigMap{}, nil }, noWatch)
		r := run(t, lw, newRecorder(), reflector.Options{})
		after(time.Second / 2)
		require.Equal(t, reflector.ClassDecode, r.Health().LastErrorClass)
	})
	t.Run("nil watch", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			lw := reflector.FromFuncs[*configMap](listOf(), func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, nil })
			r := run(t, lw, newRecorder(), reflector.Options{})
			after(time.Second / 2)
			require.Equal(t, reflector.ClassDecode, r.Health().LastErrorClass)
		})
	})
}

func TestTextsOfFunctionsAreCutWhereTheyEnter(t *testing.T) {
	long := strings.Repeat("hunter2 ", 1<<15)
	brief := func(t *testing.T, lw reflector.ListerWatcher[*configMap]) {
		bubble(t, func(t *testing.T) {
			r := run(t, lw, newRecorder(), reflector.Options{})
			after(500 * time.Millisecond)
			err := r.Health().LastError
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1500)
			for ; err != nil; err = errors.Unwrap(err) {
				require.Less(t, len(fmt.Sprintf("%+v", err)), 4000, "what is kept")
			}
		})
	}
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: long}}
	for name, list := range map[string]func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error){
		"error":  func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) { return nil, errors.New(long) },
		"status": func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) { return nil, refused },
		"version": func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
			return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: long}}, nil
		},
		"token": func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
			return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: long}}, nil
		},
		"version of an object": listOf(cmObject("a", long)),
	} {
		t.Run(name, func(t *testing.T) { brief(t, reflector.FromFuncs[*configMap](list, noWatch)) })
	}
	for name, ev := range map[string]watch.Event{
		"event":       {Type: watch.EventType(long), Object: &configMap{}},
		"error event": {Type: watch.Error, Object: &refused.ErrStatus},
		"bookmark":    {Type: watch.Bookmark, Object: &configMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: long}}},
	} {
		t.Run(name, func(t *testing.T) {
			brief(t, reflector.FromFuncs[*configMap](listOf(cmObject("a", "1")), func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewFakeWithChanSize(1, false)
				w.Action(ev.Type, ev.Object)
				return w, nil
			}))
		})
	}
}

func TestAnObjectOfFunctionsWithoutANameIsQuarantined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sink := newRecorder()
		r := run(t, reflector.FromFuncs[*configMap](listOf(cmObject("", "1"), cmObject("a", "1")), noWatch), sink, reflector.Options{})
		after(time.Second)
		require.Equal(t, "a@1", sink.holds())
		require.Equal(t, 1, r.Health().Quarantined)
		require.ErrorContains(t, r.Health().Quarantine[0], "it has no name")
	})
}

// requirePositions sends three good objects and a bad one in a watch that follows a list with a
// bad second object, and checks the positions of both.
func requirePositions(t *testing.T, r *running, fake *watch.FakeWatcher, bad corev1.ConfigMap) {
	t.Helper()
	good := cmObject("c", "11")
	for range 3 {
		fake.Add(&good)
	}
	fake.Add(&bad)
	after(time.Second)
	require.Len(t, r.Health().Quarantine, 2)
	require.Equal(t, 1, r.Health().Quarantine[0].Position)
	require.Equal(t, 3, r.Health().Quarantine[1].Position)
}

// The position of a bad object is that in its list, or in its watch.
func TestABadObjectOfFunctionsIsQuarantinedByItsPosition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fake := watch.NewFakeWithChanSize(10, false)
		r := run(t, reflector.FromFuncs[*configMap](listOf(cmObject("a", "1"), cmObject("", "2"), cmObject("b", "3")),
			func(context.Context, metav1.ListOptions) (watch.Interface, error) { return fake, nil }), newRecorder(), reflector.Options{})
		requirePositions(t, r, fake, cmObject("", "12"))
	})
}

func TestAnObjectThatIsNotTransformedIsQuarantinedByItsPosition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fake := watch.NewFakeWithChanSize(10, false)
		source := reflector.FromFuncs[*configMap](listOf(cmObject("a", "1"), cmObject("bad", "2"), cmObject("b", "3")),
			func(context.Context, metav1.ListOptions) (watch.Interface, error) { return fake, nil })
		r := run(t, reflector.Transform(source, func(o *configMap) (*configMap, error) {
			if strings.HasPrefix(o.Name, "bad") {
				return nil, errors.New("boom")
			}
			return o, nil
		}), newRecorder(), reflector.Options{})
		requirePositions(t, r, fake, cmObject("bad too", "12"))
	})
}

// Watches that began together, when the server came back, must not end together.
func TestWatchesAskForOnceToTwiceTheirTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var least, most int64 = 1 << 62, 0
		watches := 0
		ends := func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			watches++
			least, most = min(least, *o.TimeoutSeconds), max(most, *o.TimeoutSeconds)
			w := watch.NewFake()
			time.AfterFunc(30*time.Second, w.Stop)
			return w, nil
		}
		opts := reflector.Options{Timeouts: reflector.Timeouts{Watch: 19*time.Second + time.Millisecond}}
		run(t, reflector.FromFuncs[*configMap](listOf(cmObject("a", "1")), ends), newRecorder(), opts)
		after(24 * time.Hour)
		require.Greater(t, watches, 1000)
		require.EqualValues(t, 20, least, "rounded up")
		require.EqualValues(t, 40, most)
	})
}

// What the sink has already is not transformed again, and a bad object is not looked up.
func TestAKnownObjectOfFunctionsIsNotTransformedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lists, transformed := 0, map[string]int{}
		list := func(ctx context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
			lists++
			return listOf(cmObject("", "1"), cmObject("a", "1"), cmObject("b", strconv.Itoa(lists)))(ctx, o)
		}
		expired := func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			if lists > 1 {
				return watch.NewFake(), nil
			}
			return nil, apierrors.NewResourceExpired("too old")
		}
		source := reflector.Transform(reflector.FromFuncs[*configMap](list, expired), func(o *configMap) (*configMap, error) {
			transformed[o.Name+"@"+o.ResourceVersion]++
			return o, nil
		})
		sink := knowing{newRecorder()}
		r := run(t, source, sink, listMode)
		after(time.Minute)
		require.Equal(t, 2, lists)
		require.Equal(t, "a@1 b@2", sink.holds())
		require.Equal(t, map[string]int{"a@1": 1, "b@1": 1, "b@2": 1}, transformed)
		require.Len(t, r.Health().Quarantine, 1)
	})
}

// unstoppable is a watch whose channel stays open after Stop.
type unstoppable struct{ stops int }

func (u *unstoppable) ResultChan() <-chan watch.Event { return nil }
func (u *unstoppable) Stop()                          { u.stops++ }

func TestCloseEndsTheNextOfAWatchThatDoesNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := &unstoppable{}
		lw := reflector.FromFuncs[*configMap](listOf(), func(context.Context, metav1.ListOptions) (watch.Interface, error) { return u, nil })
		for waits := range 2 { // a Next that waits already, and one that comes later
			stream, err := lw.Watch(t.Context(), reflector.Request{})
			require.NoError(t, err)
			ended := make(chan error, 2)
			for range waits {
				go func() {
					_, err := stream.Next()
					ended <- err
				}()
			}
			after(time.Minute)
			require.Empty(t, ended)
			require.NoError(t, stream.Close())
			require.NoError(t, stream.Close())
			for range waits {
				require.ErrorContains(t, <-ended, "the stream is closed")
			}
			_, err = stream.Next()
			require.ErrorContains(t, err, "the stream is closed")
			require.Equal(t, waits+1, u.stops)
		}
	})
}

// versions of one object, in the lists of one source, and whether the second is a new state.
func TestFunctionsHandOverWhatIsKnownOnlyInItsVersion(t *testing.T) {
	for name, c := range map[string]struct {
		uid, before, now string
		reused           bool
	}{
		"the same version":                {"u", "1", "1", true},
		"the same version, without a UID": {"", "1", "1", true},
		"another version":                 {"u", "1", "2", false},
		"without versions":                {"", "", "", false},
		"with a UID, without versions":    {"u", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				lists := 0
				list := func(ctx context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
					lists++
					item := cmObject("a", c.before)
					if lists > 1 {
						item.ResourceVersion = c.now
					}
					item.UID = types.UID(c.uid)
					item.Data = map[string]string{"n": strconv.Itoa(lists)}
					return listOf(item)(ctx, o)
				}
				expired := func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					if lists > 1 {
						return watch.NewFake(), nil
					}
					return nil, apierrors.NewResourceExpired("too old")
				}
				sink := newRecorder()
				run(t, reflector.FromFuncs[*configMap](list, expired), knowing{sink}, reflector.Options{})
				after(time.Minute)
				require.Equal(t, 2, lists)
				want := "2"
				if c.reused {
					want = "1"
				}
				require.Equal(t, want, sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}].Data["n"])
			})
		})
	}
}

func TestFunctionsHandOverEitherAnObjectOrWhatIsKnown(t *testing.T) {
	t.Parallel()
	known := cmObject("a", "1")
	req := reflector.Request{Known: func(key types.NamespacedName, _, _ []byte) any {
		if key.Name == "a" {
			return &known
		}
		return nil
	}}
	var events []reflector.WatchEvent[*configMap]
	_, err := reflector.FromFuncs[*configMap](listOf(cmObject("a", "1"), cmObject("b", "1")), noWatch).List(t.Context(), req, func(ev reflector.WatchEvent[*configMap]) error {
		events = append(events, ev)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, reflector.WatchEvent[*configMap]{Type: watch.Added, Known: &known}, events[0], "what is known, and nothing else")
	require.Nil(t, events[1].Known)
	require.Equal(t, "b", events[1].Object.Name)
}
