package reflector_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// refusals are how servers respond to a watch of what can only be listed.
var refusals = map[string]scripted.Answer{
	"405": scripted.Fails(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed),
	"404": scripted.Fails(http.StatusNotFound, metav1.StatusReasonNotFound),
}

// listOnly is a server of one object, whose state changes after five minutes, and which can be watched after two hours.
func listOnly(refuse scripted.Answer, version string) *scripted.Server {
	begun := time.Now()
	object := func() string {
		if time.Since(begun) < 5*time.Minute {
			return scripted.ConfigMap("a", version)
		}
		if version == "" {
			return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"changed":"yes"}}`
		}
		return scripted.ConfigMap("a", version+"0")
	}
	return &scripted.Server{
		List: func(w httpWriter, r *httpRequest, n int) { scripted.Lists(version, object())(w, r, n) },
		Watch: func(w httpWriter, r *httpRequest, n int) {
			if time.Since(begun) < 2*time.Hour {
				refuse(w, r, n)
				return
			}
			scripted.Begin(w)
			scripted.Hang(r)
		},
	}
}

func TestAnAPIThatCannotBeWatchedIsPolled(t *testing.T) {
	for code, refuse := range refusals {
		for _, version := range []string{"7", ""} {
			for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
				t.Run(fmt.Sprintf("%s at version %q, %s", code, version, mode), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						s := listOnly(refuse, version)
						sink := knowing{newRecorder()}
						r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: mode})
						polls := func() {
							t.Helper()
							h := r.Health()
							assert.Equal(t, reflector.StatePolling, h.State)
							assert.True(t, h.Synced)
							_, _, degraded := h.Degraded()
							assert.False(t, degraded)
							assert.Zero(t, h.ConsecutiveFailures)
							assert.LessOrEqual(t, time.Until(h.NextAttempt), 35*time.Second)
							assert.Error(t, h.LastError, "why it is not watched")
						}
						after(time.Minute)
						polls()
						key := keyOf(&configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})
						first := sink.objects()[key]
						require.NotNil(t, first)
						after(3 * time.Minute)
						polls()
						require.Same(t, first, sink.objects()[key], "nothing has changed")
						after(2 * time.Minute)
						require.NotSame(t, first, sink.objects()[key])
						before := r.Health()
						after(time.Hour)
						polls()
						h := r.Health()
						assert.InDelta(t, 120, h.Lists-before.Lists, 10)
						assert.InDelta(t, 6, h.Watches-before.Watches, 2)
						assert.Equal(t, before.WatchLists, h.WatchLists)
						after(time.Hour + 5*time.Minute)
						assert.Equal(t, reflector.StateWatching, r.Health().State, "the server was upgraded")
					})
				})
			}
		}
	}
}

// A 404 after a watch that was accepted is a failure, even if the list succeeds.
func TestWhatWasWatchedIsNotPolled(t *testing.T) {
	for code, refuse := range refusals {
		t.Run(code, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				begun := time.Now()
				s := &scripted.Server{List: scripted.Lists("7", scripted.ConfigMap("a", "7")), Watch: func(w httpWriter, r *httpRequest, n int) {
					if time.Since(begun) > time.Minute {
						refuse(w, r, n)
						return
					}
					scripted.Begin(w)
					scripted.Linger(r, time.Minute)
				}}
				var mu sync.Mutex
				states := map[reflector.State]bool{}
				opts := listMode
				opts.OnStateChange = func(h reflector.Health) { mu.Lock(); defer mu.Unlock(); states[h.State] = true }
				r := run(t, sourceOf(t, s), newRecorder(), opts)
				after(time.Hour)
				_, _, degraded := r.Health().Degraded()
				assert.True(t, degraded)
				mu.Lock()
				defer mu.Unlock()
				assert.False(t, states[reflector.StatePolling])
			})
		})
	}
}

// One 404 may come from a replica that does not know the resource yet, and the kind may be gone in between.
func TestOne404OfAWatchIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, none := scripted.Lists("7", scripted.ConfigMap("a", "7")), refusals["404"]
		s := &scripted.Server{List: scripted.InTurn(list, none, list, list), Watch: scripted.InTurn(none, none, scripted.Quiet)}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(time.Minute)
		assert.Equal(t, reflector.StateWatching, r.Health().State)
		assert.Equal(t, 4, r.Health().Lists)
	})
}

func TestRelistEndsTheWaitForAPoll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := listOnly(refusals["405"], "7")
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(time.Second)
		require.Equal(t, reflector.StatePolling, r.Health().State)
		before := r.Health().Lists
		require.True(t, r.Relist("a test"))
		after(time.Second)
		require.Equal(t, before+1, r.Health().Lists)
		requests := s.Requests()
		require.Empty(t, requests[len(requests)-1].ResourceVersion(), "from the storage of the server")
		require.Equal(t, reflector.StatePolling, r.Health().State)
		r.cancel()
		require.NoError(t, <-r.done)
		require.False(t, r.Relist("it has stopped"))
	})
}

func TestRelistReadsTheCollectionOfAWatchAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("7", scripted.ConfigMap("a", "7")), Watch: scripted.Quiet}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		require.False(t, r.Relist("too early"), "the collection is being read")
		after(time.Minute)
		require.Equal(t, 1, r.Health().Lists)
		require.True(t, r.Relist("a test"))
		after(time.Second)
		h := r.Health()
		require.Equal(t, 2, h.Lists)
		require.Equal(t, reflector.StateWatching, h.State)
		require.ErrorContains(t, h.LastError, "a test")
		_, _, degraded := h.Degraded()
		require.False(t, degraded, "it is asked for")
	})
}
