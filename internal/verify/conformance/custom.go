package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// define creates a custom resource of a group of its own, waits until it is
// served, and returns the path of the group's versions.
func (a *api) define(scope string) (group string) {
	a.Helper()
	return a.defineWith(scope, object{"status": object{}})
}

// defineWith is define with other subresources than status.
func (a *api) defineWith(scope string, subresources object) (group string) {
	a.Helper()
	return a.defineAs(scope, object{
		"subresources":     subresources,
		"selectableFields": []any{object{"jsonPath": ".spec.color"}},
		"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
			"spec":   object{"type": "object", "properties": object{"size": object{"type": "integer"}, "color": object{"type": "string"}}},
			"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	})
}

// defineAs is define with versions of another description.
func (a *api) defineAs(scope string, description object) (group string) {
	a.Helper()
	group = fmt.Sprintf("g%08x.example.test", rand.Uint32())
	version := func(name string, storage bool) object {
		v := maps.Clone(description)
		v["name"], v["served"], v["storage"] = name, true, storage
		return v
	}
	name := "widgets." + group
	a.expect(http.StatusCreated, "POST", crds, object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": name},
		"spec": object{
			"group": group, "scope": scope, "versions": []any{version("v1", true), version("v1beta1", false)},
			"names": object{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": []any{"wd"}},
		},
	})
	a.Cleanup(func() {
		late := *a
		var cancel context.CancelFunc
		late.ctx, cancel = context.WithTimeout(context.Background(), patience)
		defer cancel()
		late.do("DELETE", crds+"/"+name, nil)
	})
	a.established(name)
	a.eventually("the resource is served", func() bool {
		return a.do("GET", "/apis/"+group+"/v1/widgets", nil).Code == http.StatusOK
	})
	return group
}

// established waits, by a watch, for the condition of that name.
func (a *api) established(name string) {
	a.Helper()
	w := a.watch(crds + "?watch=true&" + selector("fieldSelector", "metadata.name="+name))
	for {
		conditions, _ := value(w.next().Object, "status", "conditions").([]any)
		for _, c := range conditions {
			if o, ok := c.(object); ok && o["type"] == "Established" && o["status"] == "True" {
				return
			}
		}
	}
}

// eventually repeats a request until its outcome is as wanted: some things a
// real server does a moment later, and says nothing.
func (a *api) eventually(what string, done func() bool) {
	a.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		require.True(a, time.Now().Before(deadline), "not in time: %s", what)
		<-tick.C
	}
}

// widget is a custom resource.
func widget(group, name string, size int) object {
	return object{"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": name}, "spec": object{"size": size, "color": "red"}}
}

var customTests = []test{
	{"ADefinitionMakesAResource", func(a *api) {
		group := a.define("Namespaced")
		widgets := func(rest ...string) string { return a.path("/apis/"+group+"/v1", "widgets", rest) }
		made := a.expect(http.StatusCreated, "POST", widgets(), a.with(widget(group, "a", 1), 9, "status", "x"))
		assert.EqualValues(a, 1, metadata(made)["generation"])
		assert.NotContains(a, made, "status", "it is written apart")

		list := a.expect(http.StatusOK, "GET", widgets(), nil)
		assert.Equal(a, "WidgetList", list["kind"])
		assert.Equal(a, group+"/v1", list["apiVersion"])
		all, _ := items(list)
		require.Len(a, all, 1)
		assert.Equal(a, "Widget", all[0]["kind"], "items of custom resources state their kind")

		w := a.watch(widgets("?watch=true&resourceVersion=" + rv(made)))
		changed := a.expect(http.StatusOK, "PUT", widgets("a"), a.with(a.with(made, 2, "spec", "size"), 9, "status", "x"))
		assert.EqualValues(a, 2, metadata(changed)["generation"])
		assert.NotContains(a, changed, "status")
		assert.Equal(a, changed, w.expect("MODIFIED", "a"))

		withStatus := a.expect(http.StatusOK, "PUT", widgets("a", "status"), a.with(a.with(changed, 5, "spec", "size"), "y", "status", "x"))
		assert.EqualValues(a, 2, metadata(withStatus)["generation"])
		assert.EqualValues(a, 2, value(withStatus, "spec", "size"))
		assert.Equal(a, "y", text(withStatus, "status", "x"))

		a.expect(http.StatusOK, "DELETE", widgets("a"), nil)
		w.expect("MODIFIED", "a")
		w.expect("DELETED", "a")
	}},
	{"AnUpdateNeedsAVersion", func(a *api) {
		group := a.define("Namespaced")
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		a.expect(http.StatusCreated, "POST", path, widget(group, "a", 1))
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PUT", path+"/a", widget(group, "a", 2))
		a.expect(http.StatusOK, "PATCH", path+"/a", raw(`{"spec":{"size":2}}`), mergePatch)
	}},
	{"VersionsShowTheSameObjects", func(a *api) {
		group := a.define("Cluster")
		made := a.expect(http.StatusCreated, "POST", "/apis/"+group+"/v1/widgets", widget(group, "a", 1))
		got := a.expect(http.StatusOK, "GET", "/apis/"+group+"/v1beta1/widgets/a", nil)
		assert.Equal(a, group+"/v1beta1", got["apiVersion"])
		assert.Equal(a, uidOf(made), uidOf(got))
		assert.Equal(a, rv(made), rv(got))
		assert.NotContains(a, metadata(got), "namespace")
	}},
	{"SelectableFieldsSelect", func(a *api) {
		group := a.define("Namespaced")
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		a.expect(http.StatusCreated, "POST", path, widget(group, "a", 1))
		a.expect(http.StatusCreated, "POST", path, a.with(widget(group, "b", 1), "blue", "spec", "color"))
		_, names := items(a.expect(http.StatusOK, "GET", path+"?"+selector("fieldSelector", "spec.color=blue"), nil))
		assert.Equal(a, []string{"b"}, names)
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "GET", path+"?"+selector("fieldSelector", "spec.size=1"), nil)
	}},
	{"TheResourceIsDiscoveredAndGoesWithItsDefinition", func(a *api) {
		group := a.define("Namespaced")
		a.eventually("discovery knows the resource", func() bool {
			return a.do("GET", "/apis/"+group+"/v1", nil).Code == http.StatusOK
		})
		got := find(a.expect(http.StatusOK, "GET", "/apis/"+group+"/v1", nil)["resources"], "widgets")
		require.NotNil(a, got)
		assert.Equal(a, "Widget", got["kind"])
		assert.Equal(a, "widget", got["singularName"])
		assert.Equal(a, []any{"wd"}, got["shortNames"])
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		made := a.expect(http.StatusCreated, "POST", path, widget(group, "a", 1))
		w := a.watch(path + "?watch=true&resourceVersion=" + rv(made))
		a.expect(http.StatusOK, "DELETE", crds+"/widgets."+group, nil)
		w.expect("DELETED", "a")
		w.ends()
		a.eventually("the resource is gone", func() bool {
			return a.do("GET", a.path("/apis/"+group+"/v1", "widgets", nil), nil).Code == http.StatusNotFound
		})
	}},
	{"AnIncompleteDefinitionIsRefused", func(a *api) {
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", crds, object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "things.example.test"},
			"spec": object{"group": "example.test", "scope": "Namespaced", "names": object{"plural": "things", "kind": "Thing"}, "versions": []any{}},
		})
	}},
}
