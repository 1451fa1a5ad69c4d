package conformance

import (
	"net/http"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var managedFieldsTests = []test{
	{"CreateNotesTheManager", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a", "l", "1"))
		require.Equal(a, []string{"Update me v1 "}, managers(cm))
		assert.Equal(a, object{
			"f:data":     object{".": object{}, "f:k": object{}},
			"f:metadata": object{"f:labels": object{".": object{}, "f:l": object{}}},
		}, fieldsOf(cm, "me", "Update"))
		entry, _ := metadata(cm)["managedFields"].([]any)[0].(object)
		assert.Equal(a, "FieldsV1", entry["fieldsType"])
		_, err := time.Parse(time.RFC3339, text(entry, "time"))
		assert.NoError(a, err)
	}},
	{"WithoutAFieldManagerTheUserAgentIsIt", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps(), configmap("a"), header{"User-Agent", "my-agent/v1.2 (linux)"})
		assert.Equal(a, []string{"Update my-agent v1 "}, managers(cm))
	}},
	{"UpdateMovesChangedFieldsToItsManager", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a"))
		cm = a.with(cm, object{"k": "w", "l": "x"}, "data")
		cm = a.expect(http.StatusOK, "PUT", a.configmaps("a", "?fieldManager=you"), cm)
		assert.Equal(a, object{"f:data": object{}}, fieldsOf(cm, "me", "Update"))
		assert.Equal(a, object{"f:data": object{"f:k": object{}, "f:l": object{}}}, fieldsOf(cm, "you", "Update"))
	}},
	{"UpdateWithoutManagedFieldsKeepsThem", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a"))
		before := fieldsOf(cm, "me", "Update")
		cm = a.expect(http.StatusOK, "PUT", a.configmaps("a", "?fieldManager=you"), a.with(without(cm, "metadata", "managedFields"), "x", "data", "l"))
		assert.Equal(a, before, fieldsOf(cm, "me", "Update"))
	}},
	{"UpdateWithEmptyManagedFieldsDropsThem", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a"))
		cm = a.with(cm, []any{object{}}, "metadata", "managedFields")
		cm = a.expect(http.StatusOK, "PUT", a.configmaps("a", "?fieldManager=you"), cm)
		assert.Empty(a, managers(cm))
	}},
	{"AWriteThatChangesNothingNotesNobody", func(a *api) {
		cm := a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a"))
		again := a.expect(http.StatusOK, "PUT", a.configmaps("a", "?fieldManager=you"), cm)
		assert.Equal(a, cm, again)
	}},
	{"PatchNotesTheManager", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=me"), configmap("a"))
		cm := a.expect(http.StatusOK, "PATCH", a.configmaps("a", "?fieldManager=you"), object{"data": object{"l": "x"}}, header{"Content-Type", "application/merge-patch+json"})
		assert.Equal(a, object{"f:data": object{"f:l": object{}}}, fieldsOf(cm, "you", "Update"))
	}},
	{"StatusUpdatesAreNotedApart", func(a *api) {
		rs := a.expect(http.StatusCreated, "POST", a.replicasets("?fieldManager=me"), replicaset("a", 1))
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a", "status", "?fieldManager=me"), a.with(rs, 2, "status", "replicas"))
		assert.Equal(a, []string{"Update me apps/v1 ", "Update me apps/v1 status"}, managers(rs))
	}},
	{"DefaultsAreTheCreators", func(a *api) {
		rs := a.expect(http.StatusCreated, "POST", a.replicasets("?fieldManager=me"), without(replicaset("a", 1), "spec", "replicas"))
		assert.NotNil(a, value(fieldsOf(rs, "me", "Update"), "f:spec", "f:replicas"))
	}},
	{"CustomResourcesHaveManagersToo", func(a *api) {
		group := a.define("Namespaced")
		path := "/apis/" + group + "/v1/namespaces/" + a.ns + "/widgets/a"
		widget := func(spec object) object {
			return object{"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": "a"}, "spec": spec}
		}
		w := a.expect(http.StatusCreated, "PATCH", path+"?fieldManager=me", widget(object{"size": 1}), asApply)
		assert.Equal(a, object{}, value(fieldsOf(w, "me", "Apply"), "f:spec", "f:size"))
		w = a.expect(http.StatusOK, "PATCH", path+"?fieldManager=you", widget(object{"color": "red"}), asApply)
		assert.Equal(a, object{"size": 1.0, "color": "red"}, w["spec"])
		a.refused(http.StatusConflict, "Conflict", "PATCH", path+"?fieldManager=you", widget(object{"size": 2}), asApply)
		other := widget(object{"color": "blue"})
		other["apiVersion"] = group + "/v1beta1"
		w = a.expect(http.StatusOK, "PATCH", "/apis/"+group+"/v1beta1/namespaces/"+a.ns+"/widgets/a?fieldManager=you", other, asApply)
		assert.Equal(a, object{"size": 1.0, "color": "blue"}, w["spec"])
		assert.Equal(a, []string{"Apply me " + group + "/v1 ", "Apply you " + group + "/v1beta1 "}, managers(w))
	}},
}
