package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strategicPatch marks a merge patch that merges lists by their keys.
var strategicPatch = header{"Content-Type", "application/strategic-merge-patch+json"}

var strategicPatchTests = []test{
	{"ListsWithAKeyAreMerged", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		got := a.patchContainers(`{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"example.test/d"},{"name":"c","env":[{"name":"E","value":"1"}]}]}}}}`)
		require.Len(a, got, 2)
		byName := map[any]object{}
		for _, c := range got {
			byName[c.(object)["name"]] = c.(object)
		}
		assert.Equal(a, "example.test/d", byName["d"]["image"])
		assert.Equal(a, "example.test/image", byName["c"]["image"])
		assert.Equal(a, []any{object{"name": "E", "value": "1"}}, byName["c"]["env"])
	}},
	{"DirectivesDeleteAndReplace", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		a.patchContainers(`{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"example.test/d"}]}}}}`)
		got := a.patchContainers(`{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}`)
		require.Len(a, got, 1)
		assert.Equal(a, "d", got[0].(object)["name"])
		got = a.patchContainers(`{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"e","image":"example.test/e"}]}}}}`)
		require.Len(a, got, 1)
		assert.Equal(a, "e", got[0].(object)["name"])
	}},
	{"PrimitiveListsWithSetSemanticsAreMerged", func(a *api) {
		cm := configmap("a")
		cm["metadata"].(object)["finalizers"] = []any{"example.test/a"}
		a.expect(http.StatusCreated, "POST", a.configmaps(), cm)
		got := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`{"metadata":{"finalizers":["example.test/b"]}}`), strategicPatch)
		assert.ElementsMatch(a, []any{"example.test/a", "example.test/b"}, metadata(got)["finalizers"])
		got = a.expect(http.StatusOK, "PATCH", a.configmaps("a"),
			raw(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.test/a","example.test/b"]}}`), strategicPatch)
		assert.NotContains(a, metadata(got), "finalizers")
	}},
	{"NullRemoves", func(a *api) {
		a.makeConfigmap("a", "keep", "1", "drop", "2")
		got := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`{"metadata":{"labels":{"drop":null}}}`), strategicPatch)
		assert.Equal(a, object{"keep": "1"}, metadata(got)["labels"])
	}},
	{"BadStrategicPatchesAreRefused", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		for _, patch := range []raw{`{`, `[]`, `{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}`, `{"spec":{"template":{"spec":{"containers":[1]}}}}`, `{"spec":{"template":{"$patch":"nonsense"}}}`} {
			ans := a.do("PATCH", a.replicasets("a"), patch, strategicPatch)
			assert.Contains(a, []int{http.StatusBadRequest, http.StatusInternalServerError}, ans.Code, "%s: %s", patch, ans.Raw)
		}
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.replicasets("a"), raw(`[]`), strategicPatch)
	}},
	{"ResourceVersionIsAPrecondition", func(a *api) {
		cm := a.makeConfigmap("a")
		a.expect(http.StatusOK, "PATCH", a.configmaps("a"), object{"metadata": object{"resourceVersion": rv(cm)}, "data": object{"k": "w"}}, strategicPatch)
		a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PATCH", a.configmaps("a"),
			object{"metadata": object{"resourceVersion": rv(cm)}, "data": object{"k": "x"}}, strategicPatch)
	}},
	{"CustomResourcesHaveNoStrategicPatch", func(a *api) {
		group := a.define("Namespaced")
		path := "/apis/" + group + "/v1/namespaces/" + a.ns + "/widgets"
		a.expect(http.StatusCreated, "POST", path, object{"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": "a"}})
		a.refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "PATCH", path+"/a", object{}, strategicPatch)
	}},
}

// patchContainers patches the replica set "a" and returns the containers of its
// template.
func (a *api) patchContainers(patch string) []any {
	a.Helper()
	got := a.expect(http.StatusOK, "PATCH", a.replicasets("a"), raw(patch), strategicPatch)
	list, _ := value(got, "spec", "template", "spec", "containers").([]any)
	return list
}
