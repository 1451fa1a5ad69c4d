package reflector_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// tooLarge answers like a server that was restored from a backup, after the time
// that a watch cache waits for the version.
func tooLarge(w httpWriter, r *httpRequest, n int) {
	scripted.Linger(r, 3*time.Second)
	scripted.Fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})(w, r, n)
}

// lowly hides all that a source can do besides listing and watching.
type lowly struct {
	reflector.ListerWatcher[*corev1.ConfigMap]
}

func TestABrokenConnectionToARestoredServerLeadsToARelist(t *testing.T) {
	ends := map[string]scripted.Answer{
		"cut at once": func(w httpWriter, _ *httpRequest, _ int) { scripted.Begin(w); scripted.Cut() },
		"cut": func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 2*time.Minute)
			scripted.Cut()
		},
		"closed early":  func(w httpWriter, r *httpRequest, _ int) { scripted.Begin(w); scripted.Linger(r, 2*time.Minute) },
		"not available": scripted.Fails(503, ""),
	}
	for name, end := range ends {
		for _, wrapped := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: ", of another source"}[wrapped], func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := &scripted.Server{List: scripted.InTurn(scripted.Lists("1000", scripted.ConfigMap("a", "7")), tooLarge, scripted.Lists("50", scripted.ConfigMap("b", "9"))), Watch: scripted.InTurn(end, scripted.Quiet)}
					source, want := sourceOf(t, s), "list@0 watch@1000 watch@1000 list@1000 list@ list@ watch@50"
					if wrapped {
						source = lowly{source}
					}
					sink := newRecorder()
					r := run(t, source, sink, listMode)
					after(2*time.Minute + 8*time.Second)
					require.Equal(t, want, s.Verbs())
					require.Equal(t, "b@9", sink.holds())
					require.Equal(t, "1", s.Requests()[len(s.Requests())-4].Query.Get("limit"))
					require.Equal(t, "NotOlderThan", s.Requests()[len(s.Requests())-4].Query.Get("resourceVersionMatch"))
					require.Equal(t, reflector.ClassFuture, r.Health().LastErrorClass)
					require.ErrorContains(t, r.Health().LastError, "the server is at the resourceVersion 50, which is before that of the watch, 1000")
					require.LessOrEqual(t, r.Health().ConsecutiveFailures, 1)
				})
			})
		}
	}
}

func TestTheVersionIsAskedForOnceAfterABrokenConnection(t *testing.T) {
	for name, second := range map[string]scripted.Answer{
		"the server knows it":         scripted.Lists("10"),
		"the server knows it and has": scripted.Lists("10", scripted.ConfigMap("a", "1")),
		"the server does not say":     scripted.Fails(500, ""),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.InTurn(scripted.Lists("10"), second), Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
					scripted.Begin(w)
					scripted.Linger(r, time.Minute)
					scripted.Cut()
				}, scripted.Quiet)}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
				after(time.Minute + 999*time.Millisecond)
				require.Equal(t, "list@0 watch@10 watch@10", s.Verbs(), "the watch comes first")
				after(4 * time.Minute)
				require.Equal(t, "list@0 watch@10 watch@10 list@10", s.Verbs())
				require.LessOrEqual(t, s.Requests()[3].At, 62*time.Second)
				require.Equal(t, reflector.StateWatching, r.Health().State, "asking changes nothing")
				require.Equal(t, 2, r.Health().Lists)
			})
		})
	}
}

func TestAnEventAfterABrokenConnectionIsAnswerEnough(t *testing.T) {
	for typ, object := range map[string]string{"ADDED": scripted.ConfigMap("b", "11"), "BOOKMARK": scripted.Bookmark("11", false)} {
		t.Run(typ, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
					scripted.Begin(w)
					scripted.Linger(r, time.Minute)
					scripted.Cut()
				}, func(w httpWriter, r *httpRequest, _ int) {
					scripted.Begin(w)
					scripted.Linger(r, 900*time.Millisecond)
					scripted.Send(w, typ, object)
					scripted.Hang(r)
				})}
				run(t, sourceOf(t, s), newRecorder(), listMode)
				after(5 * time.Minute)
				require.Equal(t, "list@0 watch@10 watch@10", s.Verbs())
			})
		})
	}
}

func TestAnOrderlyEndIsNoReasonToAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			timeout, _ := time.ParseDuration(r.URL.Query().Get("timeoutSeconds") + "s")
			scripted.Linger(r, timeout)
		}, scripted.Quiet)}
		run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 40 * time.Second}})
		after(100 * time.Second) // the first watch has ended, the second is not overdue yet
		require.Equal(t, "list@0 watch@10 watch@10", s.Verbs())
	})
}

// A proxy that cuts idle connections often gets the watches that it needs, and a
// question only while more than half of the allowance is left.
func TestQuestionsForTheVersionDoNotUseUpTheAllowance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 12*time.Second)
			scripted.Cut()
		}}
		run(t, sourceOf(t, s), newRecorder(), listMode)
		after(20 * time.Minute)
		var watches []scripted.Request
		var free []time.Duration
		for _, q := range s.Requests() {
			if q.Verb == "watch" {
				watches, free = append(watches, q), append(free, q.At)
			}
		}
		requireBound(t, s.Requests(), 0, free...)
		for _, gap := range gaps(watches, 12*time.Second) {
			require.LessOrEqual(t, gap, time.Second)
		}
		require.Greater(t, len(s.Requests())-len(watches), 10, "as many questions as are left over")
	})
}

// TestARestoredServerIsNoticedWithoutDelay is the same against a server that
// keeps a history.
func TestARestoredServerIsNoticedWithoutDelay(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		t.Run(string(mode), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
				for _, name := range []string{"a", "b", "c"} {
					require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}))
					for range 5 {
						require.NoError(t, server.Delete(scripted.ConfigMaps, "ns", name))
						require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}))
					}
				}
				lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{})
				require.NoError(t, err)
				sink := newRecorder()
				r := run(t, reflector.Transform(lw, reflector.StripManagedFields[*corev1.ConfigMap]), sink, reflector.Options{Sync: mode})
				after(time.Minute)
				before := sink.holds()
				require.NoError(t, server.RestartWithNewHistory())
				after(6 * time.Second)
				require.NotEqual(t, before, sink.holds(), "at %s", r.Health().ResourceVersion)
				require.Len(t, sink.objects(), 3)
				require.Equal(t, server.ResourceVersion(), r.Health().ResourceVersion)
			})
		})
	}
}

// A replica whose watch cache is behind refuses a version, too. It has lost nothing.
func TestAReplicaThatIsBehindIsNotTakenForARestoredServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(scripted.Lists("1000", scripted.ConfigMap("a", "7")), tooLarge, scripted.Lists("1001", scripted.ConfigMap("a", "7"))), Watch: scripted.InTurn(scripted.Fails(503, ""), scripted.Quiet)}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), knowing{sink}, listMode)
		after(time.Minute)
		require.Equal(t, "list@0 watch@1000 watch@1000 list@1000 list@", s.Verbs())
		require.Equal(t, "1", s.Requests()[4].Query.Get("limit"), "one object is enough")
		require.Equal(t, []string{"replace [a@7] @1000"}, sink.calls())
		require.Empty(t, r.Health().Reconnects[reflector.ClassFuture])
	})
}

// A list that a replica cannot answer is read from etcd, and what the sink has is reused as it is.
// Only a version that is lower proves that the history is another one: then each object is decoded.
func TestOnlyAListThatGoesBackProvesAnotherHistory(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
		for now, decoded := range map[string]int32{"1001": 0, "50": 1} {
			t.Run(string(mode)+" "+now, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					initial := func(rv string) scripted.Answer {
						return func(w httpWriter, r *httpRequest, _ int) {
							scripted.Send(w, "ADDED", scripted.ConfigMap("a", "7"))
							scripted.Send(w, "BOOKMARK", scripted.Bookmark(rv, true))
							scripted.Linger(r, time.Minute)
						}
					}
					s := &scripted.Server{
						List:      scripted.InTurn(scripted.Lists("1000", scripted.ConfigMap("a", "7")), tooLarge, scripted.Lists(now, scripted.ConfigMap("a", "7"))),
						WatchList: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) { initial("1000")(w, r, 0) }, tooLarge, initial(now)),
						Watch:     scripted.InTurn(scripted.Fails(410, ""), scripted.Quiet),
					}
					var n atomic.Int32
					source := reflector.Transform(sourceOf(t, s), func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) { n.Add(1); return o, nil })
					sink := newRecorder()
					r := run(t, source, knowing{sink}, reflector.Options{Sync: mode})
					after(30 * time.Millisecond)
					require.EqualValues(t, 1, n.Swap(0))
					after(100 * time.Second)
					require.Equal(t, now, r.Health().ResourceVersion)
					require.Equal(t, decoded, n.Load())
					require.Equal(t, "a@7", sink.holds())
				})
			})
		}
	}
}
