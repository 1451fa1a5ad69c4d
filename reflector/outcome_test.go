package reflector_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

func TestListThenWatchMirrorsTheCollection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{
			list: lists("10", cm("a", "1"), cm("b", "2")),
			watch: func(w httpWriter, r *httpRequest, _ int) {
				send(w, "ADDED", cm("c", "11"))
				send(w, "MODIFIED", cm("a", "12"))
				send(w, "DELETED", cm("b", "13"))
				send(w, "BOOKMARK", bookmark("20", false))
				hang(r)
			},
		}
		sink := newRecorder()
		r := run(t, s.source(t), sink, listMode)
		after(time.Second)
		require.Equal(t, []string{
			"replace [a@1 b@2] @10", "add c@11", "update a@12", "delete b@13", "bookmark @20",
		}, sink.calls())
		require.Equal(t, "20", r.LastResourceVersion())
		h := r.Health()
		require.Equal(t, reflector.StateWatching, h.State)
		require.True(t, h.Synced)
		require.NoError(t, h.LastError)
		require.Equal(t, "list@0 watch@10", s.verbs())
		r.cancel()
		require.NoError(t, <-r.done)
		require.Equal(t, reflector.StateStopped, r.Health().State)
	})
}

// failsAtFirst runs a reflector whose first list has the outcome given, and
// checks that it backs off, says why, and then syncs.
func failsAtFirst(t *testing.T, s *scripted, first answer, class reflector.ErrorClass) {
	s.list = inTurn(first, lists("10", cm("a", "1")))
	s.watch = quiet
	sink := newRecorder()
	r := run(t, s.source(t), sink, listMode)
	after(700 * time.Millisecond)
	h := r.Health()
	require.Equal(t, reflector.StateDegraded, h.State)
	require.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
	require.Equal(t, 1, h.ConsecutiveFailures)
	require.False(t, h.Synced)
	reason, since, degraded := h.Degraded()
	require.True(t, degraded)
	require.Equal(t, class, reason)
	require.False(t, since.IsZero())
	require.Empty(t, sink.calls())
	after(700 * time.Millisecond)
	require.Equal(t, "a@1", sink.holds())
	require.Equal(t, reflector.StateWatching, r.Health().State)
	after(15 * time.Second)
	require.Zero(t, r.Health().ConsecutiveFailures)
	_, _, degraded = r.Health().Degraded()
	require.False(t, degraded)
	require.Equal(t, class, r.Health().LastErrorClass, "the last error stays on record")
}

func TestListRefusedBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10", cm("a", "1")), watch: quiet}
		s.refuseDials(1)
		sink := newRecorder()
		r := run(t, s.source(t), sink, listMode)
		after(700 * time.Millisecond)
		h := r.Health()
		require.Equal(t, reflector.ClassRefused, h.LastErrorClass)
		require.EqualError(t, h.LastError, "cannot list configmaps at http://apiserver.test: dial: connection refused: is the API server running, and is this its address?")
		after(time.Second)
		require.Equal(t, "a@1", sink.holds())
	})
}

func TestListUnauthorizedBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted{}, fails(401, metav1.StatusReasonUnauthorized), reflector.ClassUnauthorized)
	})
}

func TestListForbiddenNamesTheMissingRole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: fails(403, metav1.StatusReasonForbidden)}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(time.Millisecond)
		h := r.Health()
		require.Equal(t, reflector.ClassForbidden, h.LastErrorClass)
		require.ErrorContains(t, h.LastError, "cannot list configmaps")
		require.ErrorContains(t, h.LastError, "add the verbs list and watch on configmaps to the ClusterRole of this user")
		require.True(t, apierrors.IsForbidden(h.LastError))
	})
}

func TestListNotFoundAsksForTheCRD(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: func(w httpWriter, _ *httpRequest, _ int) { http.Error(w, "404 page not found", 404) }}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(time.Millisecond)
		require.Equal(t, reflector.ClassNotFound, r.Health().LastErrorClass)
		require.ErrorContains(t, r.Health().LastError, "is the CustomResourceDefinition installed")
	})
}

func TestListRejectedBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted{}, fails(400, metav1.StatusReasonBadRequest), reflector.ClassRejected)
	})
}

func TestListServerErrorBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted{}, fails(500, metav1.StatusReasonInternalError), reflector.ClassServer)
	})
}

func TestListHTMLIsNotAnAPIServer(t *testing.T) {
	for _, code := range []int{200, 404, 502} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				html := func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					w.WriteHeader(code)
					fmt.Fprint(w, "<!doctype html><title>It works!</title>")
				}
				s := &scripted{}
				failsAtFirst(t, s, html, reflector.ClassNotAPI)
			})
		})
	}
}

func TestListHTMLAdvisesToCheckTheAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(time.Millisecond)
		require.EqualError(t, r.Health().LastError, "cannot list configmaps at http://apiserver.test: the server answered with HTML (HTTP status 200) instead of JSON: is this the address of an API server?")
	})
}

func TestListThatIsNoListIsADecodeError(t *testing.T) {
	for name, body := range map[string]string{
		"table":      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`,
		"object":     cm("a", "1"),
		"other kind": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`[:20] + `"ConfigMap","apiVersion":"v1"}`,
		"other API":  `{"kind":"PodList","apiVersion":"metrics.k8s.io/v1","items":[]}`,
		"not JSON":   `hello`,
		"empty":      ``,
		"empty JSON": `{}`,
		"late kind":  `{"items":[],"kind":"Table","apiVersion":"meta.k8s.io/v1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			class := reflector.ClassDecode
			if name == "empty" {
				class = reflector.ClassNetwork // cut short
			}
			bubble(t, func(t *testing.T) {
				failsAtFirst(t, &scripted{}, func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, body)
				}, class)
			})
		})
	}
}

func TestListCutShortIsNotTakenForWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted{}, func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s,`, cm("x", "1"))
			w.(http.Flusher).Flush()
			cut()
		}, reflector.ClassNetwork)
	})
}

func TestListThatEndsEarlyIsNotTakenForWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted{}, func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s]`, cm("x", "1"))
		}, reflector.ClassNetwork)
	})
}

func TestListThatStallsTimesOut(t *testing.T) {
	for name, stall := range map[string]answer{
		"before the answer": func(_ httpWriter, r *httpRequest, _ int) { hang(r) },
		"in the body": func(w httpWriter, r *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[%s,`, cm("x", "1"))
			w.(http.Flusher).Flush()
			hang(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: inTurn(stall, lists("10")), watch: quiet}
				r := run(t, s.source(t), newRecorder(), listMode)
				after(59 * time.Second)
				require.NoError(t, r.Health().LastError)
				after(time.Second)
				require.Equal(t, reflector.ClassTimeout, r.Health().LastErrorClass)
				after(2 * time.Second)
				require.True(t, r.Health().Synced)
			})
		})
	}
}

func TestListHonoursRetryAfter(t *testing.T) {
	for _, code := range []int{429, 503} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{watch: quiet, list: inTurn(func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Retry-After", "20")
					status(w, code, "", "slow down")
				}, lists("10"))}
				r := run(t, s.source(t), newRecorder(), listMode)
				after(19 * time.Second)
				require.Len(t, s.asked(), 1)
				require.Equal(t, reflector.StateDegraded, r.Health().State)
				after(4 * time.Second)
				require.True(t, r.Health().Synced)
			})
		})
	}
}

// expiredForms are the ways in which servers say that a resourceVersion is not
// to be had.
var expiredForms = map[string]answer{
	"410 Expired":   fails(410, metav1.StatusReasonExpired),
	"410 Gone":      fails(410, metav1.StatusReasonGone),
	"cause type":    fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "x"}),
	"cause message": fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Message: "Too large resource version"}),
	"message": func(w httpWriter, _ *httpRequest, _ int) {
		status(w, 504, metav1.StatusReasonTimeout, "Too large resource version: 100, current: 10")
	},
}

func TestListAtAnUnknownVersionAsksForTheNewestAtOnce(t *testing.T) {
	for name, expired := range expiredForms {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: inTurn(expired, lists("10", cm("a", "1"))), watch: quiet}
				sink := newRecorder()
				r := run(t, s.source(t), sink, listMode)
				after(0)
				require.Equal(t, "list@0 list@ watch@10", s.verbs())
				require.Equal(t, "500", s.asked()[1].query.Get("limit"), "a list from the quorum is paged")
				require.True(t, r.Health().Synced)
			})
		})
	}
}

func TestExpiredPageLeadsToAFullList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watch: quiet, list: inTurn(
			func(w httpWriter, _ *httpRequest, _ int) { writeList(w, "10", "token", cm("a", "1")) },
			fails(410, metav1.StatusReasonExpired),
			lists("12", cm("a", "1"), cm("b", "2")),
		)}
		sink := newRecorder()
		run(t, s.source(t), sink, listMode)
		after(0)
		require.Equal(t, []string{"replace [a@1 b@2] @12"}, sink.calls())
		asked := s.asked()
		require.Equal(t, "token", asked[1].query.Get("continue"))
		require.Empty(t, asked[1].rv(), "the token holds the version")
		require.Empty(t, asked[2].query.Get("continue"))
		require.Empty(t, asked[2].query.Get("limit"))
		require.Equal(t, "0", asked[2].rv())
	})
}

// watchFails runs a reflector whose first watch ends as given, and returns what
// was asked in the next minute.
func watchFails(t *testing.T, first answer, class reflector.ErrorClass) []request {
	s := &scripted{
		list: inTurn(lists("10", cm("a", "1")), lists("50", cm("b", "2"))),
		watch: inTurn(first, func(w httpWriter, r *httpRequest, _ int) {
			send(w, "BOOKMARK", bookmark("60", false))
			hang(r)
		}),
	}
	sink := newRecorder()
	r := run(t, s.source(t), sink, listMode)
	after(700 * time.Millisecond)
	h := r.Health()
	require.Equal(t, reflector.StateDegraded, h.State)
	require.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
	require.Equal(t, 1, h.Reconnects[class])
	require.Len(t, s.asked(), 2, "it backs off first")
	after(time.Minute)
	require.Equal(t, reflector.StateWatching, r.Health().State)
	require.Zero(t, r.Health().ConsecutiveFailures)
	return s.asked()
}

// resumes checks that the watch went on from where it was, without a list.
func resumes(t *testing.T, rv string, asked []request) {
	require.Len(t, asked, 3)
	require.Equal(t, "watch", asked[2].verb)
	require.Equal(t, rv, asked[2].rv())
}

// relists checks that the collection was listed anew, from rv.
func relists(t *testing.T, rv string, asked []request) {
	require.Len(t, asked, 4)
	require.Equal(t, "list", asked[2].verb)
	require.Equal(t, rv, asked[2].rv())
	require.Empty(t, asked[2].query.Get("limit"), "from the watch cache, in one piece")
	require.Equal(t, "watch", asked[3].verb)
	require.Equal(t, "50", asked[3].rv())
}

func TestWatchRefusedResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: inTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Connection", "close")
			writeList(w, "10", "")
		}), watch: quiet}
		cfg := s.source(t)
		sink := newRecorder()
		r := run(t, cfg, &refuser{recorder: sink, s: s}, listMode)
		after(700 * time.Millisecond)
		require.Equal(t, reflector.ClassRefused, r.Health().LastErrorClass)
		after(3 * time.Minute)
		require.Len(t, s.asked(), 2)
		for _, q := range s.asked()[1:] {
			require.Equal(t, "watch", q.verb, "no relist, however long it takes")
			require.Equal(t, "10", q.rv())
		}
		require.Equal(t, 7, r.Health().Reconnects[reflector.ClassRefused])
	})
}

// refuser lets the server refuse the next dials once the sink has the list.
type refuser struct {
	*recorder
	s *scripted
}

func (r *refuser) Replace(ctx context.Context, objs []*corev1.ConfigMap, rv string) error {
	r.s.refuseDials(7)
	return r.recorder.Replace(ctx, objs, rv)
}

func TestWatchThrottledResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "10", watchFails(t, fails(429, metav1.StatusReasonTooManyRequests), reflector.ClassThrottled))
	})
}

func TestWatchServerErrorResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "10", watchFails(t, fails(503, metav1.StatusReasonServiceUnavailable), reflector.ClassServer))
	})
}

func TestWatchConnectionCutResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "10", watchFails(t, func(w httpWriter, _ *httpRequest, _ int) {
			conn, _, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			_, _ = conn.Write([]byte("HTTP/1.1 2"))
			_ = conn.Close()
		}, reflector.ClassNetwork))
	})
}

func TestWatchThatNeverGetsFurtherRelistsAfterThree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: fails(500, metav1.StatusReasonInternalError)}
		run(t, s.source(t), newRecorder(), listMode)
		after(2 * time.Minute)
		require.Regexp(t, `^list@0 watch@10 watch@10 watch@10 watch@10 list@10 watch@10 watch@10`, s.verbs())
	})
}

func TestWatchDeniedRelists(t *testing.T) {
	for code, class := range map[int]reflector.ErrorClass{
		400: reflector.ClassRejected, 401: reflector.ClassUnauthorized, 403: reflector.ClassForbidden,
		404: reflector.ClassNotFound, 410: reflector.ClassExpired,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) { relists(t, "10", watchFails(t, fails(code, ""), class)) })
		})
	}
}

func TestWatchAnsweredWithHTMLRelists(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relists(t, "10", watchFails(t, func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, reflector.ClassNotAPI))
	})
}

func TestWatchWithoutAnswerResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: inTurn(func(_ httpWriter, r *httpRequest, _ int) { hang(r) }, quiet)}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(61 * time.Second)
		require.Equal(t, reflector.ClassTimeout, r.Health().LastErrorClass)
		after(time.Second)
		require.Equal(t, "list@0 watch@10 watch@10", s.verbs())
	})
}

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

func TestStreamClosedEarlyBacksOffAndResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "11", watchFails(t, streams(func(httpWriter, *httpRequest) {}), reflector.ClassClosed))
	})
}

func TestStreamClosedAfterAHealthyPeriodResumesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			linger(r, 10*time.Second)
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(35 * time.Second)
		require.Equal(t, "list@0 watch@10 watch@10 watch@10 watch@10", s.verbs())
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
				resumes(t, "11", watchFails(t, streams(func(w httpWriter, _ *httpRequest) {
					fmt.Fprint(w, part)
					w.(http.Flusher).Flush()
					cut()
				}), reflector.ClassNetwork))
			})
		})
	}
}

func TestStreamTruncatedResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "11", watchFails(t, streams(func(w httpWriter, _ *httpRequest) {
			fmt.Fprint(w, `{"type":"ADDED","object":{"metadata":{"na`)
		}), reflector.ClassNetwork))
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

func TestSilentStreamIsTakenForHalfOpen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: inTurn(streams(func(_ httpWriter, r *httpRequest) { hang(r) }), quiet)}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(5*time.Minute - time.Second)
		require.Len(t, s.asked(), 2)
		after(2 * time.Second)
		require.Equal(t, "list@0 watch@10 list@11 watch@11", s.verbs())
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
		require.Equal(t, "list@0 watch@1000 list@1000 list@ watch@50", s.verbs())
		require.Equal(t, "1", s.asked()[2].query.Get("limit"))
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
		}, opts: reflector.Options{Sync: reflector.SyncList, WatchTimeout: 30 * time.Second}},
		"cut by a proxy": {watch: func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			linger(r, time.Minute)
			cut()
		}, opts: listMode},
		"ended by the client": {watch: quiet, opts: reflector.Options{Sync: reflector.SyncList, IdleTimeout: time.Minute}},
		"with a bookmark that repeats the version": {watch: func(w httpWriter, r *httpRequest, _ int) {
			send(w, "BOOKMARK", bookmark(r.URL.Query().Get("resourceVersion"), false))
			linger(r, time.Minute)
		}, opts: listMode},
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
			linger(r, 11*time.Second)
		}}
		r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, WatchTimeout: 10 * time.Second})
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
		require.Equal(t, "list@0 watch@10 list@20 watch@20", s.verbs())
	})
}
