package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// others are tests of what no recorded answer can state: random names, sizes and times.
var others = map[string]func(*api){
	"GenerateNameMakesDistinctNames": func(a *api) {
		seen := map[string]bool{}
		for range 5 {
			got := a.expect(http.StatusCreated, "POST", a.configMaps(""), `{"metadata":{"generateName":"gen-"}}`)
			name := text(got, "metadata", "name")
			assert.Len(a, name, len("gen-")+5)
			assert.True(a, strings.HasPrefix(name, "gen-"))
			assert.Equal(a, "gen-", text(got, "metadata", "generateName"))
			seen[name] = true
		}
		assert.Len(a, seen, 5)
	},
	"AHugeBodyIsTooLarge": func(a *api) {
		got := a.expect(http.StatusRequestEntityTooLarge, "POST", a.configMaps(""), `{"metadata":{"name":"a"},"data":{"k":"`+strings.Repeat("x", 3<<20)+`"}}`)
		assert.Equal(a, "RequestEntityTooLarge", got["reason"])
	},
	"AWatchEndsCleanlyAfterItsTimeout": func(a *api) {
		cm := a.configMap("a")
		started := time.Now()
		a.watched("timeoutSeconds=1", cm)
		assert.InDelta(a, 1, time.Since(started).Seconds(), 0.9)
	},
	"ABookmarkComesBeforeTheTimeout": func(a *api) {
		cm := a.configMap("a")
		var events []watchEvent
		// A real server promises no single bookmark: one that is busy leaves it out.
		for attempt := 0; attempt < 4 && len(events) == 0; attempt++ {
			events = a.watched("allowWatchBookmarks=true&timeoutSeconds=4", cm)
		}
		require.NotEmpty(a, events)
		for _, ev := range events {
			assert.Equal(a, "BOOKMARK", ev.Type)
			assert.Equal(a, "ConfigMap", ev.Object["kind"])
			assert.Empty(a, text(ev.Object, "metadata", "name"))
			versions := newSymbols(a.ns) // a bookmark is not older than the object
			assert.NoError(a, versions.bind("$rv1", text(cm, "metadata", "resourceVersion")))
			assert.NoError(a, versions.bind("$mark1", text(ev.Object, "metadata", "resourceVersion")))
		}
	},
}

type watchEvent struct {
	Type   string
	Object map[string]any
}

// watched returns the events of a watch from the version of an object until the watch ends.
func (a *api) watched(query string, from map[string]any) (events []watchEvent) {
	a.Helper()
	resp := a.open("GET", a.configMaps("?watch=true&labelSelector=l&"+query+"&resourceVersion="+text(from, "metadata", "resourceVersion")), "")
	defer func() { _ = resp.Body.Close() }()
	require.Equal(a, http.StatusOK, resp.StatusCode)
	decoder := json.NewDecoder(resp.Body)
	for {
		var ev watchEvent
		err := decoder.Decode(&ev)
		if errors.Is(err, io.EOF) {
			return events
		}
		require.NoError(a, err)
		events = append(events, ev)
	}
}

// configMaps is a path below the config maps of the namespace of the test.
func (a *api) configMaps(rest string) string {
	return "/api/v1/namespaces/" + a.ns + "/configmaps" + rest
}

// configMap creates a config map with the label l.
func (a *api) configMap(name string) map[string]any {
	a.Helper()
	return a.expect(http.StatusCreated, "POST", a.configMaps(""), `{"metadata":{"name":"`+name+`","labels":{"l":"1"}}}`)
}

// text returns the text at a path, or "".
func text(o map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(o, path...)
	return s
}
