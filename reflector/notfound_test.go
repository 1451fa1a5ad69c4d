package reflector_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// answers404 are forms of a 404 that say nothing about the objects of a collection.
var answers404 = map[string]struct{ contentType, body, quoted string }{
	"text":                 {"text/plain", "404 page not found\n", "404 page not found"},
	"text of a gateway":    {"text/plain", "no route for host api.example.com", "no route for host api.example.com"},
	"empty":                {"", "", "HTTP status 404"},
	"JSON, not a Status":   {"application/json", `{"message":"no route"}`, `no route`},
	"JSON, cut off":        {"application/json", `{"kind":"Status","mess`, "404"},
	"HTML":                 {"text/html", "<html><head><title>404 Not Found</title></head><body>nginx</body></html>", "404 Not Found"},
	"Status of a cluster":  {"application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"clusters \"member1\" not found","details":{"name":"member1","kind":"clusters"},"code":404}`, "member1"},
	"Status of this":       {"application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"the server could not find the requested resource","details":{"kind":"configmaps"},"code":404}`, "could not find"},
	"Status without words": {"application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}`, "404"},
}

// A 404 of a list, of a watch, or of both proves nothing about the objects, however long it
// lasts. What was deleted meanwhile is found by the next list that succeeds.
//
// Promise reflector/10
func TestA404DeletesNothing(t *testing.T) {
	for name, answer := range answers404 {
		for _, verb := range []string{"list", "watch", "both"} {
			for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
				t.Run(fmt.Sprintf("%s to %s, %s", name, verb, mode), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						begun := time.Now()
						down := func() bool { since := time.Since(begun); return since > time.Minute && since < 3*time.Hour }
						refuse := func(w http.ResponseWriter, of string) bool {
							if !down() || verb != of && verb != "both" {
								return false
							}
							w.Header()["Content-Type"] = []string{answer.contentType}
							w.WriteHeader(http.StatusNotFound)
							_, _ = io.WriteString(w, answer.body)
							return true
						}
						objects := func() (rv string, items []string) {
							if time.Since(begun) < 3*time.Hour {
								return "10", []string{scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")}
							}
							return "20", []string{scripted.ConfigMap("b", "2")}
						}
						s := &scripted.Server{List: func(w httpWriter, r *httpRequest, n int) {
							if !refuse(w, "list") {
								rv, items := objects()
								scripted.Lists(rv, items...)(w, r, n)
							}
						}, Watch: func(w httpWriter, r *httpRequest, _ int) {
							if refuse(w, "watch") {
								return
							}
							scripted.Begin(w)
							if r.URL.Query().Get("sendInitialEvents") == "true" {
								rv, items := objects()
								for _, item := range items {
									scripted.Send(w, "ADDED", item)
								}
								scripted.Send(w, "BOOKMARK", scripted.Bookmark(rv, true))
							}
							for was := down(); was == down() && scripted.Linger(r, time.Second); {
							}
						}}
						sink := newRecorder()
						opts := listMode
						opts.Sync = mode
						r := run(t, sourceOf(t, s), sink, opts)
						after(2*time.Hour + 59*time.Minute)
						require.Equal(t, "a@1 b@2", sink.holds())
						h := r.Health()
						if h.State != reflector.StateWatching { // with a 404 to one of the two, the other may do
							require.ErrorContains(t, h.LastError, answer.quoted)
							require.ErrorContains(t, h.LastError, "configmaps")
						}
						after(2 * time.Minute)
						if verb != "list" { // else the watch goes on, and would report the deletion
							require.Equal(t, "b@2", sink.holds())
						}
						require.NotContains(t, sink.calls(), "replace [] @")
					})
				})
			}
		}
	}
}
