package reflector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// initial answers a WatchList with the objects, and goes on as given.
func initial(then func(w httpWriter, r *httpRequest), objects ...string) scripted.Answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		scripted.Begin(w)
		for _, o := range objects {
			scripted.Send(w, "ADDED", o)
		}
		then(w, r)
	}
}

func waits(_ httpWriter, r *httpRequest) { scripted.Hang(r) }

func TestWatchListSyncsAndGoesOnInOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "3"))
			scripted.Send(w, "DELETED", scripted.ConfigMap("b", "4"))
			scripted.Send(w, "DELETED", scripted.ConfigMap("never seen", "4"))
			scripted.Send(w, "ADDED", scripted.ConfigMap("d", "5"))
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("c", "7"))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2"), scripted.ConfigMap("c", "2"))}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{})
		after(time.Second)
		require.Equal(t, []string{"replace [a@3 c@2 d@5] @6", "update c@7"}, sink.calls())
		require.Equal(t, "7", r.Health().ResourceVersion)
		asked := s.Requests()
		require.Len(t, asked, 1)
		q := asked[0].Query
		require.Equal(t, "NotOlderThan", q.Get("resourceVersionMatch"))
		require.Equal(t, "true", q.Get("allowWatchBookmarks"))
		require.Empty(t, q.Get("resourceVersion"))
		require.NotEmpty(t, q.Get("timeoutSeconds"))
		h := r.Health()
		require.Equal(t, 1, h.WatchLists)
		require.Zero(t, h.Lists+h.Watches)
		require.Equal(t, reflector.StateWatching, h.State)
	})
}

func TestWatchListDoesNotSyncBeforeTheBookmark(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("5", false)) // some bookmark
			scripted.Send(w, "BOOKMARK", strings.Replace(scripted.Bookmark("5", true), `"true"`, `"false"`, 1))
			scripted.Linger(r, 5*time.Second)
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1"))}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{})
		after(4 * time.Second)
		require.Empty(t, sink.calls())
		require.Equal(t, reflector.StateStreaming, r.Health().State)
		require.Empty(t, r.Health().ResourceVersion)
		after(2 * time.Second)
		require.Equal(t, []string{"replace [a@1] @6"}, sink.calls())
	})
}

// fallsBack runs a reflector against a server whose WatchList has the outcome
// given, and checks that it syncs with LIST at the latest after d, and whether
// it tries WatchList again when it has to read the collection again.
func fallsBack(t *testing.T, watchList scripted.Answer, d time.Duration, class reflector.ErrorClass, remembered bool) *running {
	gone := func(w httpWriter, r *httpRequest, _ int) {
		scripted.Begin(w)
		scripted.Linger(r, time.Minute)
		scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), WatchList: watchList, Watch: gone}
	sink := newRecorder()
	r := run(t, sourceOf(t, s), sink, reflector.Options{})
	after(d)
	require.Equal(t, []string{"replace [a@1] @10"}, sink.calls())
	h := r.Health()
	require.Equal(t, class, h.LastErrorClass)
	require.Equal(t, remembered, !h.WatchListRefusedUntil.IsZero())
	before := h.WatchLists
	after(10 * time.Minute)
	require.Greater(t, r.Health().Lists, 3)
	if remembered {
		require.Equal(t, before, r.Health().WatchLists, "WatchList is not tried again")
		after(25 * time.Minute)
	}
	require.Greater(t, r.Health().WatchLists, before, "WatchList is tried again")
	return r
}

func TestWatchListRefusedFallsBackAtOnce(t *testing.T) {
	for _, code := range []int{400, 405, 406, 422} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) { fallsBack(t, scripted.Fails(code, ""), 0, reflector.ClassRejected, true) })
		})
	}
}

func TestWatchListAcceptedThenErrorFallsBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, _ *httpRequest) {
			scripted.Send(w, "ERROR", string(scripted.StatusJSON(500, metav1.StatusReasonInternalError, "etcd does not support progress notification")))
		}, scripted.ConfigMap("x", "1")), 0, reflector.ClassServer, true)
	})
}

func TestWatchListForbiddenFallsBackAtOnceAndIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, scripted.Fails(403, metav1.StatusReasonForbidden), 0, reflector.ClassForbidden, false)
	})
}

// Promise reflector/4
func TestWatchListWithoutProgressFallsBackIn10s(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(waits, scripted.ConfigMap("x", "1")), 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListWithoutAnswerFallsBackIn10s(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, func(_ httpWriter, r *httpRequest, _ int) { scripted.Hang(r) }, 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListWithoutBookmarkFallsBackIn20sOnABusyServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, r *httpRequest) {
			for i := 0; scripted.Linger(r, 500*time.Millisecond); i++ {
				scripted.Send(w, "ADDED", scripted.ConfigMap(fmt.Sprint("n", i), fmt.Sprint(i+10)))
				scripted.Send(w, "MODIFIED", scripted.ConfigMap("x", fmt.Sprint(i+10)))
				scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(i+10), false))
			}
		}, scripted.ConfigMap("x", "1")), 21*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListUpdatesAloneAreNoProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, r *httpRequest) {
			for i := 0; scripted.Linger(r, 500*time.Millisecond); i++ {
				scripted.Send(w, "MODIFIED", scripted.ConfigMap("x", fmt.Sprint(i+10)))
			}
		}, scripted.ConfigMap("x", "1")), 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListOfALargeCollectionGetsItsTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			for i := 0; i < 45 && scripted.Linger(r, time.Second); i++ {
				for j := range 150 {
					fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, scripted.ConfigMap(fmt.Sprintf("n%d-%d", i, j), "1"))
				}
				w.(flusher).Flush()
			}
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
			scripted.Hang(r)
		})}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{})
		after(50 * time.Second)
		require.True(t, r.Health().Synced)
		require.Len(t, sink.objects(), 45*150)
		require.Zero(t, r.Health().Lists)
	})
}

func TestWatchListCutShortStartsAfreshAndFallsBackAtTheThirdTime(t *testing.T) {
	for name, then := range map[string]func(w httpWriter, r *httpRequest){
		"closed": func(httpWriter, *httpRequest) {},
		"cut":    func(httpWriter, *httpRequest) { scripted.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), WatchList: initial(then, scripted.ConfigMap("gone", "1")), Watch: scripted.Quiet}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, reflector.Options{})
				after(10 * time.Second)
				require.Equal(t, []string{"replace [a@1] @10"}, sink.calls())
				require.Equal(t, "watchlist@ watchlist@ watchlist@ list@0 watch@10", s.Verbs())
				require.True(t, r.Health().WatchListRefusedUntil.IsZero())
			})
		})
	}
}

func TestWatchListThrottledOrRefusedRetriesWithoutAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: scripted.InTurn(
			scripted.Fails(429, metav1.StatusReasonTooManyRequests),
			initial(func(w httpWriter, _ *httpRequest) {
				scripted.Send(w, "ERROR", string(scripted.StatusJSON(429, "", "busy")))
			}),
			initial(func(w httpWriter, r *httpRequest) {
				scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
				scripted.Hang(r)
			}),
		)}
		s.Refuse = 1 // the first dial
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{})
		after(10 * time.Second)
		require.True(t, r.Health().Synced)
		require.Equal(t, "watchlist@ watchlist@ watchlist@", s.Verbs())
	})
}

func TestWatchListAtAnUnknownVersionAsksForTheNewestAtOnce(t *testing.T) {
	for name, expired := range expiredForms {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				good := initial(func(w httpWriter, r *httpRequest) {
					scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
					scripted.Linger(r, 15*time.Second)
					scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
				}, scripted.ConfigMap("a", "1"))
				s := &scripted.Server{WatchList: scripted.InTurn(good, expired, good)}
				sink := newRecorder()
				run(t, sourceOf(t, s), sink, reflector.Options{})
				after(20 * time.Second)
				require.Equal(t, "watchlist@ watchlist@6 watchlist@", s.Verbs())
				require.Equal(t, []string{"replace [a@1] @6", "replace [a@1] @6"}, sink.calls())
			})
		})
	}
}

func TestWatchListRelistsFromTheLastVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			WatchList: func(w httpWriter, r *httpRequest, n int) {
				scripted.Begin(w)
				for i := range n {
					scripted.Send(w, "ADDED", scripted.ConfigMap(fmt.Sprint("o", i), "1"))
				}
				scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(n*10), true))
				scripted.Linger(r, time.Minute) // and an orderly end
			},
			Watch: scripted.Fails(410, metav1.StatusReasonExpired),
		}
		sink := newRecorder()
		run(t, sourceOf(t, s), sink, reflector.Options{})
		after(62 * time.Second)
		require.Equal(t, "watchlist@ watch@10 watchlist@10", s.Verbs())
		require.Equal(t, "o0@1 o1@1", sink.holds())
	})
}

func TestWatchListIsNotAskedOfFunctionsUnlessAnOptionSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.Quiet, WatchList: scripted.Fails(422, "")}
		inner := sourceOf(t, s)
		run(t, plain{inner}, newRecorder(), reflector.Options{})
		after(0)
		require.Equal(t, "list@0 watch@10", s.Verbs())
		run(t, plain{inner}, newRecorder(), reflector.Options{Sync: reflector.SyncWatchList})
		after(0)
		require.Equal(t, "list@0 watch@10 watchlist@ list@0 watch@10", s.Verbs())
	})
}

// plain hides everything but the two methods of a source.
type plain struct {
	reflector.ListerWatcher[*configMap]
}

func TestAnObjectAddedAfterTheInitialEventsMovesThePosition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
			scripted.Send(w, "ADDED", scripted.ConfigMap("b", "7"))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1"))}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{})
		after(time.Second)
		require.Equal(t, "7", r.Health().ResourceVersion)
	})
}

func TestAServerErrorInsteadOfAWatchListIsNoRefusalOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: scripted.InTurn(scripted.Fails(500, metav1.StatusReasonInternalError), initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("6", true))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1")))}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{})
		after(3 * time.Second)
		require.Equal(t, "watchlist@ watchlist@", s.Verbs())
		require.Zero(t, r.Health().WatchListRefusedUntil)
		require.True(t, r.Health().Synced)
	})
}
