package reflector_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

func TestListThenWatchMirrorsTheCollection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: scripted.Lists("10", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")),
			Watch: func(w httpWriter, r *httpRequest, _ int) {
				scripted.Send(w, "ADDED", scripted.ConfigMap("c", "11"))
				scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "12"))
				scripted.Send(w, "DELETED", scripted.ConfigMap("b", "13"))
				scripted.Send(w, "BOOKMARK", scripted.Bookmark("20", false))
				scripted.Hang(r)
			},
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(time.Second)
		require.Equal(t, []string{
			"replace [a@1 b@2] @10", "add c@11", "update a@12", "delete b@13", "bookmark @20",
		}, sink.calls())
		require.Equal(t, "20", r.Health().ResourceVersion)
		h := r.Health()
		require.Equal(t, reflector.StateWatching, h.State)
		require.True(t, h.Synced)
		require.NoError(t, h.LastError)
		require.Equal(t, "list@0 watch@10", s.Verbs())
		r.cancel()
		require.NoError(t, <-r.done)
		require.Equal(t, reflector.StateStopped, r.Health().State)
	})
}

// failsAtFirst runs a reflector whose first list has the outcome given, and
// checks that it backs off, says why, and then syncs.
func failsAtFirst(t *testing.T, s *scripted.Server, first scripted.Answer, class reflector.ErrorClass) {
	s.List = scripted.InTurn(first, scripted.Lists("10", scripted.ConfigMap("a", "1")))
	s.Watch = scripted.Quiet
	sink := newRecorder()
	r := run(t, sourceOf(t, s), sink, listMode)
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
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: scripted.Quiet, Refuse: 1}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(700 * time.Millisecond)
		h := r.Health()
		require.Equal(t, reflector.ClassRefused, h.LastErrorClass)
		require.EqualError(t, h.LastError, "cannot list configmaps at http://apiserver.test: dial memory apiserver.test: connect: connection refused: is the API server running, and is this its address?")
		after(time.Second)
		require.Equal(t, "a@1", sink.holds())
	})
}

func TestListUnauthorizedBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted.Server{}, scripted.Fails(401, metav1.StatusReasonUnauthorized), reflector.ClassUnauthorized)
	})
}

func TestListForbiddenNamesTheMissingRole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Fails(403, metav1.StatusReasonForbidden)}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(time.Millisecond)
		h := r.Health()
		require.Equal(t, reflector.ClassForbidden, h.LastErrorClass)
		require.ErrorContains(t, h.LastError, "cannot list configmaps")
		require.ErrorContains(t, h.LastError, "add the verbs list and watch on configmaps to the ClusterRole of this user")
		require.True(t, apierrors.IsForbidden(h.LastError))
	})
}

// No definition can be missing of what is built into every API server.
func TestListNotFoundAsksForTheCRDWhereThereMayBeOne(t *testing.T) {
	for group, suspected := range map[string]bool{"example.com": true, "gateway.networking.k8s.io": true, "snapshot.storage.k8s.io": true, "": false, "apps": false,
		"rbac.authorization.k8s.io": false, "networking.k8s.io": false, "flowcontrol.apiserver.k8s.io": false} {
		t.Run(group, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) { http.Error(w, "404 page not found", 404) }}
				things := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
				lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), things, reflector.ResourceOptions{})
				require.NoError(t, err)
				r := run(t, lw, newRecorder(), listMode)
				after(time.Millisecond)
				require.Equal(t, reflector.ClassNotFound, r.Health().LastErrorClass)
				require.ErrorContains(t, r.Health().LastError, `"404 page not found"`)
				require.Equal(t, suspected, strings.Contains(r.Health().LastError.Error(), "is the CustomResourceDefinition installed"), "%v", r.Health().LastError)
			})
		})
	}
}

func TestListRejectedBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted.Server{}, scripted.Fails(400, metav1.StatusReasonBadRequest), reflector.ClassRejected)
	})
}

func TestListServerErrorBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted.Server{}, scripted.Fails(500, metav1.StatusReasonInternalError), reflector.ClassServer)
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
				s := &scripted.Server{}
				failsAtFirst(t, s, html, reflector.ClassNotAPI)
			})
		})
	}
}

func TestListHTMLAdvisesToCheckTheAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(time.Millisecond)
		require.EqualError(t, r.Health().LastError, "cannot list configmaps at http://apiserver.test: the server answered with HTML (HTTP status 200) instead of JSON: is this the address of an API server?")
	})
}

func TestListThatIsNoListIsADecodeError(t *testing.T) {
	for name, body := range map[string]string{
		"table":      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`,
		"object":     scripted.ConfigMap("a", "1"),
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
				failsAtFirst(t, &scripted.Server{}, func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, body)
				}, class)
			})
		})
	}
}

func TestListCutShortIsNotTakenForWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted.Server{}, func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s,`, scripted.ConfigMap("x", "1"))
			w.(http.Flusher).Flush()
			scripted.Cut()
		}, reflector.ClassNetwork)
	})
}

func TestListThatEndsEarlyIsNotTakenForWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failsAtFirst(t, &scripted.Server{}, func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s]`, scripted.ConfigMap("x", "1"))
		}, reflector.ClassNetwork)
	})
}

// Promise reflector/4
func TestListThatStallsTimesOut(t *testing.T) {
	for name, stall := range map[string]scripted.Answer{
		"before the answer": func(_ httpWriter, r *httpRequest, _ int) { scripted.Hang(r) },
		"in the body": func(w httpWriter, r *httpRequest, _ int) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[%s,`, scripted.ConfigMap("x", "1"))
			w.(http.Flusher).Flush()
			scripted.Hang(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.InTurn(stall, scripted.Lists("10")), Watch: scripted.Quiet}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
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
				s := &scripted.Server{Watch: scripted.Quiet, List: scripted.InTurn(func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Retry-After", "20")
					scripted.WriteStatus(w, code, "", "slow down")
				}, scripted.Lists("10"))}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
				after(19 * time.Second)
				require.Len(t, s.Requests(), 1)
				require.Equal(t, reflector.StateDegraded, r.Health().State)
				after(4 * time.Second)
				require.True(t, r.Health().Synced)
			})
		})
	}
}

// expiredForms are the ways in which servers say that a resourceVersion is not
// to be had.
var expiredForms = map[string]scripted.Answer{
	"410 Expired":   scripted.Fails(410, metav1.StatusReasonExpired),
	"410 Gone":      scripted.Fails(410, metav1.StatusReasonGone),
	"cause type":    scripted.Fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "x"}),
	"cause message": scripted.Fails(504, metav1.StatusReasonTimeout, metav1.StatusCause{Message: "Too large resource version"}),
	"message": func(w httpWriter, _ *httpRequest, _ int) {
		scripted.WriteStatus(w, 504, metav1.StatusReasonTimeout, "Too large resource version: 100, current: 10")
	},
}

func TestListAtAnUnknownVersionAsksForTheNewestAtOnce(t *testing.T) {
	for name, expired := range expiredForms {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.InTurn(expired, scripted.Lists("10", scripted.ConfigMap("a", "1"))), Watch: scripted.Quiet}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, listMode)
				after(0)
				require.Equal(t, "list@0 list@ watch@10", s.Verbs())
				require.Equal(t, "500", s.Requests()[1].Query.Get("limit"), "a list without a version is paged")
				require.True(t, r.Health().Synced)
			})
		})
	}
}

func TestListAtARejectedVersionAsksForTheNewestAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Damaged on the way, and no version to the server.
		damaged := func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("1 1", false))
			scripted.Linger(r, time.Minute)
		}
		reject := scripted.Fails(400, metav1.StatusReasonBadRequest)
		s := &scripted.Server{
			List:  scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1")), reject, scripted.Lists("12", scripted.ConfigMap("a", "2"))),
			Watch: scripted.InTurn(damaged, reject, scripted.Quiet),
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(2 * time.Minute)
		require.Equal(t, "list@0 watch@10 watch@1 1 list@1 1 list@ watch@12", s.Verbs())
		require.True(t, r.Health().Synced)
		require.Equal(t, "a@2", sink.holds())
	})
}

func TestExpiredPageLeadsToAFullList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{Watch: scripted.Quiet, List: scripted.InTurn(
			func(w httpWriter, _ *httpRequest, _ int) {
				scripted.WriteList(w, "10", "token", scripted.ConfigMap("a", "1"))
			},
			scripted.Fails(410, metav1.StatusReasonExpired),
			scripted.Lists("12", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")),
		)}
		sink := newRecorder()
		run(t, sourceOf(t, s), sink, listMode)
		after(0)
		require.Equal(t, []string{"replace [a@1 b@2] @12"}, sink.calls())
		asked := s.Requests()
		require.Equal(t, "token", asked[1].Query.Get("continue"))
		require.Empty(t, asked[1].ResourceVersion(), "the token holds the version")
		require.Empty(t, asked[2].Query.Get("continue"))
		require.Empty(t, asked[2].Query.Get("limit"))
		require.Equal(t, "0", asked[2].ResourceVersion())
	})
}
