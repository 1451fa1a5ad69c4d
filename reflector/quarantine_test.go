package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// badCM is a ConfigMap whose data cannot be decoded.
func badCM(name, rv string) string {
	return strings.Replace(scripted.ConfigMap(name, rv), `"data":{`, `"data":{"x":[1],`, 1)
}

// Promise reflector/6
func TestOneBadObjectInAListDoesNotHoldUpTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var reported []*reflector.ObjectError
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1"), badCM("b", "2"), scripted.ConfigMap("c", "3"), `{"metadata":{"namespace":"ns"}}`, `7`, `null`), Watch: scripted.Quiet}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{
			Sync: reflector.SyncList, OnQuarantine: func(oe *reflector.ObjectError) { reported = append(reported, oe) },
		})
		after(0)
		require.Equal(t, []string{"replace [a@1 c@3] @10"}, sink.calls())
		h := r.Health()
		require.Equal(t, reflector.StateWatching, h.State)
		require.Equal(t, 4, h.Quarantined)
		require.Equal(t, reported, h.Quarantine)
		b := h.Quarantine[0]
		require.Equal(t, "ns/b", b.Key.String())
		require.Equal(t, "uid-b", string(b.UID))
		require.Equal(t, "2", b.ResourceVersion)
		require.Equal(t, 1, b.Position)
		require.Equal(t, reflector.ClassDecode, b.Class)
		require.ErrorContains(t, b, "decode: object ns/b: ")
		require.ErrorContains(t, h.Quarantine[1], "object at position 3: it has no name")
		require.Equal(t, 4, h.Quarantine[2].Position)
		// Nothing was lost that another list could bring back any sooner.
		after(4 * time.Minute)
		require.Equal(t, 1, r.Health().Lists)
	})
}

// Promise reflector/6
func TestABadEventIsMadeUpForByAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")), scripted.Lists("20", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "11"))),
			Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
				scripted.Send(w, "MODIFIED", badCM("b", "11"))
				scripted.Send(w, "ADDED", scripted.ConfigMap("c", "12"))
				scripted.Hang(r)
			}, scripted.Quiet),
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(time.Second)
		require.Equal(t, []string{"replace [a@1 b@2] @10", "add c@12"}, sink.calls(), "the others flow")
		require.Len(t, r.Health().Quarantine, 1)
		require.Equal(t, reflector.StateWatching, r.Health().State)
		after(58 * time.Second)
		require.Len(t, s.Requests(), 2)
		after(2 * time.Second)
		require.Equal(t, "replace [a@1 b@11] @20", sink.calls()[2])
		require.Equal(t, "list@0 watch@10 list@12 watch@20", s.Verbs())
		h := r.Health()
		require.Empty(t, h.Quarantine)
		require.Equal(t, 1, h.Quarantined)
		require.Equal(t, 1, h.Reconnects[reflector.ClassQuarantine])
		require.Zero(t, h.ConsecutiveFailures)
	})
}

func TestBadEventsMakeListsRarer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			for {
				scripted.Send(w, "MODIFIED", badCM("b", fmt.Sprint(time.Now().Unix())))
				if !scripted.Linger(r, time.Second) {
					return
				}
			}
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(63*time.Minute + 30*time.Second) // 1+2+4+8+16+32 minutes
		require.Equal(t, 7, r.Health().Lists)
		after(65 * time.Minute) // and 64 from then on
		require.Equal(t, 8, r.Health().Lists)
		after(65 * time.Minute)
		require.Equal(t, 9, r.Health().Lists)
	})
}

func TestQuarantineRetryMayBeOfAnyLength(t *testing.T) {
	for retry, want := range map[time.Duration]int{1: 7, math.MaxInt64: 2} {
		t.Run(retry.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: func(w httpWriter, r *httpRequest, n int) {
					scripted.Send(w, "MODIFIED", badCM("a", "11"))
					scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(11+n), false))
					scripted.Linger(r, 20*time.Second)
					if n == 1 {
						scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
					}
				}}
				r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{QuarantineRetry: retry}})
				after(2 * time.Minute)
				require.Equal(t, want, r.Health().Lists)
			})
		})
	}
}

func TestABadChangeAmongTheInitialEventsIsMadeUpForByAList(t *testing.T) {
	for name, change := range map[string][2]string{
		"deletion of an unknown name": {"DELETED", `{"metadata":{"name":{},"resourceVersion":"11"}}`},
		"change of an unknown name":   {"MODIFIED", `{"metadata":{"name":{},"resourceVersion":"11"}}`},
		"change":                      {"MODIFIED", badCM("b", "11")},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{WatchList: scripted.InTurn(initial(func(w httpWriter, r *httpRequest) {
					scripted.Send(w, change[0], change[1])
					scripted.Send(w, "BOOKMARK", scripted.Bookmark("12", true))
					scripted.Hang(r)
				}, scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")), initial(func(w httpWriter, r *httpRequest) {
					scripted.Send(w, "BOOKMARK", scripted.Bookmark("20", true))
					scripted.Hang(r)
				}, scripted.ConfigMap("a", "1")))}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, reflector.Options{})
				after(time.Second)
				require.Equal(t, "a@1 b@2", sink.holds())
				require.Len(t, r.Health().Quarantine, 1)
				after(time.Minute)
				require.Equal(t, "a@1", sink.holds())
				require.Empty(t, r.Health().Quarantine)
			})
		})
	}
}

// Promise reflector/6
func TestABadObjectKeepsItsLastGoodVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")), scripted.Lists("20", badCM("a", "12"), scripted.ConfigMap("b", "2"))),
			Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
				scripted.Send(w, "MODIFIED", badCM("a", "12"))
				scripted.Hang(r)
			}, func(w httpWriter, r *httpRequest, _ int) {
				scripted.Linger(r, 2*time.Second)
				scripted.Send(w, "DELETED", badCM("a", "21"))
				scripted.Hang(r)
			}),
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), knowing{sink}, listMode)
		after(61 * time.Second)
		require.Equal(t, []string{"replace [a@1 b@2] @10", "replace [a@1 b@2] @20"}, sink.calls())
		require.Len(t, r.Health().Quarantine, 1)
		after(3 * time.Second)
		require.Equal(t, "b@2", sink.holds(), "a deletion needs the key only")
		require.Empty(t, r.Health().Quarantine)
		after(4 * time.Minute)
		require.Equal(t, 2, r.Health().Lists, "so nothing was lost")
	})
}

func TestAGoodVersionEndsTheQuarantine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", badCM("a", "1"), scripted.ConfigMap("good", "1")), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Linger(r, time.Second)
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "11"))
			scripted.Hang(r)
		}}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(0)
		require.Len(t, r.Health().Quarantine, 1)
		after(2 * time.Second)
		require.Empty(t, r.Health().Quarantine)
		require.Equal(t, "a@11 good@1", sink.holds())
	})
}

func TestUnreadableInitialEventsAreTheLastWordOnlyIfTheyComeLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "4"))
			scripted.Send(w, "MODIFIED", badCM("b", "5"))
			scripted.Send(w, "DELETED", badCM("c", "6"))
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
			scripted.Hang(r)
		}, badCM("a", "1"), scripted.ConfigMap("b", "2"), scripted.ConfigMap("c", "3"), badCM("d", "3"))}
		sink := newRecorder()
		sink.state[types.NamespacedName{Namespace: "ns", Name: "b"}] = &configMap{}
		old := cmObject("d", "0")
		sink.state[types.NamespacedName{Namespace: "ns", Name: "d"}] = &old
		r := run(t, sourceOf(t, s), knowing{sink}, reflector.Options{})
		after(time.Second)
		require.Equal(t, []string{"replace [b@2 d@0 a@4] @10"}, sink.calls())
		var names []string
		for _, oe := range r.Health().Quarantine {
			names = append(names, oe.Key.Name)
		}
		require.ElementsMatch(t, []string{"b", "d"}, names)
	})
}

func TestTheQuarantineIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var items []string
		for range 300 {
			items = append(items, `{}`)
		}
		items = append(items, scripted.ConfigMap("good", "1"))
		s := &scripted.Server{List: scripted.Lists("10", items...), Watch: scripted.Quiet}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(0)
		require.Len(t, r.Health().Quarantine, 100)
		require.Equal(t, 300, r.Health().Quarantined)
	})
}

func TestObjectsOfAWrongTypeAreQuarantined(t *testing.T) {
	typed := func(apiVersion, kind string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `",` + scripted.ConfigMap("x", "11")[1:]
	}
	for name, object := range map[string]string{
		"table":         typed("meta.k8s.io/v1", "Table"),
		"other kind":    typed("v1", "Secret"),
		"other version": typed("v2", "ConfigMap"),
		"nameless":      `{"metadata":{"resourceVersion":"11"}}`,
		"wrong name":    `{"metadata":{"name":{},"namespace":"ns","resourceVersion":"11"}}`,
		"string":        `"hello"`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: func(w httpWriter, r *httpRequest, _ int) {
					scripted.Send(w, "ADDED", object)
					scripted.Send(w, "ADDED", typed("v1", "ConfigMap"))
					scripted.Hang(r)
				}}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, listMode)
				after(time.Second)
				require.Equal(t, []string{"replace [a@1] @10", "add x@11"}, sink.calls())
				require.Equal(t, 1, r.Health().Quarantined)
			})
		})
	}
}

func TestATransformThatFailsOrPanicsIsQuarantined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1"), scripted.ConfigMap("error", "2"), scripted.ConfigMap("panic", "3"), scripted.ConfigMap("nil", "4"), scripted.ConfigMap("z", "5")), scripted.Lists("30", scripted.ConfigMap("a", "1"))),
			Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
				scripted.Send(w, "ADDED", scripted.ConfigMap("error", "11"))
				scripted.Send(w, "ADDED", scripted.ConfigMap("c", "12"))
				scripted.Hang(r)
			}, scripted.Quiet)}
		lw := reflector.Transform(sourceOf(t, s), func(o *configMap) (*configMap, error) {
			switch o.Name {
			case "error":
				return o, errBroken
			case "panic":
				panic("oh")
			case "nil":
				return nil, nil
			}
			return o, nil
		})
		sink := newRecorder()
		r := run(t, lw, sink, listMode)
		after(time.Second)
		require.Equal(t, []string{"replace [a@1 z@5] @10", "add c@12"}, sink.calls())
		h := r.Health()
		require.Equal(t, 4, h.Quarantined)
		require.Len(t, h.Quarantine, 3)
		for _, oe := range h.Quarantine {
			require.Equal(t, reflector.ClassTransform, oe.Class)
			require.Equal(t, "ns", oe.Key.Namespace)
		}
		require.ErrorContains(t, h.Quarantine[0], "the transform panicked: oh")
		after(time.Minute)
		require.Empty(t, r.Health().Quarantine, "the lost event led to a list")
	})
}

// Promise reflector/7
func TestASinkErrorDeliversTheSameChangeAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		events := func(w httpWriter, r *httpRequest, _ int) {
			for _, rv := range []string{"11", "12", "13"} {
				if rv > r.URL.Query().Get("resourceVersion") {
					scripted.Send(w, "ADDED", scripted.ConfigMap("o"+rv, rv))
				}
			}
			scripted.Hang(r)
		}
		s := &scripted.Server{List: scripted.Lists("10"), Watch: events}
		sink := newRecorder()
		n := map[string]int{}
		sink.fail = func(op string) error {
			if n[op]++; n[op] == 1 {
				return errBroken
			}
			return nil
		}
		r := run(t, sourceOf(t, s), sink, listMode)
		after(time.Minute)
		require.Equal(t, []string{"replace [] @10", "add o11@11", "add o12@12", "add o13@13"}, sink.calls())
		h := r.Health()
		require.Equal(t, reflector.ClassSink, h.LastErrorClass)
		require.ErrorIs(t, h.LastError, errBroken)
		require.EqualError(t, h.LastError, "sink: Add: broken")
		require.Equal(t, "list@0 list@0 watch@10 watch@10 watch@11 watch@12", s.Verbs())
	})
}

func TestASinkThatNeverTakesAnEventGetsTheCollectionAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(scripted.Lists("10"), scripted.Lists("20", scripted.ConfigMap("a", "11"))), Watch: func(w httpWriter, r *httpRequest, _ int) {
			if r.URL.Query().Get("resourceVersion") == "10" {
				scripted.Send(w, "ADDED", scripted.ConfigMap("a", "11"))
			}
			scripted.Hang(r)
		}}
		sink := newRecorder()
		sink.fail = func(op string) error {
			if strings.HasPrefix(op, "add") {
				return errBroken
			}
			return nil
		}
		run(t, sourceOf(t, s), sink, listMode)
		after(time.Minute)
		require.Equal(t, "a@11", sink.holds())
	})
}

func TestAPanicOfTheSinkIsNotSwallowed(t *testing.T) {
	t.Parallel()
	lw := reflector.FromFuncs[*configMap](listOf(cmObject("a", "1")), noWatch)
	sink := newRecorder()
	sink.fail = func(string) error { panic("sink") }
	r, err := reflector.New(lw, sink, reflector.Options{})
	require.NoError(t, err)
	require.PanicsWithValue(t, "sink", func() { _ = r.Run(context.Background()) })
}

func TestASlowSinkIsNotTakenForAnIdleWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("a", "11"))
			scripted.Send(w, "ADDED", scripted.ConfigMap("b", "12"))
			scripted.Hang(r)
		}}
		sink := newRecorder()
		sink.fail = func(op string) error {
			if strings.HasPrefix(op, "add a") {
				<-time.After(time.Hour / 10)
			}
			return nil
		}
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: time.Hour}})
		after(10 * time.Minute)
		require.Equal(t, "replace [] @10 add a@11 add b@12", strings.Join(sink.calls(), " "))
		require.Zero(t, r.Health().ConsecutiveFailures)
		require.Len(t, s.Requests(), 2)
		after(2 * time.Minute)
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle], "the silence after it counts")
	})
}

func TestObjectErrorUnwraps(t *testing.T) {
	t.Parallel()
	oe := &reflector.ObjectError{Err: errBroken, Class: reflector.ClassDecode}
	require.True(t, errors.Is(oe, errBroken))
	require.Equal(t, reflector.ClassDecode, reflector.Classify(oe))
	oe.Key.Name = "cluster-scoped"
	require.EqualError(t, oe, "decode: object cluster-scoped: broken")
}
