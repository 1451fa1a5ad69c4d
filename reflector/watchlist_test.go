package reflector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// initial answers a WatchList with the objects, and goes on as given.
func initial(then func(w httpWriter, r *httpRequest), objects ...string) answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		begin(w)
		for _, o := range objects {
			send(w, "ADDED", o)
		}
		then(w, r)
	}
}

func waits(_ httpWriter, r *httpRequest) { hang(r) }

func TestWatchListSyncsAndGoesOnInOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watchList: initial(func(w httpWriter, r *httpRequest) {
			send(w, "MODIFIED", cm("a", "3"))
			send(w, "DELETED", cm("b", "4"))
			send(w, "DELETED", cm("never seen", "4"))
			send(w, "ADDED", cm("d", "5"))
			send(w, "BOOKMARK", bookmark("6", true))
			send(w, "MODIFIED", cm("c", "7"))
			hang(r)
		}, cm("a", "1"), cm("b", "2"), cm("c", "2"))}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{})
		after(time.Second)
		require.Equal(t, []string{"replace [a@3 c@2 d@5] @6", "update c@7"}, sink.calls())
		require.Equal(t, "7", r.LastResourceVersion())
		asked := s.asked()
		require.Len(t, asked, 1)
		q := asked[0].query
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
		s := &scripted{watchList: initial(func(w httpWriter, r *httpRequest) {
			send(w, "BOOKMARK", bookmark("5", false)) // some bookmark
			send(w, "BOOKMARK", strings.Replace(bookmark("5", true), `"true"`, `"false"`, 1))
			linger(r, 5*time.Second)
			send(w, "BOOKMARK", bookmark("6", true))
			hang(r)
		}, cm("a", "1"))}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{})
		after(4 * time.Second)
		require.Empty(t, sink.calls())
		require.Equal(t, reflector.StateStreaming, r.Health().State)
		require.Empty(t, r.LastResourceVersion())
		after(2 * time.Second)
		require.Equal(t, []string{"replace [a@1] @6"}, sink.calls())
	})
}

// fallsBack runs a reflector against a server whose WatchList has the outcome
// given, and checks that it syncs with LIST at the latest after d, and whether
// it tries WatchList again when it has to read the collection again.
func fallsBack(t *testing.T, watchList answer, d time.Duration, class reflector.ErrorClass, remembered bool) *running {
	gone := func(w httpWriter, r *httpRequest, _ int) {
		begin(w)
		linger(r, time.Minute)
		send(w, "ERROR", string(statusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	s := &scripted{list: lists("10", cm("a", "1")), watchList: watchList, watch: gone}
	sink := newRecorder()
	r := run(t, s.source(t), sink, reflector.Options{})
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
			bubble(t, func(t *testing.T) { fallsBack(t, fails(code, ""), 0, reflector.ClassRejected, true) })
		})
	}
}

func TestWatchListAcceptedThenErrorFallsBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, _ *httpRequest) {
			send(w, "ERROR", string(statusJSON(500, metav1.StatusReasonInternalError, "etcd does not support progress notification")))
		}, cm("x", "1")), 0, reflector.ClassServer, true)
	})
}

func TestWatchListForbiddenFallsBackAtOnceAndIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, fails(403, metav1.StatusReasonForbidden), 0, reflector.ClassForbidden, false)
	})
}

// Promise reflector/4
func TestWatchListWithoutProgressFallsBackIn10s(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(waits, cm("x", "1")), 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListWithoutAnswerFallsBackIn10s(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, func(_ httpWriter, r *httpRequest, _ int) { hang(r) }, 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListWithoutBookmarkFallsBackIn20sOnABusyServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, r *httpRequest) {
			for i := 0; linger(r, 500*time.Millisecond); i++ {
				send(w, "ADDED", cm(fmt.Sprint("n", i), fmt.Sprint(i+10)))
				send(w, "MODIFIED", cm("x", fmt.Sprint(i+10)))
				send(w, "BOOKMARK", bookmark(fmt.Sprint(i+10), false))
			}
		}, cm("x", "1")), 21*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListUpdatesAloneAreNoProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fallsBack(t, initial(func(w httpWriter, r *httpRequest) {
			for i := 0; linger(r, 500*time.Millisecond); i++ {
				send(w, "MODIFIED", cm("x", fmt.Sprint(i+10)))
			}
		}, cm("x", "1")), 10*time.Second, reflector.ClassNoBookmark, true)
	})
}

func TestWatchListOfALargeCollectionGetsItsTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watchList: initial(func(w httpWriter, r *httpRequest) {
			for i := 0; i < 45 && linger(r, time.Second); i++ {
				for j := range 150 {
					fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, cm(fmt.Sprintf("n%d-%d", i, j), "1"))
				}
				w.(flusher).Flush()
			}
			send(w, "BOOKMARK", bookmark("6", true))
			hang(r)
		})}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{})
		after(50 * time.Second)
		require.True(t, r.Health().Synced)
		require.Len(t, sink.objects(), 45*150)
		require.Zero(t, r.Health().Lists)
	})
}

func TestWatchListCutShortStartsAfreshAndFallsBackAtTheThirdTime(t *testing.T) {
	for name, then := range map[string]func(w httpWriter, r *httpRequest){
		"closed": func(httpWriter, *httpRequest) {},
		"cut":    func(httpWriter, *httpRequest) { cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: lists("10", cm("a", "1")), watchList: initial(then, cm("gone", "1")), watch: quiet}
				sink := newRecorder()
				r := run(t, s.source(t), sink, reflector.Options{})
				after(10 * time.Second)
				require.Equal(t, []string{"replace [a@1] @10"}, sink.calls())
				require.Equal(t, "watchlist@ watchlist@ watchlist@ list@0 watch@10", s.verbs())
				require.True(t, r.Health().WatchListRefusedUntil.IsZero())
			})
		})
	}
}

func TestWatchListThrottledOrRefusedRetriesWithoutAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watchList: inTurn(
			fails(429, metav1.StatusReasonTooManyRequests),
			initial(func(w httpWriter, _ *httpRequest) { send(w, "ERROR", string(statusJSON(429, "", "busy"))) }),
			initial(func(w httpWriter, r *httpRequest) { send(w, "BOOKMARK", bookmark("6", true)); hang(r) }),
		)}
		s.refuse = 1
		r := run(t, s.source(t), newRecorder(), reflector.Options{})
		after(10 * time.Second)
		require.True(t, r.Health().Synced)
		require.Equal(t, "watchlist@ watchlist@ watchlist@", s.verbs())
	})
}

func TestWatchListAtAnUnknownVersionAsksForTheNewestAtOnce(t *testing.T) {
	for name, expired := range expiredForms {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				good := initial(func(w httpWriter, r *httpRequest) {
					send(w, "BOOKMARK", bookmark("6", true))
					linger(r, 15*time.Second)
					send(w, "ERROR", string(statusJSON(410, metav1.StatusReasonExpired, "too old")))
				}, cm("a", "1"))
				s := &scripted{watchList: inTurn(good, expired, good)}
				sink := newRecorder()
				run(t, s.source(t), sink, reflector.Options{})
				after(20 * time.Second)
				require.Equal(t, "watchlist@ watchlist@6 watchlist@", s.verbs())
				require.Equal(t, []string{"replace [a@1] @6", "replace [a@1] @6"}, sink.calls())
			})
		})
	}
}

func TestWatchListRelistsFromTheLastVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{
			watchList: func(w httpWriter, r *httpRequest, n int) {
				begin(w)
				for i := range n {
					send(w, "ADDED", cm(fmt.Sprint("o", i), "1"))
				}
				send(w, "BOOKMARK", bookmark(fmt.Sprint(n*10), true))
				linger(r, time.Minute) // and an orderly end
			},
			watch: fails(410, metav1.StatusReasonExpired),
		}
		sink := newRecorder()
		run(t, s.source(t), sink, reflector.Options{})
		after(62 * time.Second)
		require.Equal(t, "watchlist@ watch@10 watchlist@10", s.verbs())
		require.Equal(t, "o0@1 o1@1", sink.holds())
	})
}

func TestWatchListIsNotAskedOfFunctionsUnlessToldSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: quiet, watchList: fails(422, "")}
		inner := s.source(t)
		run(t, plain{inner}, newRecorder(), reflector.Options{})
		after(0)
		require.Equal(t, "list@0 watch@10", s.verbs())
		run(t, plain{inner}, newRecorder(), reflector.Options{Sync: reflector.SyncWatchList})
		after(0)
		require.Equal(t, "list@0 watch@10 watchlist@ list@0 watch@10", s.verbs())
	})
}

// plain hides everything but the two methods of a source.
type plain struct {
	reflector.ListerWatcher[*configMap]
}

func TestAnObjectAddedAfterTheInitialEventsMovesThePosition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watchList: initial(func(w httpWriter, r *httpRequest) {
			send(w, "BOOKMARK", bookmark("6", true))
			send(w, "ADDED", cm("b", "7"))
			hang(r)
		}, cm("a", "1"))}
		r := run(t, s.source(t), newRecorder(), reflector.Options{})
		after(time.Second)
		require.Equal(t, "7", r.LastResourceVersion())
	})
}

func TestAServerErrorInsteadOfAWatchListIsNoRefusalOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{watchList: inTurn(fails(500, metav1.StatusReasonInternalError), initial(func(w httpWriter, r *httpRequest) {
			send(w, "BOOKMARK", bookmark("6", true))
			hang(r)
		}, cm("a", "1")))}
		r := run(t, s.source(t), newRecorder(), reflector.Options{})
		after(3 * time.Second)
		require.Equal(t, "watchlist@ watchlist@", s.verbs())
		require.Zero(t, r.Health().WatchListRefusedUntil)
		require.True(t, r.Health().Synced)
	})
}
