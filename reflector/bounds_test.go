package reflector_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// Promise reflector/4
func TestABigObjectOnASlowLinkSyncs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`+bigCM("1")+`]}`)
		}, Watch: scripted.Quiet}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Answer: 10 * time.Second}})
		after(80 * time.Second)
		require.NoError(t, r.Health().LastError)
		require.Equal(t, "big@1", sink.holds())
	})
}

// drip sends a body at 20 KB/s.
func drip(w httpWriter, r *httpRequest, body string) {
	w.Header().Set("Content-Type", "application/json")
	for len(body) > 0 {
		n := min(20_000, len(body))
		fmt.Fprint(w, body[:n])
		w.(flusher).Flush()
		if body = body[n:]; !scripted.Linger(r, time.Second) {
			return
		}
	}
}

// bigCM takes 70 s at 20 KB/s.
func bigCM(rv string) string {
	return strings.Replace(scripted.ConfigMap("big", rv), `"data":{`, `"data":{"x":"`+strings.Repeat("x", 1_400_000)+`",`, 1)
}

// Promise reflector/4
func TestABigEventOnASlowLinkIsNoSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("big", "1")), Watch: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"type":"MODIFIED","object":`+bigCM("11")+"}\n")
			scripted.Hang(r)
		}}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Idle: 10 * time.Second}})
		after(75 * time.Second)
		require.Equal(t, "big@11", sink.holds())
		require.Equal(t, "list@0 watch@10", s.Verbs())
		require.NoError(t, r.Health().LastError)
		after(10 * time.Second)
		require.Equal(t, 1, r.Health().Reconnects[reflector.ClassIdle], "then silence ends it")
	})
}

// The deadlines of a WatchList count objects: a server that does not know it sends
// bytes, too. The LIST that is used then counts bytes.
//
// Promise reflector/4
func TestABigInitialEventOnASlowLinkSyncsByAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"type":"ADDED","object":`+bigCM("1")+"}\n")
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
			scripted.Hang(r)
		}, List: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`+bigCM("1")+`]}`)
		}, Watch: scripted.Quiet}
		sink := newRecorder()
		run(t, sourceOf(t, s), sink, reflector.Options{})
		after(85 * time.Second)
		require.Equal(t, "big@1", sink.holds())
		require.Equal(t, "watchlist@ list@0 watch@10", s.Verbs())
	})
}

func TestTheSizeOfAnObjectIsBoundedByAnOption(t *testing.T) {
	object := func(size int) string {
		head, tail := `{"metadata":{"name":"a","namespace":"ns","resourceVersion":"11"},"data":{"x":"`, `"}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	for limit, c := range map[int]struct{ fits, exceeds int }{
		1000:       {900, 1001}, // less than what is read at once
		50_000:     {49_900, 50_001},
		0:          {1 << 20, 8<<20 + 1},
		20_000_000: {10 << 20, 20_000_001},
	} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				for size, fits := range map[int]bool{c.fits: true, c.exceeds: false} {
					for _, listed := range []bool{true, false} {
						s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
							scripted.Send(w, "ADDED", object(size))
							scripted.Hang(r)
						}}
						if listed {
							s.List, s.Watch = scripted.Lists("10", object(size)), scripted.Quiet
						}
						lw, err := reflector.NewResource[*configMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{MaxObjectSize: limit})
						require.NoError(t, err)
						sink := newRecorder()
						r := run(t, lw, sink, listMode)
						after(500 * time.Millisecond)
						h := r.Health()
						switch {
						case fits:
							require.NoError(t, h.LastError)
							require.Equal(t, "a@11", sink.holds())
						case !listed:
							require.Len(t, h.Quarantine, 1)
							require.Equal(t, "ns/a", h.Quarantine[0].Key.String())
							require.ErrorContains(t, h.Quarantine[0], "ResourceOptions.MaxObjectSize sets the limit")
							require.Empty(t, sink.holds())
						default: // it is the only one
							require.ErrorContains(t, r.Health().LastError, "ResourceOptions.MaxObjectSize sets the limit")
							require.Equal(t, reflector.ClassDecode, r.Health().LastErrorClass)
							require.Empty(t, sink.holds())
						}
					}
				}
			})
		})
	}
}

// Promise reflector/3
func TestEndlessPagesArePaced(t *testing.T) {
	endless := map[string]string{ // one that brings something new is only paced
		"nothing new": "a page without new objects", "empty": "a page without new objects",
		"two tokens": "the continue token of an earlier page",
	}
	for name, page := range map[string]scripted.Answer{
		"nothing new": func(w httpWriter, _ *httpRequest, n int) {
			scripted.WriteList(w, "10", fmt.Sprint("t", n), scripted.ConfigMap("a", "1"))
		},
		"empty": func(w httpWriter, _ *httpRequest, n int) { scripted.WriteList(w, "10", fmt.Sprint("t", n)) },
		"two tokens": func(w httpWriter, _ *httpRequest, n int) {
			scripted.WriteList(w, "10", fmt.Sprint("t", n%2), scripted.ConfigMap(fmt.Sprint("o", n), "1"))
		},
		"always one object": func(w httpWriter, _ *httpRequest, n int) {
			scripted.WriteList(w, "10", fmt.Sprint("t", n), scripted.ConfigMap(fmt.Sprint("o", n), "1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: page}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, listMode)
				after(10 * time.Second)
				require.LessOrEqual(t, len(s.Requests()), 10)
				require.Empty(t, sink.calls())
				require.False(t, r.Health().Synced)
				if why := endless[name]; why != "" {
					require.ErrorContains(t, r.Health().LastError, why)
				}
			})
		})
	}
}

func TestACollectionOfWhichNothingCanBeReadIsNotSynced(t *testing.T) {
	for _, n := range []int{1, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var items []string
				for i := range n {
					items = append(items, badCM(fmt.Sprint("o", i), "1"))
				}
				s := &scripted.Server{List: scripted.Lists("10", items...), Watch: scripted.Quiet}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, listMode)
				after(500 * time.Millisecond)
				h := r.Health()
				require.False(t, h.Synced)
				require.Equal(t, reflector.StateDegraded, h.State)
				require.Equal(t, reflector.ClassDecode, h.LastErrorClass)
				require.ErrorContains(t, h.LastError, fmt.Sprintf("none of the %d objects could be read, the first one because of: decode: object ns/o0", n))
				require.Empty(t, sink.calls())
			})
		})
	}
}

func TestRepetitionsWithoutEndAreRefused(t *testing.T) {
	for name, item := range map[string]string{"null": "null", "same name": scripted.ConfigMap("a", "1"), "same bad name": badCM("a", "1")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10", append([]string{scripted.ConfigMap("good", "1")}, strings.Split(strings.Repeat(item+"\n", 1100), "\n")[:1100]...)...)}
				sink := newRecorder()
				r := run(t, sourceOf(t, s), sink, listMode)
				after(500 * time.Millisecond)
				require.ErrorContains(t, r.Health().LastError, "more than 1000 objects have no name, or that of another one")
				require.Empty(t, sink.calls())
			})
		})
	}
}

// Promise reflector/3
func TestARedirectToItselfIsNamedAndBounded(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{List: func(w httpWriter, r *httpRequest, _ int) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }}
	err := firstError(t, s.Config(t))
	require.Len(t, s.Requests(), 1)
	require.Equal(t, reflector.ClassNotAPI, reflector.Classify(err))
	require.ErrorContains(t, err, "redirects to itself (HTTP status 302)")
}

func TestTextsOfAServerAreCutWhereTheyEnter(t *testing.T) {
	long := strings.Repeat("hunter2 ", 1<<15)
	for name, first := range map[string]scripted.Answer{
		"message": func(w httpWriter, _ *httpRequest, _ int) { scripted.WriteStatus(w, 500, "x", long[:1<<14]) },
		"reason": func(w httpWriter, _ *httpRequest, _ int) {
			scripted.WriteStatus(w, 500, metav1.StatusReason(long[:1<<14]), "x")
		},
		"kind":    func(w httpWriter, _ *httpRequest, _ int) { fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1"}`, long) },
		"plain":   func(w httpWriter, _ *httpRequest, _ int) { w.WriteHeader(500); fmt.Fprint(w, long) },
		"field":   func(w httpWriter, _ *httpRequest, _ int) { fmt.Fprintf(w, `{%q:1,"kind":7}`, long[:1<<14]) },
		"version": func(w httpWriter, _ *httpRequest, _ int) { scripted.WriteList(w, long, "") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: first}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
				after(500 * time.Millisecond)
				require.Error(t, r.Health().LastError)
				require.Less(t, len(r.Health().LastError.Error()), 1500)
				require.Less(t, len(fmt.Sprintf("%+v", errors.Unwrap(r.Health().LastError))), 4000, "what is kept")
			})
		})
	}
}

func TestErrorsDoNotQuoteObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var reported []string
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("good", "1"),
			`{"metadata":{"name":"a","generation":"hunter2"}}`, `{"metadata":{"name":"b","creationTimestamp":"hunter2"}}`,
			`{"metadata":{"name":"c"},"immutable":42424242}`, `{"metadata":{"name":"d"},"binaryData":{"x":"hunter2!"}}`,
		), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "ADDED", `"hunter2"`)
			fmt.Fprint(w, `{"type":hunter2}`)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, OnQuarantine: func(oe *reflector.ObjectError) { reported = append(reported, oe.Error()) }})
		after(500 * time.Millisecond)
		require.Len(t, reported, 5)
		text := fmt.Sprint(reported, r.Health().LastError)
		require.Error(t, r.Health().LastError)
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, "42424242")
	})
}
