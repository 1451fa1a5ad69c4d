package reflector_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

// Promise reflector/4
func TestABigObjectOnASlowLinkSyncs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`+bigCM("1")+`]}`)
		}, watch: quiet}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Answer: 10 * time.Second}})
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
		if body = body[n:]; !linger(r, time.Second) {
			return
		}
	}
}

// bigCM takes 70 s at 20 KB/s.
func bigCM(rv string) string {
	return strings.Replace(cm("big", rv), `"data":{`, `"data":{"x":"`+strings.Repeat("x", 1_400_000)+`",`, 1)
}

// Promise reflector/4
func TestABigEventOnASlowLinkIsNoSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10", cm("big", "1")), watch: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"type":"MODIFIED","object":`+bigCM("11")+"}\n")
			hang(r)
		}}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Idle: 10 * time.Second}})
		after(75 * time.Second)
		require.Equal(t, "big@11", sink.holds())
		require.Equal(t, "list@0 watch@10", s.verbs())
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
		s := &scripted{watchList: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"type":"ADDED","object":`+bigCM("1")+"}\n")
			send(w, "BOOKMARK", bookmark("10", true))
			hang(r)
		}, list: func(w httpWriter, r *httpRequest, _ int) {
			drip(w, r, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`+bigCM("1")+`]}`)
		}, watch: quiet}
		sink := newRecorder()
		run(t, s.source(t), sink, reflector.Options{})
		after(85 * time.Second)
		require.Equal(t, "big@1", sink.holds())
		require.Equal(t, "watchlist@ list@0 watch@10", s.verbs())
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
						s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
							send(w, "ADDED", object(size))
							hang(r)
						}}
						if listed {
							s.list, s.watch = lists("10", object(size)), quiet
						}
						lw, err := reflector.NewResource[*configMap](s.config(t), configMaps, reflector.ResourceOptions{MaxObjectSize: limit})
						require.NoError(t, err)
						sink := newRecorder()
						r := run(t, lw, sink, listMode)
						after(500 * time.Millisecond)
						if fits {
							require.NoError(t, r.Health().LastError)
							require.Equal(t, "a@11", sink.holds())
						} else {
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
		"nothing new": "a page that brings no new object", "empty": "a page that brings no new object",
		"two tokens": "the continue token of a page before",
	}
	for name, page := range map[string]answer{
		"nothing new": func(w httpWriter, _ *httpRequest, n int) { writeList(w, "10", fmt.Sprint("t", n), cm("a", "1")) },
		"empty":       func(w httpWriter, _ *httpRequest, n int) { writeList(w, "10", fmt.Sprint("t", n)) },
		"two tokens": func(w httpWriter, _ *httpRequest, n int) {
			writeList(w, "10", fmt.Sprint("t", n%2), cm(fmt.Sprint("o", n), "1"))
		},
		"always one object": func(w httpWriter, _ *httpRequest, n int) {
			writeList(w, "10", fmt.Sprint("t", n), cm(fmt.Sprint("o", n), "1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: page}
				sink := newRecorder()
				r := run(t, s.source(t), sink, listMode)
				after(10 * time.Second)
				require.LessOrEqual(t, len(s.asked()), 10)
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
				s := &scripted{list: lists("10", items...), watch: quiet}
				sink := newRecorder()
				r := run(t, s.source(t), sink, listMode)
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
	for name, item := range map[string]string{"null": "null", "same name": cm("a", "1"), "same bad name": badCM("a", "1")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: lists("10", append([]string{cm("good", "1")}, strings.Split(strings.Repeat(item+"\n", 1100), "\n")[:1100]...)...)}
				sink := newRecorder()
				r := run(t, s.source(t), sink, listMode)
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
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, r.URL.String(), http.StatusFound)
	}))
	defer server.Close()
	err := firstError(t, &rest.Config{Host: server.URL})
	require.EqualValues(t, 1, n.Load())
	require.Equal(t, reflector.ClassNotAPI, reflector.Classify(err))
	require.ErrorContains(t, err, "redirects to itself (HTTP status 302)")
}

func TestTextsOfAServerAreCutWhereTheyEnter(t *testing.T) {
	long := strings.Repeat("hunter2 ", 1<<15)
	for name, first := range map[string]answer{
		"message": func(w httpWriter, _ *httpRequest, _ int) { status(w, 500, "x", long[:1<<14]) },
		"reason":  func(w httpWriter, _ *httpRequest, _ int) { status(w, 500, metav1.StatusReason(long[:1<<14]), "x") },
		"kind":    func(w httpWriter, _ *httpRequest, _ int) { fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1"}`, long) },
		"plain":   func(w httpWriter, _ *httpRequest, _ int) { w.WriteHeader(500); fmt.Fprint(w, long) },
		"field":   func(w httpWriter, _ *httpRequest, _ int) { fmt.Fprintf(w, `{%q:1,"kind":7}`, long[:1<<14]) },
		"version": func(w httpWriter, _ *httpRequest, _ int) { writeList(w, long, "") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: first}
				r := run(t, s.source(t), newRecorder(), listMode)
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
		s := &scripted{list: lists("10", cm("good", "1"),
			`{"metadata":{"name":"a","generation":"hunter2"}}`, `{"metadata":{"name":"b","creationTimestamp":"hunter2"}}`,
			`{"metadata":{"name":"c"},"immutable":42424242}`, `{"metadata":{"name":"d"},"binaryData":{"x":"hunter2!"}}`,
		), watch: func(w httpWriter, r *httpRequest, _ int) {
			send(w, "ADDED", `"hunter2"`)
			fmt.Fprint(w, `{"type":hunter2}`)
		}}
		r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, OnQuarantine: func(oe *reflector.ObjectError) { reported = append(reported, oe.Error()) }})
		after(500 * time.Millisecond)
		require.Len(t, reported, 5)
		text := fmt.Sprint(reported, r.Health().LastError)
		require.Error(t, r.Health().LastError)
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, "42424242")
	})
}
