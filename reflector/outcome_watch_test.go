package reflector_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// watchFails runs a reflector whose first watch ends as given, and returns what
// was asked in the next minute.
func watchFails(t *testing.T, first scripted.Answer, class reflector.ErrorClass) []scripted.Request {
	s := &scripted.Server{
		List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1")), scripted.Lists("50", scripted.ConfigMap("b", "2"))),
		Watch: scripted.InTurn(first, func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("60", false))
			scripted.Hang(r)
		}),
	}
	sink := newRecorder()
	r := run(t, sourceOf(t, s), sink, listMode)
	after(700 * time.Millisecond)
	h := r.Health()
	require.Equal(t, reflector.StateDegraded, h.State)
	require.Equal(t, class, h.LastErrorClass, "%v", h.LastError)
	require.Equal(t, 1, h.Reconnects[class])
	require.Len(t, s.Requests(), 2, "it backs off first")
	after(time.Minute)
	require.Equal(t, reflector.StateWatching, r.Health().State)
	require.Zero(t, r.Health().ConsecutiveFailures)
	return s.Requests()
}

// resumes checks that the watch went on from where it was, without a list.
func resumes(t *testing.T, rv string, asked []scripted.Request) {
	require.Len(t, asked, 3)
	require.Equal(t, "watch", asked[2].Verb)
	require.Equal(t, rv, asked[2].ResourceVersion())
}

// relists checks that the collection was listed again, from rv.
func relists(t *testing.T, rv string, asked []scripted.Request) {
	require.Len(t, asked, 4)
	require.Equal(t, "list", asked[2].Verb)
	require.Equal(t, rv, asked[2].ResourceVersion())
	require.Empty(t, asked[2].Query.Get("limit"), "from the watch cache, in one piece")
	require.Equal(t, "watch", asked[3].Verb)
	require.Equal(t, "50", asked[3].ResourceVersion())
}

func TestWatchRefusedResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Connection", "close")
			scripted.WriteList(w, "10", "")
		}), Watch: scripted.Quiet}
		cfg := sourceOf(t, s)
		sink := newRecorder()
		r := run(t, cfg, &refuser{recorder: sink, s: s}, listMode)
		after(700 * time.Millisecond)
		require.Equal(t, reflector.ClassRefused, r.Health().LastErrorClass)
		after(3 * time.Minute)
		require.Equal(t, "list@0 watch@10 list@10", s.Verbs(), "no relist, however long it takes")
		require.Equal(t, "1", s.Requests()[2].Query.Get("limit"), "the server may have been restored meanwhile")
		require.Equal(t, 7, r.Health().Reconnects[reflector.ClassRefused])
	})
}

// refuser lets the server refuse the next dials once the sink has the list.
type refuser struct {
	*recorder
	s *scripted.Server
}

func (r *refuser) Replace(ctx context.Context, objs []*corev1.ConfigMap, rv string) error {
	r.s.RefuseDials(7)
	return r.recorder.Replace(ctx, objs, rv)
}

func TestWatchThrottledResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "10", watchFails(t, scripted.Fails(429, metav1.StatusReasonTooManyRequests), reflector.ClassThrottled))
	})
}

func TestWatchServerErrorResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		resumes(t, "10", watchFails(t, scripted.Fails(503, metav1.StatusReasonServiceUnavailable), reflector.ClassServer))
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
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.Fails(500, metav1.StatusReasonInternalError)}
		run(t, sourceOf(t, s), newRecorder(), listMode)
		after(2 * time.Minute)
		require.Regexp(t, `^list@0 watch@10 watch@10 watch@10 watch@10 list@10 watch@10 watch@10`, s.Verbs())
	})
}

func TestWatchDeniedRelists(t *testing.T) {
	for code, class := range map[int]reflector.ErrorClass{
		400: reflector.ClassRejected, 401: reflector.ClassUnauthorized, 403: reflector.ClassForbidden,
		404: reflector.ClassNotFound, 410: reflector.ClassExpired,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) { relists(t, "10", watchFails(t, scripted.Fails(code, ""), class)) })
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
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(func(_ httpWriter, r *httpRequest, _ int) { scripted.Hang(r) }, scripted.Quiet)}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		// An answer is awaited for a minute and the first backoff lasts 0.8 to 1.2 s;
		// one to two seconds after that the reflector asks whether its version is known.
		after(time.Minute + 1700*time.Millisecond)
		require.Equal(t, reflector.ClassTimeout, r.Health().LastErrorClass)
		require.Equal(t, "list@0 watch@10 watch@10", s.Verbs())
	})
}

func TestAVersionThatIsListedAndRefusedIsNotAskedForAgainForever(t *testing.T) {
	for name, refuse := range map[string]scripted.Answer{
		"in the answer": scripted.Fails(410, metav1.StatusReasonExpired),
		"in the stream": func(w httpWriter, _ *httpRequest, _ int) {
			scripted.Send(w, "ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{
					List: func(w httpWriter, r *httpRequest, n int) {
						if r.URL.Query().Get("resourceVersion") == "" {
							scripted.Lists("90")(w, r, n)
						} else {
							scripted.Lists("10")(w, r, n) // of a cache that does not move
						}
					},
					Watch: func(w httpWriter, r *httpRequest, n int) {
						if r.URL.Query().Get("resourceVersion") == "10" {
							refuse(w, r, n)
						} else {
							scripted.Quiet(w, r, n)
						}
					},
				}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
				after(4 * time.Minute)
				require.Equal(t, "list@0 watch@10 list@10 watch@10 list@10 watch@10 list@ watch@90", s.Verbs())
				require.Equal(t, reflector.StateWatching, r.Health().State)
			})
		})
	}
}
