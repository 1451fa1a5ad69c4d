package reflector_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

func TestABigObjectOnASlowLinkSyncs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		big := strings.Replace(cm("big", "1"), `"data":{`, `"data":{"x":"`+strings.Repeat("x", 1_400_000)+`",`, 1)
		s := &scripted{list: func(w httpWriter, r *httpRequest, _ int) {
			body := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[` + big + `]}`
			w.Header().Set("Content-Type", "application/json")
			for len(body) > 0 {
				n := min(20_000, len(body))
				fmt.Fprint(w, body[:n])
				w.(flusher).Flush()
				if body = body[n:]; !linger(r, time.Second) {
					return
				}
			}
		}, watch: quiet}
		sink := newRecorder()
		r := run(t, s.source(t), sink, reflector.Options{Sync: reflector.SyncList, AnswerTimeout: 10 * time.Second})
		after(80 * time.Second)
		require.NoError(t, r.Health().LastError)
		require.Equal(t, "big@1", sink.holds())
	})
}

func TestEndlessPagesArePaced(t *testing.T) {
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
		"message": fails(500, "x"),
		"kind":    func(w httpWriter, _ *httpRequest, _ int) { fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1"}`, long) },
		"status":  func(w httpWriter, _ *httpRequest, _ int) { status(w, 500, "x", long[:1<<14]) },
		"version": func(w httpWriter, _ *httpRequest, _ int) { writeList(w, long, "") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: first}
				r := run(t, s.source(t), newRecorder(), listMode)
				after(500 * time.Millisecond)
				require.Error(t, r.Health().LastError)
				require.Less(t, len(r.Health().LastError.Error()), 1500)
			})
		})
	}
}

func TestErrorsDoNotQuoteObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told []string
		s := &scripted{list: lists("10", cm("good", "1"),
			`{"metadata":{"name":"a","generation":"hunter2"}}`, `{"metadata":{"name":"b","creationTimestamp":"hunter2"}}`,
			`{"metadata":{"name":"c"},"immutable":42424242}`, `{"metadata":{"name":"d"},"binaryData":{"x":"hunter2!"}}`,
		), watch: func(w httpWriter, r *httpRequest, _ int) {
			send(w, "ADDED", `"hunter2"`)
			fmt.Fprint(w, `{"type":hunter2}`)
		}}
		r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, OnQuarantine: func(oe *reflector.ObjectError) { told = append(told, oe.Error()) }})
		after(500 * time.Millisecond)
		require.Len(t, told, 5)
		text := fmt.Sprint(told, r.Health().LastError)
		require.Error(t, r.Health().LastError)
		require.NotContains(t, text, "hunter2")
		require.NotContains(t, text, "42424242")
	})
}
