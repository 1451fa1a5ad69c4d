package reflector_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// streams begins a watch with an event, and goes on as given.
func streams(then func(w httpWriter, r *httpRequest)) scripted.Answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		scripted.Send(w, "ADDED", scripted.ConfigMap("c", "11"))
		then(w, r)
	}
}

func inStream(code int, reason metav1.StatusReason, causes ...metav1.StatusCause) scripted.Answer {
	return streams(func(w httpWriter, _ *httpRequest) {
		scripted.Send(w, "ERROR", string(scripted.StatusJSON(code, reason, string(reason), causes...)))
	})
}

// resumesAtOnce checks that a watch that has delivered an event goes on without
// a wait, and that the end is on record.
func resumesAtOnce(t *testing.T, first scripted.Answer, class reflector.ErrorClass) {
	s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: scripted.InTurn(first, func(w httpWriter, r *httpRequest, _ int) {
		scripted.Send(w, "BOOKMARK", scripted.Bookmark("60", false))
		scripted.Hang(r)
	})}
	r := run(t, sourceOf(t, s), newRecorder(), listMode)
	after(time.Millisecond)
	require.Equal(t, "list@0 watch@10 watch@11", s.Verbs())
	h := r.Health()
	require.Equal(t, reflector.StateWatching, h.State)
	require.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
	require.Equal(t, 1, h.ConsecutiveFailures, "it has failed, although there was no wait")
	require.Equal(t, 1, h.Reconnects[class])
	after(time.Minute)
	require.Zero(t, r.Health().ConsecutiveFailures)
	require.Len(t, s.Requests(), 3)
}

func TestStreamClosedAfterEventsResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumesAtOnce(t, streams(func(httpWriter, *httpRequest) {}), reflector.ClassClosed)
	})
}

func TestStreamThatDeliversNothingBacksOffAndResumes(t *testing.T) {
	for name, end := range map[string]scripted.Answer{
		"closed": func(w httpWriter, _ *httpRequest, _ int) { scripted.Begin(w) },
		"cut":    func(w httpWriter, _ *httpRequest, _ int) { scripted.Begin(w); scripted.Cut() },
		"closed after an event of the version that it began at": func(w httpWriter, _ *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("c", "10"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				class := reflector.ClassClosed
				if name == "cut" {
					class = reflector.ClassNetwork
				}
				resumes(t, "10", watchFails(t, end, class))
			})
		})
	}
}

func TestAHealthyConnectionThatIsCutResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 10*time.Second)
			scripted.Cut()
		}, scripted.Quiet)}
		run(t, sourceOf(t, s), newRecorder(), listMode)
		after(10*time.Second + time.Millisecond)
		require.Equal(t, "list@0 watch@10 watch@10", s.Verbs())
	})
}

func TestStreamClosedAfterAHealthyPeriodResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			rv, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
			require.NoError(t, err)
			scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(rv+1), false))
			scripted.Linger(r, 10*time.Second)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(35 * time.Second)
		require.Equal(t, "list@0 watch@10 watch@11 watch@12 watch@13", s.Verbs())
		require.NoError(t, r.Health().LastError)
		require.Equal(t, 3, r.Health().Reconnects[reflector.ClassClosed])
	})
}

func TestStreamExpiredRelistsFromTheLastVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relists(t, "11", watchFails(t, inStream(410, metav1.StatusReasonExpired), reflector.ClassExpired))
	})
}

func TestStreamAtAFutureVersionRelists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tooLarge := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge}
		relists(t, "11", watchFails(t, inStream(504, metav1.StatusReasonTimeout, tooLarge), reflector.ClassFuture))
	})
}

func TestStreamThrottledResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "11", watchFails(t, inStream(429, metav1.StatusReasonTooManyRequests), reflector.ClassThrottled))
	})
}

func TestStreamServerErrorRelists(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonInternalError, metav1.StatusReasonStoreReadError, ""} {
		t.Run(string(reason), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relists(t, "11", watchFails(t, inStream(500, reason), reflector.ClassServer))
			})
		})
	}
}

func TestStreamErrorWithoutAStatusIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relists(t, "11", watchFails(t, streams(func(w httpWriter, _ *httpRequest) { scripted.Send(w, "ERROR", "{}") }), reflector.ClassServer))
	})
}

func TestStreamCutResumes(t *testing.T) {
	for name, part := range map[string]string{"between events": "", "inside an event": `{"type":"ADDED","object":{"metadata":{"na`} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				resumesAtOnce(t, streams(func(w httpWriter, _ *httpRequest) {
					fmt.Fprint(w, part)
					w.(http.Flusher).Flush()
					scripted.Cut()
				}), reflector.ClassNetwork)
			})
		})
	}
}

func TestStreamTruncatedResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumesAtOnce(t, streams(func(w httpWriter, _ *httpRequest) {
			fmt.Fprint(w, `{"type":"ADDED","object":{"metadata":{"na`)
		}), reflector.ClassNetwork)
	})
}

func TestStreamOfGarbageResumes(t *testing.T) {
	for _, garbage := range []string{"}}", "\x00\x01\x02 hello", `{"type":"ADDED"}`, `{"object":{}}`, `["ADDED"]`, `{"type":"ADDED","object":{"metadata":}}}`} {
		t.Run(garbage, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				resumes(t, "11", watchFails(t, streams(func(w httpWriter, r *httpRequest) {
					fmt.Fprintln(w, garbage)
					w.(http.Flusher).Flush()
					scripted.Hang(r)
				}), reflector.ClassDecode))
			})
		})
	}
}

func TestStreamWithAnUnknownEventTypeRelists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relists(t, "11", watchFails(t, streams(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "RENAMED", scripted.ConfigMap("d", "12"))
			scripted.Hang(r)
		}), reflector.ClassDecode))
	})
}

// Promise reflector/4
func TestSilentStreamIsTakenForHalfOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(streams(func(_ httpWriter, r *httpRequest) { scripted.Hang(r) }), scripted.Quiet)}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(5*time.Minute - time.Second)
		require.Len(t, s.Requests(), 2)
		after(3100 * time.Millisecond)
		require.Equal(t, "list@0 watch@10 watch@11 list@11", s.Verbs())
		require.Equal(t, "1", s.Requests()[3].Query.Get("limit"))
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle])
		require.Zero(t, r.Health().ConsecutiveFailures)
	})
}

func TestSilenceFromARestoredServerLeadsToARelist(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The server had been at 1000 and was restored from a backup. Its
		// objects have the versions that they had, with other contents.
		future := scripted.Fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
		s := &scripted.Server{List: scripted.InTurn(scripted.Lists("1000", scripted.ConfigMap("a", "7")), future, scripted.Lists("50", scripted.ConfigMap("a", "7"))), Watch: scripted.Quiet}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), knowing{sink}, listMode)
		after(time.Minute)
		held := sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}]
		after(5 * time.Minute)
		require.Equal(t, "list@0 watch@1000 watch@1000 list@1000 list@ list@ watch@50", s.Verbs())
		require.Equal(t, "1", s.Requests()[3].Query.Get("limit"))
		require.Equal(t, "50", r.Health().ResourceVersion)
		now := sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}]
		require.Equal(t, held.ResourceVersion, now.ResourceVersion)
		require.NotSame(t, held, now, "equal versions of different histories are not the same")
	})
}

func TestSilenceIsMeasuredAcrossWatches(t *testing.T) {
	future := scripted.Fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
	for name, c := range map[string]struct {
		watch scripted.Answer
		opts  reflector.Options
	}{
		"ended by the server": {watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, time.Minute)
		}, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 30 * time.Second}}},
		"ended by the client": {watch: scripted.Quiet, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Idle: time.Minute}}},
		"with a bookmark that repeats the version": {watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark(r.URL.Query().Get("resourceVersion"), false))
			scripted.Linger(r, time.Minute)
		}, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 30 * time.Second}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.InTurn(scripted.Lists("1000", scripted.ConfigMap("a", "7")), future, scripted.Lists("50", scripted.ConfigMap("a", "7"))), Watch: scripted.InTurn(c.watch, c.watch, c.watch, c.watch, scripted.Quiet)}
				r := run(t, sourceOf(t, s), newRecorder(), c.opts)
				after(2*time.Minute + 50*time.Second)
				require.Equal(t, 1, r.Health().Lists, "two bookmarks may be late")
				after(90 * time.Second)
				require.Equal(t, "50", r.Health().ResourceVersion)
			})
		})
	}
}

func TestAQuietCollectionIsAskedForItsVersionOnceIn3m(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
			require.NoError(t, err)
			scripted.Linger(r, time.Duration(seconds)*time.Second)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 15 * time.Second}})
		after(time.Hour)
		require.LessOrEqual(t, r.Health().Lists, 1+60/3)
		require.GreaterOrEqual(t, r.Health().Lists, 18)
		require.Zero(t, r.Health().ConsecutiveFailures)
	})
}

func TestStreamThatDoesNotEndInTimeIsEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("20", false))
			for scripted.Linger(r, time.Minute) {
				scripted.Send(w, "BOOKMARK", scripted.Bookmark("20", false))
			}
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(5 * time.Minute)
		require.Len(t, s.Requests(), 2)
		after(5*time.Minute + 31*time.Second)
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle])
		require.Regexp(t, "^list@0 watch@10 watch@20", s.Verbs())
	})
}
