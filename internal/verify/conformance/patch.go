package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The media types of patches.
var (
	mergePatch = header{"Content-Type", "application/merge-patch+json"}
	jsonPatch  = header{"Content-Type", "application/json-patch+json"}
)

var patchTests = []test{
	{"AMergePatchSetsMergesAndRemoves", func(a *api) {
		a.makeConfigmap("a", "keep", "1", "drop", "2")
		got := a.expect(http.StatusOK, "PATCH", a.configmaps("a"),
			raw(`{"metadata":{"labels":{"drop":null,"new":"3"}},"data":{"x":"y"}}`), mergePatch)
		assert.Equal(a, object{"keep": "1", "new": "3"}, metadata(got)["labels"])
		assert.Equal(a, object{"k": "v", "x": "y"}, got["data"])
	}},
	{"AJSONPatchAppliesItsOperationsInOrder", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		got := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`[
			{"op":"test","path":"/data/k","value":"v"},
			{"op":"add","path":"/metadata/annotations","value":{}},
			{"op":"add","path":"/metadata/annotations/a.b~1c","value":"slash"},
			{"op":"copy","from":"/data/k","path":"/data/copied"},
			{"op":"move","from":"/data/k","path":"/data/moved"},
			{"op":"replace","path":"/data/copied","value":"w"},
			{"op":"add","path":"/metadata/finalizers","value":["example.test/b"]},
			{"op":"add","path":"/metadata/finalizers/0","value":"example.test/a"},
			{"op":"add","path":"/metadata/finalizers/-","value":"example.test/c"},
			{"op":"remove","path":"/metadata/finalizers/1"},
			{"op":"remove","path":"/metadata/labels"}]`), jsonPatch)
		assert.Equal(a, object{"a.b/c": "slash"}, metadata(got)["annotations"])
		assert.Equal(a, object{"copied": "w", "moved": "v"}, got["data"])
		assert.Equal(a, []any{"example.test/a", "example.test/c"}, metadata(got)["finalizers"])
		assert.NotContains(a, metadata(got), "labels")
		a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`[{"op":"remove","path":"/metadata/finalizers"}]`), jsonPatch)
	}},
	{"AJSONPatchThatDoesNotFitChangesNothing", func(a *api) {
		before := a.makeConfigmap("a")
		for _, patch := range []raw{
			`[{"op":"replace","path":"/data/k","value":"w"},{"op":"test","path":"/data/k","value":"other"}]`,
			`[{"op":"remove","path":"/data/absent"}]`,
			`[{"op":"replace","path":"/absent/x","value":"w"}]`,
		} {
			ans := a.do("PATCH", a.configmaps("a"), patch, jsonPatch)
			assert.Equal(a, http.StatusUnprocessableEntity, ans.Code, "%s: %s", patch, ans.Raw)
		}
		assert.Equal(a, before, a.expect(http.StatusOK, "GET", a.configmaps("a"), nil))
	}},
	{"APatchOfNothingKeepsTheVersion", func(a *api) {
		before := a.makeConfigmap("a")
		got := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`{}`), mergePatch)
		assert.Equal(a, rv(before), rv(got))
	}},
	{"AVersionInAPatchIsAPrecondition", func(a *api) {
		before := a.makeConfigmap("a")
		a.expect(http.StatusOK, "PATCH", a.configmaps("a"), object{"metadata": object{"resourceVersion": rv(before)}, "data": object{"k": "w"}}, mergePatch)
		a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PATCH", a.configmaps("a"),
			object{"metadata": object{"resourceVersion": rv(before)}, "data": object{"k": "x"}}, mergePatch)
	}},
	{"AMissingObjectIsNotFound", func(a *api) {
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "PATCH", a.configmaps("a"), raw(`{}`), mergePatch)
	}},
	{"AMalformedPatchIsABadRequest", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.configmaps("a"), raw(`{"data":`), mergePatch)
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.configmaps("a"), raw(`{"op":"add"}`), jsonPatch)
	}},
	{"AnUnknownPatchIsUnsupported", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "PATCH", a.configmaps("a"), raw(`{}`))
	}},
	{"AnInvalidOutcomeIsRefused", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", a.configmaps("a"), raw(`{"metadata":{"labels":{"l":"not a value!"}}}`), mergePatch)
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.configmaps("a"), raw(`{"metadata":{"name":"b"}}`), mergePatch)
	}},
	{"StatusIsPatchedThroughItsPath", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		patch := raw(`{"spec":{"replicas":4},"status":{"replicas":2}}`)
		rs := a.expect(http.StatusOK, "PATCH", a.replicasets("a", "status"), patch, mergePatch)
		assert.EqualValues(a, 1, value(rs, "spec", "replicas"))
		assert.EqualValues(a, 2, value(rs, "status", "replicas"))
		rs = a.expect(http.StatusOK, "PATCH", a.replicasets("a"), raw(`{"spec":{"replicas":4},"status":{"replicas":3}}`), mergePatch)
		assert.EqualValues(a, 4, value(rs, "spec", "replicas"))
		assert.EqualValues(a, 2, value(rs, "status", "replicas"))
		assert.EqualValues(a, 2, metadata(rs)["generation"])
	}},
}
