package conformance

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// names lists the config maps that a query leaves. Every namespace of a real
// cluster has a config map of its own, which carries no label "l".
func (a *api) names(query string) []string {
	a.Helper()
	_, names := items(a.expect(http.StatusOK, "GET", a.configmaps("?"+query), nil))
	return names
}

// selector is a query with a selector.
func selector(kind, value string) string { return kind + "=" + url.QueryEscape(value) }

// abc creates five config maps and returns the last.
func (a *api) abc() (last object) {
	a.Helper()
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		last = a.makeConfigmap(n, "l", n)
	}
	return last
}

var listTests = []test{
	{"AListHasAVersionAndAnOrder", func(a *api) {
		for _, n := range []string{"c", "a", "b"} {
			a.makeConfigmap(n, "l", "1")
		}
		list := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l"), nil)
		assert.Equal(a, "ConfigMapList", list["kind"])
		assert.Equal(a, "v1", list["apiVersion"])
		all, names := items(list)
		assert.Equal(a, []string{"a", "b", "c"}, names)
		for _, item := range all {
			assert.NotContains(a, item, "kind", "the list says it for all")
			assert.GreaterOrEqual(a, a.number(list), a.number(item))
		}
	}},
	{"AnEmptyListHasNoItems", func(a *api) {
		list := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l"), nil)
		assert.NotNil(a, list["items"])
		assert.Empty(a, list["items"])
		assert.NotEmpty(a, rv(list))
	}},
	{"AllNamespacesAreListedTogether", func(a *api) {
		a.makeConfigmap("a", "suite", a.ns)
		list := a.expect(http.StatusOK, "GET", "/api/v1/configmaps?"+selector("labelSelector", "suite="+a.ns), nil)
		_, names := items(list)
		assert.Equal(a, []string{"a"}, names)
	}},
	{"LabelSelectorsSelect", func(a *api) {
		a.makeConfigmap("a", "l", "1", "m", "x")
		a.makeConfigmap("b", "l", "2")
		a.makeConfigmap("c", "m", "y")
		for sel, want := range map[string][]string{
			"l=1": {"a"}, "l==2": {"b"}, "l": {"a", "b"}, "l in (1,2),m": {"a"}, "m,!l": {"c"}, "m notin (x),m": {"c"}, "l!=1,l": {"b"}, "l=9": nil,
		} {
			assert.Equal(a, want, a.names(selector("labelSelector", sel)), sel)
		}
	}},
	{"FieldSelectorsSelectByNameAndNamespace", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		a.makeConfigmap("b", "l", "1")
		assert.Equal(a, []string{"b"}, a.names(selector("fieldSelector", "metadata.name=b")))
		assert.Equal(a, []string{"a"}, a.names("labelSelector=l&"+selector("fieldSelector", "metadata.name!=b")))
		_, names := items(a.expect(http.StatusOK, "GET", "/api/v1/configmaps?labelSelector=l&"+selector("fieldSelector", "metadata.namespace="+a.ns), nil))
		assert.Equal(a, []string{"a", "b"}, names)
	}},
	{"PodsAreSelectedByTheirOwnFields", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.pods(), a.with(pod("a"), "n1", "spec", "nodeName"))
		a.expect(http.StatusCreated, "POST", a.pods(), pod("b"))
		for sel, want := range map[string][]string{"spec.nodeName=n1": {"a"}, "spec.nodeName=": {"b"}, "status.phase=Pending": {"a", "b"}, "status.phase!=Pending": nil} {
			_, names := items(a.expect(http.StatusOK, "GET", a.pods("?"+selector("fieldSelector", sel)), nil))
			assert.Equal(a, want, names, sel)
		}
		a.expect(http.StatusOK, "DELETE", a.pods("a", "?gracePeriodSeconds=0"), nil)
	}},
	{"UnknownFieldsAndMalformedSelectorsAreBadRequests", func(a *api) {
		for _, query := range []string{
			selector("fieldSelector", "spec.nodeName=x"), selector("fieldSelector", "no operator"), selector("labelSelector", "a in"), selector("labelSelector", "=,="),
		} {
			a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "GET", a.configmaps("?"+query), nil)
		}
	}},
	{"PagesShowOneStateInOrder", func(a *api) {
		a.abc()
		page := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&limit=2"), nil)
		first := rv(page)
		_, names := items(page)
		assert.Equal(a, []string{"a", "b"}, names)
		assert.NotContains(a, metadata(page), "remainingItemCount", "with a selector it is not known")
		a.expect(http.StatusOK, "DELETE", a.configmaps("c"), nil)
		a.makeConfigmap("cc", "l", "new")
		for _, want := range [][]string{{"c", "d"}, {"e"}} {
			next := text(page, "metadata", "continue")
			require.NotEmpty(a, next)
			page = a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&limit=2&continue="+url.QueryEscape(next)), nil)
			_, names := items(page)
			assert.Equal(a, want, names)
			assert.Equal(a, first, rv(page))
		}
		assert.Empty(a, text(page, "metadata", "continue"))
	}},
	{"PagesWithoutSelectorSayHowMuchIsLeft", func(a *api) {
		for i := range 3 {
			a.expect(http.StatusCreated, "POST", a.pods(), pod(fmt.Sprint("p", i)))
		}
		page := a.expect(http.StatusOK, "GET", a.pods("?limit=1"), nil)
		assert.EqualValues(a, 2, metadata(page)["remainingItemCount"])
		page = a.expect(http.StatusOK, "GET", a.pods("?limit=5&continue="+url.QueryEscape(text(page, "metadata", "continue"))), nil)
		_, names := items(page)
		assert.Equal(a, []string{"p1", "p2"}, names)
		assert.NotContains(a, metadata(page), "remainingItemCount")
	}},
	{"AListFromTheCacheIsWhole", func(a *api) {
		a.abc()
		// A busy server's cache may lag behind.
		a.eventually("the cache has all objects", func() bool {
			page := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&limit=2&resourceVersion=0"), nil)
			_, names := items(page)
			assert.Empty(a, text(page, "metadata", "continue"))
			return len(names) == 5
		})
	}},
	{"AnExactVersionShowsThePast", func(a *api) {
		cm := a.abc()
		a.expect(http.StatusOK, "DELETE", a.configmaps("b"), nil)
		a.expect(http.StatusOK, "PUT", a.configmaps("e"), a.with(cm, "w", "data", "k"))
		list := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&resourceVersionMatch=Exact&resourceVersion="+rv(cm)), nil)
		all, names := items(list)
		assert.Equal(a, rv(cm), rv(list))
		assert.Equal(a, []string{"a", "b", "c", "d", "e"}, names)
		assert.Equal(a, "v", text(all[4], "data", "k"))
		list = a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&limit=2&resourceVersion="+rv(cm)), nil)
		_, names = items(list)
		assert.Equal(a, []string{"a", "b"}, names, "a limit makes the version exact")
		assert.Equal(a, rv(cm), rv(list))
		list = a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l&resourceVersionMatch=NotOlderThan&resourceVersion="+rv(cm)), nil)
		assert.GreaterOrEqual(a, a.number(list), a.number(cm))
	}},
	{"UnfitVersionsAreRefused", func(a *api) {
		for _, query := range []string{
			"resourceVersionMatch=Exact", "resourceVersionMatch=Sideways&resourceVersion=1", "resourceVersionMatch=Exact&resourceVersion=0",
			"sendInitialEvents=true", "resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=x",
		} {
			a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "GET", a.configmaps("?"+query), nil)
		}
		for _, query := range []string{"continue=garbage", "resourceVersion=x"} {
			a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "GET", a.configmaps("?"+query), nil)
		}
	}},
	{"AVersionFromTheFutureIsTooLarge", func(a *api) {
		list := a.expect(http.StatusOK, "GET", a.configmaps(), nil)
		future := fmt.Sprint(a.number(list) + 1_000_000)
		for _, path := range []string{a.configmaps("?resourceVersion=" + future), a.configmaps("?resourceVersionMatch=NotOlderThan&resourceVersion=" + future)} {
			status := a.refused(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "GET", path, nil)
			require.NotNil(a, status.Details)
			require.NotEmpty(a, status.Details.Causes)
			assert.Equal(a, metav1.CauseTypeResourceVersionTooLarge, status.Details.Causes[0].Type)
			assert.Positive(a, status.Details.RetryAfterSeconds)
		}
	}},
	{"AGetMayAskForAMinimumVersion", func(a *api) {
		cm := a.makeConfigmap("a")
		// For the version of the object a server waits until its cache has it. "0" is any version,
		// so only after that is it sure to have the object.
		for _, version := range []string{rv(cm), "0"} {
			got := a.expect(http.StatusOK, "GET", a.configmaps("a", "?resourceVersion="+version), nil)
			assert.Equal(a, "a", nameOf(got))
		}
	}},
}
