package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var eventTests = []test{
	{"ACoreEventIsShownByBothGroups", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("a"))
		got := a.expect(http.StatusOK, "GET", a.groupEvents("a"), nil)
		assert.Equal(a, "events.k8s.io/v1 Event", text(got, "apiVersion")+" "+text(got, "kind"))
		assert.Equal(a, "said", got["note"])
		assert.Equal(a, "Pod", value(got, "regarding", "kind"))
		assert.EqualValues(a, 2, got["deprecatedCount"])
		assert.Equal(a, "c", value(got, "deprecatedSource", "component"))
		assert.Equal(a, "2026-01-02T03:04:05Z", got["deprecatedLastTimestamp"])
		for _, name := range []string{"message", "involvedObject", "source", "count", "lastTimestamp"} {
			assert.NotContains(a, got, name)
		}
	}},
	{"AnEventOfTheGroupIsShownByBothGroups", func(a *api) {
		created := a.expect(http.StatusCreated, "POST", a.groupEvents(), a.groupEvent("a"))
		assert.Equal(a, "said", created["note"])
		got := a.expect(http.StatusOK, "GET", a.events("a"), nil)
		assert.Equal(a, "v1 Event", text(got, "apiVersion")+" "+text(got, "kind"))
		assert.Equal(a, uidOf(created), uidOf(got))
		assert.Equal(a, "said", got["message"])
		assert.Equal(a, "x", value(got, "involvedObject", "name"))
		assert.Equal(a, "controller", got["reportingComponent"])
		assert.Equal(a, "2026-01-02T03:04:05.000006Z", got["eventTime"])
	}},
	{"BothGroupsListAndWatchTheSame", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("a"))
		list := a.expect(http.StatusOK, "GET", a.groupEvents(), nil)
		assert.Equal(a, "EventList", list["kind"])
		assert.Equal(a, "events.k8s.io/v1", list["apiVersion"])
		all, _ := items(list)
		require.Len(a, all, 1)
		assert.Equal(a, "said", all[0]["note"])
		w := a.watch(a.groupEvents("?watch=true&resourceVersion=" + rv(list)))
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("b"))
		ev := w.next()
		assert.Equal(a, "ADDED", ev.Type)
		assert.Equal(a, "said", ev.Object["note"])
		a.expect(http.StatusOK, "DELETE", a.events("b"), nil)
		ev = w.next()
		assert.Equal(a, "DELETED", ev.Type)
		assert.Equal(a, "events.k8s.io/v1", ev.Object["apiVersion"])
	}},
	{"APatchOfTheCountIsSeenInBothGroups", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("a"))
		got := a.expect(http.StatusOK, "PATCH", a.events("a"), raw(`{"count":3,"lastTimestamp":"2026-01-02T03:05:05Z"}`), strategicPatch)
		assert.EqualValues(a, 3, got["count"])
		got = a.expect(http.StatusOK, "GET", a.groupEvents("a"), nil)
		assert.EqualValues(a, 3, got["deprecatedCount"])
		assert.Equal(a, "2026-01-02T03:05:05Z", got["deprecatedLastTimestamp"])
	}},
	{"APatchOfTheSeriesIsSeenInBothGroups", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.groupEvents(), a.groupEvent("a"))
		series := `{"series":{"count":4,"lastObservedTime":"2026-01-02T03:05:05.000007Z"}}`
		got := a.expect(http.StatusOK, "PATCH", a.groupEvents("a"), raw(series), strategicPatch)
		assert.EqualValues(a, 4, value(got, "series", "count"))
		got = a.expect(http.StatusOK, "GET", a.events("a"), nil)
		assert.EqualValues(a, 4, value(got, "series", "count"))
	}},
	{"TheGroupSelectsByItsOwnFields", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("a"))
		for query, want := range map[string]int{"regarding.name=x": 1, "regarding.name=y": 0, "reason=R,regarding.kind=Pod": 1} {
			all, _ := items(a.expect(http.StatusOK, "GET", a.groupEvents("?"+selector("fieldSelector", query)), nil))
			assert.Len(a, all, want, query)
		}
	}},
	{"ErrorsNameTheGroup", func(a *api) {
		status := a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.groupEvents("none"), nil)
		assert.Equal(a, "events.k8s.io", status.Details.Group)
		status = a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.events("none"), nil)
		assert.Empty(a, status.Details.Group)
	}},
	{"TheGroupIsDiscovered", func(a *api) {
		list := a.expect(http.StatusOK, "GET", "/apis/events.k8s.io/v1", nil)
		resources, _ := list["resources"].([]any)
		require.Len(a, resources, 1)
		assert.Equal(a, "events", resources[0].(object)["name"])
	}},
	{"DeletionInOneGroupIsDeletionInBoth", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.events(), a.coreEvent("a"))
		a.expect(http.StatusOK, "DELETE", a.groupEvents("a"), nil)
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.events("a"), nil)
	}},
}

// groupEvents is the path of the events of the group events.k8s.io.
func (a *api) groupEvents(rest ...string) string {
	return a.path("/apis/events.k8s.io/v1", "events", rest)
}

// coreEvent is a complete event of the core group.
func (a *api) coreEvent(name string) object {
	return object{
		"apiVersion": "v1", "kind": "Event", "metadata": object{"name": name},
		"involvedObject": object{"apiVersion": "v1", "kind": "Pod", "namespace": a.ns, "name": "x"},
		"reason":         "R", "message": "said", "type": "Normal", "count": 2, "source": object{"component": "c", "host": "h"},
		"firstTimestamp": "2026-01-02T03:04:04Z", "lastTimestamp": "2026-01-02T03:04:05Z",
	}
}

// groupEvent is a complete event of the group events.k8s.io.
func (a *api) groupEvent(name string) object {
	return object{
		"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": object{"name": name},
		"regarding": object{"apiVersion": "v1", "kind": "Pod", "namespace": a.ns, "name": "x"},
		"reason":    "R", "note": "said", "type": "Normal", "action": "A",
		"eventTime": "2026-01-02T03:04:05.000006Z", "reportingController": "controller", "reportingInstance": "i",
	}
}
