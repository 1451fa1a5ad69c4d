package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// find returns the member of a list of objects that has a name.
func find(list any, name string) object {
	all, _ := list.([]any)
	for _, v := range all {
		if o, ok := v.(object); ok && o["name"] == name {
			return o
		}
	}
	return nil
}

// aggregated finds a resource in the aggregated document.
func aggregated(doc object, group, version, resource string) object {
	groups, _ := items(doc)
	for _, g := range groups {
		versions, _ := g["versions"].([]any)
		for _, v := range versions {
			o, _ := v.(object)
			resources, _ := o["resources"].([]any)
			for _, r := range resources {
				if found, _ := r.(object); nameOf(g) == group && o["version"] == version && found["resource"] == resource {
					return found
				}
			}
		}
	}
	return nil
}

var discoveryTests = []test{
	{"TheVersionIsStated", func(a *api) {
		v := a.expect(http.StatusOK, "GET", "/version", nil)
		assert.Equal(a, "1", v["major"])
		assert.NotEmpty(a, v["minor"])
		assert.Regexp(a, `^v1\.`, v["gitVersion"])
	}},
	{"TheCoreGroupHasItsOwnRoot", func(a *api) {
		v := a.expect(http.StatusOK, "GET", "/api", nil)
		assert.Equal(a, "APIVersions", v["kind"])
		assert.Equal(a, []any{"v1"}, v["versions"])
	}},
	{"GroupsAndTheirVersionsAreListed", func(a *api) {
		list := a.expect(http.StatusOK, "GET", "/apis", nil)
		assert.Equal(a, "APIGroupList", list["kind"])
		for _, group := range []string{"apps", "batch", "apiextensions.k8s.io", "coordination.k8s.io"} {
			g := find(list["groups"], group)
			require.NotNil(a, g, group)
			assert.Equal(a, group+"/v1", text(g, "preferredVersion", "groupVersion"))
		}
		apps := a.expect(http.StatusOK, "GET", "/apis/apps", nil)
		assert.Equal(a, "APIGroup", apps["kind"])
		assert.Equal(a, "apps", apps["name"])
	}},
	{"ResourcesAreDescribed", func(a *api) {
		for path, want := range map[string][]object{
			"/api/v1": {
				{"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "shortNames": []any{"po"}},
				{"name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap", "shortNames": []any{"cm"}},
				{"name": "namespaces", "singularName": "namespace", "namespaced": false, "kind": "Namespace", "shortNames": []any{"ns"}},
				{"name": "nodes", "singularName": "node", "namespaced": false, "kind": "Node", "shortNames": []any{"no"}},
			},
			"/apis/apps/v1": {
				{"name": "replicasets", "singularName": "replicaset", "namespaced": true, "kind": "ReplicaSet", "shortNames": []any{"rs"}},
				{"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment", "shortNames": []any{"deploy"}},
			},
			"/apis/coordination.k8s.io/v1": {{"name": "leases", "singularName": "lease", "namespaced": true, "kind": "Lease"}},
		} {
			list := a.expect(http.StatusOK, "GET", path, nil)
			assert.Equal(a, "APIResourceList", list["kind"])
			for _, w := range want {
				got := find(list["resources"], w["name"].(string))
				require.NotNil(a, got, w["name"])
				for k, v := range w {
					assert.Equal(a, v, got[k], "%s %s", w["name"], k)
				}
				for _, verb := range []string{"create", "delete", "get", "list", "patch", "update", "watch"} {
					assert.Contains(a, got["verbs"], verb, "%s", w["name"])
				}
			}
		}
		status := find(a.expect(http.StatusOK, "GET", "/apis/apps/v1", nil)["resources"], "replicasets/status")
		require.NotNil(a, status)
		assert.ElementsMatch(a, []any{"get", "patch", "update"}, status["verbs"])
	}},
	{"DiscoveryIsAggregatedOnRequest", func(a *api) {
		accept := header{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
		for root, want := range map[string][4]string{
			"/api":  {"", "v1", "configmaps", "ConfigMap"},
			"/apis": {"apps", "v1", "replicasets", "ReplicaSet"},
		} {
			ans := a.do("GET", root, nil, accept)
			require.Equal(a, http.StatusOK, ans.Code)
			assert.Contains(a, ans.Header.Get("Content-Type"), "as=APIGroupDiscoveryList")
			assert.Equal(a, "APIGroupDiscoveryList", ans.Object["kind"])
			assert.Equal(a, "apidiscovery.k8s.io/v2", ans.Object["apiVersion"])
			found := aggregated(ans.Object, want[0], want[1], want[2])
			require.NotNil(a, found, root)
			assert.Equal(a, want[3], text(found, "responseKind", "kind"))
			assert.Equal(a, "Namespaced", found["scope"])
			assert.Contains(a, found["verbs"], "watch")
		}
	}},
	{"WhatDoesNotExistIsNotFound", func(a *api) {
		for _, path := range []string{
			"/apis/absent.example.test", "/apis/absent.example.test/v1", "/apis/absent.example.test/v1/things", "/api/v1/absent",
			"/apis/apps/v9/replicasets", "/apis/absent.example.test/v1/namespaces/default/things/x", "/absent",
		} {
			ans := a.do("GET", path, nil)
			assert.Equal(a, http.StatusNotFound, ans.Code, "%s: %s", path, ans.Raw)
		}
	}},
	{"MethodsThatMakeNoSenseAreNotAllowed", func(a *api) {
		a.makeConfigmap("a")
		for _, c := range [][2]string{{"PUT", a.configmaps()}, {"PATCH", a.configmaps()}, {"POST", a.configmaps("a")}} {
			a.refused(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, c[0], c[1], configmap("a"))
		}
	}},
}
