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

	"github.com/informerkit/informerkit/reflector"
)

// streams begins a watch with an event, and goes on as given.
func streams(then func(w httpWriter, r *httpRequest)) answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		send(w, "ADDED", cm("c", "11"))
		then(w, r)
	}
}

func inStream(code int, reason metav1.StatusReason, causes ...metav1.StatusCause) answer {
	return streams(func(w httpWriter, _ *httpRequest) {
		send(w, "ERROR", string(statusJSON(code, reason, string(reason), causes...)))
	})
}

// resumesAtOnce checks that a watch that has delivered an event goes on without
// a wait, and that the end is on record.
func resumesAtOnce(t *testing.T, first answer, class reflector.ErrorClass) {
	s := &scripted{list: lists("10", cm("a", "1")), watch: inTurn(first, func(w httpWriter, r *httpRequest, _ int) {
		send(w, "BOOKMARK", bookmark("60", false))
		hang(r)
	})}
	r := run(t, s.source(t), newRecorder(), listMode)
	after(time.Millisecond)
	require.Equal(t, "list@0 watch@10 watch@11", s.verbs())
	h := r.Health()
	require.Equal(t, reflector.StateWatching, h.State)
	require.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
	require.Equal(t, 1, h.ConsecutiveFailures, "it has failed, although there was no wait")
	require.Equal(t, 1, h.Reconnects[class])
	after(time.Minute)
	require.Zero(t, r.Health().ConsecutiveFailures)
	require.Len(t, s.asked(), 3)
}

func TestStreamClosedAfterEventsResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumesAtOnce(t, streams(func(httpWriter, *httpRequest) {}), reflector.ClassClosed)
	})
}

func TestStreamThatDeliversNothingBacksOffAndResumes(t *testing.T) {
	for name, end := range map[string]answer{
		"closed": func(w httpWriter, _ *httpRequest, _ int) { begin(w) },
		"cut":    func(w httpWriter, _ *httpRequest, _ int) { begin(w); cut() },
		"closed after an event of the version that it began at": func(w httpWriter, _ *httpRequest, _ int) {
			send(w, "ADDED", cm("c", "10"))
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
		s := &scripted{list: lists("10"), watch: inTurn(func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			linger(r, 10*time.Second)
			cut()
		}, quiet)}
		run(t, s.source(t), newRecorder(), listMode)
		after(10*time.Second + time.Millisecond)
		require.Equal(t, "list@0 watch@10 watch@10", s.verbs())
	})
}

func TestStreamClosedAfterAHealthyPeriodResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
			rv, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
			require.NoError(t, err)
			send(w, "BOOKMARK", bookmark(fmt.Sprint(rv+1), false))
			linger(r, 10*time.Second)
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(35 * time.Second)
		require.Equal(t, "list@0 watch@10 watch@11 watch@12 watch@13", s.verbs())
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
		relists(t, "11", watchFails(t, streams(func(w httpWriter, _ *httpRequest) { send(w, "ERROR", "{}") }), reflector.ClassServer))
	})
}

func TestStreamCutResumes(t *testing.T) {
	for name, part := range map[string]string{"between events": "", "inside an event": `{"type":"ADDED","object":{"metadata":{"na`} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				resumesAtOnce(t, streams(func(w httpWriter, _ *httpRequest) {
					fmt.Fprint(w, part)
					w.(http.Flusher).Flush()
					cut()
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
					hang(r)
				}), reflector.ClassDecode))
			})
		})
	}
}

func TestStreamWithAnUnknownEventTypeRelists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relists(t, "11", watchFails(t, streams(func(w httpWriter, r *httpRequest) {
			send(w, "RENAMED", cm("d", "12"))
			hang(r)
		}), reflector.ClassDecode))
	})
}

// Promise reflector/4
func TestSilentStreamIsTakenForHalfOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: inTurn(streams(func(_ httpWriter, r *httpRequest) { hang(r) }), quiet)}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(5*time.Minute - time.Second)
		require.Len(t, s.asked(), 2)
		after(3100 * time.Millisecond)
		require.Equal(t, "list@0 watch@10 watch@11 list@11", s.verbs())
		require.Equal(t, "1", s.asked()[3].query.Get("limit"))
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle])
		require.Zero(t, r.Health().ConsecutiveFailures)
	})
}

func TestSilenceFromARestoredServerLeadsToARelist(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The server had been at 1000 and was restored from a backup. Its
		// objects have the versions that they had, with other contents.
		future := fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
		s := &scripted{list: inTurn(lists("1000", cm("a", "7")), future, lists("50", cm("a", "7"))), watch: quiet}
		sink := newRecorder()
		r := run(t, s.source(t), knowing{sink}, listMode)
		after(time.Minute)
		held := sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}]
		after(5 * time.Minute)
		require.Equal(t, "list@0 watch@1000 watch@1000 list@1000 list@ watch@50", s.verbs())
		require.Equal(t, "1", s.asked()[3].query.Get("limit"))
		require.Equal(t, "50", r.LastResourceVersion())
		now := sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}]
		require.Equal(t, held.ResourceVersion, now.ResourceVersion)
		require.NotSame(t, held, now, "equal versions of different histories are not the same")
	})
}

func TestSilenceIsMeasuredAcrossWatches(t *testing.T) {
	future := fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
	for name, c := range map[string]struct {
		watch answer
		opts  reflector.Options
	}{
		"ended by the server": {watch: func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			linger(r, time.Minute)
		}, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 30 * time.Second}}},
		"ended by the client": {watch: quiet, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Idle: time.Minute}}},
		"with a bookmark that repeats the version": {watch: func(w httpWriter, r *httpRequest, _ int) {
			send(w, "BOOKMARK", bookmark(r.URL.Query().Get("resourceVersion"), false))
			linger(r, time.Minute)
		}, opts: reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 30 * time.Second}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: inTurn(lists("1000", cm("a", "7")), future, lists("50", cm("a", "7"))), watch: inTurn(c.watch, c.watch, c.watch, c.watch, quiet)}
				r := run(t, s.source(t), newRecorder(), c.opts)
				after(2*time.Minute + 50*time.Second)
				require.Equal(t, 1, r.Health().Lists, "two bookmarks may be late")
				after(90 * time.Second)
				require.Equal(t, "50", r.LastResourceVersion())
			})
		})
	}
}

func TestAQuietCollectionIsAskedForItsVersionOnceIn3m(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
			require.NoError(t, err)
			linger(r, time.Duration(seconds)*time.Second)
		}}
		r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 15 * time.Second}})
		after(time.Hour)
		require.LessOrEqual(t, r.Health().Lists, 1+60/3)
		require.GreaterOrEqual(t, r.Health().Lists, 18)
		require.Zero(t, r.Health().ConsecutiveFailures)
	})
}

func TestStreamThatDoesNotEndInTimeIsEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
			send(w, "BOOKMARK", bookmark("20", false))
			for linger(r, time.Minute) {
				send(w, "BOOKMARK", bookmark("20", false))
			}
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(5 * time.Minute)
		require.Len(t, s.asked(), 2)
		after(5*time.Minute + 31*time.Second)
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle])
		require.Regexp(t, "^list@0 watch@10 watch@20", s.verbs())
	})
}
