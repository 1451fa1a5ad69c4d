package conformance

import (
	"net/http"
	"net/url"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makeEvent creates an event. Events are what a kube-apiserver reads from etcd
// rather than from its watch cache, so that compaction shows at once.
func (a *api) makeEvent(name string) object {
	a.Helper()
	return a.expect(http.StatusCreated, "POST", a.events(), object{
		"apiVersion": "v1", "kind": "Event", "metadata": object{"name": name},
		"involvedObject": object{"kind": "ConfigMap", "namespace": a.ns, "name": "x"}, "reason": "Test", "type": "Normal",
	})
}

// compact makes the server forget.
func (a *api) compact() {
	a.Helper()
	require.NoError(a, a.suite.opts.Compact(a.ctx))
}

var compactionTests = []test{
	{"AForgottenVersionIsExpiredForAList", func(a *api) {
		old := a.makeEvent("a")
		latest := a.makeEvent("b")
		a.compact()
		a.refused(http.StatusGone, metav1.StatusReasonExpired, "GET", a.events("?resourceVersionMatch=Exact&resourceVersion="+rv(old)), nil)
		a.expect(http.StatusOK, "GET", a.events("?resourceVersionMatch=Exact&resourceVersion="+rv(latest)), nil)
		a.expect(http.StatusOK, "GET", a.events("?resourceVersionMatch=NotOlderThan&resourceVersion="+rv(old)), nil)
	}},
	{"AForgottenVersionIsExpiredForAWatch", func(a *api) {
		old := a.makeEvent("a")
		a.makeEvent("b")
		a.makeEvent("c") // etcd still has the very event at which it compacts
		a.compact()
		w := a.watch(a.events("?watch=true&resourceVersion=" + rv(old)))
		w.failed(http.StatusGone, metav1.StatusReasonExpired)
		assert.Empty(a, w.ends(), "the error is the last event")
	}},
	{"AWatchThatIsUpToDateGoesOn", func(a *api) {
		last := a.makeEvent("a")
		w := a.watch(a.events("?watch=true&resourceVersion=" + rv(last)))
		a.compact()
		a.makeEvent("b")
		w.expect("ADDED", "b")
		a.compact()
		a.makeEvent("c")
		w.expect("ADDED", "c")
	}},
	{"AForgottenPageOffersToGoOnInconsistently", func(a *api) {
		for _, name := range []string{"a", "b", "c"} {
			a.makeEvent(name)
		}
		page := a.expect(http.StatusOK, "GET", a.events("?limit=1"), nil)
		a.makeEvent("bb")
		a.compact()
		next := url.QueryEscape(text(page, "metadata", "continue"))
		status := a.refused(http.StatusGone, metav1.StatusReasonExpired, "GET", a.events("?limit=1&continue="+next), nil)
		require.NotEmpty(a, status.Continue)
		page = a.expect(http.StatusOK, "GET", a.events("?continue="+url.QueryEscape(status.Continue)), nil)
		_, names := items(page)
		assert.Equal(a, []string{"b", "bb", "c"}, names, "the rest of the latest state")
	}},
}
