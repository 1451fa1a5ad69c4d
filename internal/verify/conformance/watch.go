package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stream is a running watch.
type stream struct {
	a       *api
	body    io.ReadCloser
	decoder *json.Decoder
}

// event is one line of a watch.
type event struct {
	Type   string `json:"type"`
	Object object `json:"object"`
}

// watch opens a watch, which ends with the test at the latest.
func (a *api) watch(path string, headers ...header) *stream {
	a.Helper()
	resp := a.open("GET", path, nil, headers...)
	if resp.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		require.Equal(a, http.StatusOK, resp.StatusCode, "watch %s: %s", path, content)
	}
	a.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{a, resp.Body, json.NewDecoder(resp.Body)}
}

// next reads one event.
func (s *stream) next() event {
	s.a.Helper()
	var ev event
	require.NoError(s.a, s.decoder.Decode(&ev))
	return ev
}

// expect reads one event of a type about an object.
func (s *stream) expect(typ, name string) object {
	s.a.Helper()
	ev := s.next()
	require.Equal(s.a, typ, ev.Type, "%v", ev.Object)
	require.Equal(s.a, name, nameOf(ev.Object), "%s", typ)
	return ev.Object
}

// failed reads an ERROR event with a code.
func (s *stream) failed(code int, reason metav1.StatusReason) object {
	s.a.Helper()
	ev := s.next()
	require.Equal(s.a, "ERROR", ev.Type, "%v", ev.Object)
	assert.Equal(s.a, "Status", ev.Object["kind"])
	assert.EqualValues(s.a, code, ev.Object["code"], "%v", ev.Object)
	assert.EqualValues(s.a, reason, ev.Object["reason"])
	return ev.Object
}

// ends reads until the server closes the stream, and returns what came.
func (s *stream) ends() (rest []event) {
	s.a.Helper()
	for {
		var ev event
		err := s.decoder.Decode(&ev)
		if err == io.EOF {
			return rest
		}
		require.NoError(s.a, err)
		rest = append(rest, ev)
	}
}

// isInitialEnd reports whether an event marks the end of the initial ones.
func isInitialEnd(ev event) bool {
	return ev.Type == "BOOKMARK" && text(ev.Object, "metadata", "annotations", metav1.InitialEventsAnnotationKey) == "true"
}

var watchTests = []test{
	{"EventsFollowAVersionInOrder", func(a *api) {
		old := a.makeConfigmap("old", "l", "1")
		w := a.watch(a.configmaps("?watch=true&labelSelector=l&resourceVersion=" + rv(old)))
		created := a.makeConfigmap("a", "l", "1")
		assert.Equal(a, created, w.expect("ADDED", "a"))
		changed := a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(created, "w", "data", "k"))
		assert.Equal(a, changed, w.expect("MODIFIED", "a"))
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		gone := w.expect("DELETED", "a")
		assert.Greater(a, a.number(gone), a.number(changed), "the deletion has a version of its own")
		assert.Equal(a, "w", text(gone, "data", "k"), "the last state is shown")
		a.expect(http.StatusOK, "DELETE", a.configmaps("old"), nil)
		w.expect("DELETED", "old")
	}},
	{"ThePastIsReplayed", func(a *api) {
		first := a.makeConfigmap("a", "l", "1")
		a.makeConfigmap("b", "l", "1")
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		w := a.watch(a.configmaps("?watch=1&labelSelector=l&resourceVersion=" + rv(first)))
		w.expect("ADDED", "b")
		w.expect("DELETED", "a")
	}},
	{"AWriteOfTheSameIsNoEvent", func(a *api) {
		cm := a.makeConfigmap("a", "l", "1")
		w := a.watch(a.configmaps("?watch=true&labelSelector=l&resourceVersion=" + rv(cm)))
		a.expect(http.StatusOK, "PUT", a.configmaps("a"), cm)
		a.makeConfigmap("b", "l", "1")
		w.expect("ADDED", "b")
	}},
	{"WithoutAVersionTheStateComesFirst", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		a.makeConfigmap("b", "l", "1")
		for _, query := range []string{"", "&resourceVersion=0"} {
			w := a.watch(a.configmaps("?watch=true&labelSelector=l" + query))
			names := []string{nameOf(w.next().Object), nameOf(w.next().Object)}
			assert.ElementsMatch(a, []string{"a", "b"}, names)
		}
	}},
	{"SelectorsTurnChangesIntoComingAndGoing", func(a *api) {
		cm := a.makeConfigmap("a", "l", "out")
		w := a.watch(a.configmaps("?watch=true&" + selector("labelSelector", "l=in") + "&resourceVersion=" + rv(cm)))
		label := func(value string) object {
			return a.expect(http.StatusOK, "PATCH", a.configmaps("a"), object{"metadata": object{"labels": object{"l": value}}}, mergePatch)
		}
		assert.Equal(a, label("in"), w.expect("ADDED", "a"))
		assert.Equal(a, rv(label("out-again")), rv(w.expect("DELETED", "a")))
		assert.Equal(a, label("in"), w.expect("ADDED", "a"))
	}},
	{"LeavingTheSelectorShowsTheLastSelectedState", func(a *api) {
		cm := a.makeConfigmap("a", "l", "in")
		w := a.watch(a.configmaps("?watch=true&" + selector("labelSelector", "l=in") + "&resourceVersion=" + rv(cm)))
		out := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`{"metadata":{"labels":{"l":"out"}}}`), mergePatch)
		left := w.expect("DELETED", "a")
		assert.Equal(a, "in", text(left, "metadata", "labels", "l"))
		assert.Equal(a, rv(out), rv(left), "dated by the change")
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		a.makeConfigmap("b", "l", "in")
		w.expect("ADDED", "b")
	}},
	{"OneObjectIsWatchedByAFieldSelectorNotItsPath", func(a *api) {
		cm := a.makeConfigmap("a")
		w := a.watch(a.configmaps("?watch=true&" + selector("fieldSelector", "metadata.name=b") + "&resourceVersion=" + rv(cm)))
		a.makeConfigmap("c")
		a.makeConfigmap("b")
		w.expect("ADDED", "b")
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.configmaps("absent", "?watch=true"), nil)
	}},
	{"DeletionWithFinalizersIsAModificationFirst", func(a *api) {
		cm := a.finalized("a")
		w := a.watch(a.configmaps("?watch=true&" + selector("fieldSelector", "metadata.name=a") + "&resourceVersion=" + rv(cm)))
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		marked := w.expect("MODIFIED", "a")
		assert.NotEmpty(a, text(marked, "metadata", "deletionTimestamp"))
		a.release("a")
		gone := w.expect("DELETED", "a")
		assert.Greater(a, a.number(gone), a.number(marked))
	}},
	{"AWatchEndsCleanlyAfterItsTimeout", func(a *api) {
		cm := a.makeConfigmap("a")
		started := time.Now()
		w := a.watch(a.configmaps("?watch=true&timeoutSeconds=1&resourceVersion=" + rv(cm)))
		w.ends()
		assert.InDelta(a, 1, time.Since(started).Seconds(), 0.9)
	}},
	{"ABookmarkComesBeforeTheTimeout", func(a *api) {
		cm := a.makeConfigmap("a", "l", "1")
		var rest []event
		// A real server promises no single bookmark: one that is busy leaves it out.
		for attempt := 0; attempt < 4 && len(rest) == 0; attempt++ {
			rest = a.watch(a.configmaps("?watch=true&labelSelector=l&allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion=" + rv(cm))).ends()
		}
		require.NotEmpty(a, rest)
		for _, ev := range rest {
			assert.Equal(a, "BOOKMARK", ev.Type)
			assert.Equal(a, "ConfigMap", ev.Object["kind"])
			assert.Empty(a, nameOf(ev.Object))
			assert.GreaterOrEqual(a, a.number(ev.Object), a.number(cm))
		}
	}},
	{"InitialEventsEndWithAMarkedBookmark", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		a.makeConfigmap("b", "l", "1")
		list := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l"), nil)
		for _, version := range []string{"", "0", rv(list)} {
			w := a.watch(a.configmaps("?watch=true&labelSelector=l&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + version))
			first, second := w.next(), w.next()
			assert.Equal(a, "ADDED", first.Type)
			assert.Equal(a, "ADDED", second.Type)
			assert.ElementsMatch(a, []string{"a", "b"}, []string{nameOf(first.Object), nameOf(second.Object)})
			end := w.next()
			assert.True(a, isInitialEnd(end), "%v", end)
			if version != "0" {
				assert.GreaterOrEqual(a, a.number(end.Object), a.number(list))
			}
			changed := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), object{"data": object{"k": "after " + version}}, mergePatch)
			for ev := w.next(); ; ev = w.next() { // bookmarks may come in between
				if ev.Type != "BOOKMARK" {
					assert.Equal(a, "MODIFIED", ev.Type)
					assert.Equal(a, rv(changed), rv(ev.Object))
					break
				}
			}
		}
	}},
	{"NoInitialEventsMeansFromNowOn", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		w := a.watch(a.configmaps("?watch=true&labelSelector=l&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion="))
		a.makeConfigmap("b", "l", "1")
		w.expect("ADDED", "b")
	}},
	{"UnfitOptionsAreRefused", func(a *api) {
		for _, query := range []string{
			"sendInitialEvents=true", "resourceVersionMatch=NotOlderThan&resourceVersion=1", "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
		} {
			a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "GET", a.configmaps("?watch=true&"+query), nil)
		}
	}},
	{"InitialEventsFromTheFutureFailInTheStream", func(a *api) {
		cm := a.makeConfigmap("a")
		future := fmt.Sprint(a.number(cm) + 1_000_000)
		w := a.watch(a.configmaps("?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=" + future))
		status := w.failed(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
		assert.Contains(a, fmt.Sprint(status), "Too large resource version")
	}},
	{"AWatchFromTheFutureIsSilent", func(a *api) {
		cm := a.makeConfigmap("a", "l", "1")
		w := a.watch(a.configmaps("?watch=true&labelSelector=l&timeoutSeconds=1&resourceVersion=" + fmt.Sprint(a.number(cm)+1_000_000)))
		a.makeConfigmap("b", "l", "1")
		assert.Empty(a, w.ends())
	}},
}
