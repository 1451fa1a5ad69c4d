package conformance

import (
	"net/http"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var applyTests = []test{
	{"ApplyCreatesWhatDoesNotExist", func(a *api) {
		cm := a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v"}})
		assert.Equal(a, object{"k": "v"}, cm["data"])
		assert.NotEmpty(a, uidOf(cm))
		assert.Equal(a, []string{"Apply me v1 "}, managers(cm))
		assert.Equal(a, object{"f:data": object{"f:k": object{}}}, fieldsOf(cm, "me", "Apply"))
	}},
	{"ApplyOwnsWhatItStatesAndRemovesWhatItNoLongerStates", func(a *api) {
		a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v", "l": "w"}})
		cm := a.applied(http.StatusOK, "a", "me", object{"data": object{"l": "x"}})
		assert.Equal(a, object{"l": "x"}, cm["data"])
		assert.Equal(a, object{"f:data": object{"f:l": object{}}}, fieldsOf(cm, "me", "Apply"))
	}},
	{"ApplyOfTheSameIsNotAWrite", func(a *api) {
		first := a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v"}})
		time.Sleep(1100 * time.Millisecond) // times of managed fields are in seconds
		second := a.applied(http.StatusOK, "a", "me", object{"data": object{"k": "v"}})
		assert.Equal(a, first, second)
	}},
	{"ApplyOfAnothersFieldIsAConflict", func(a *api) {
		a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v"}})
		status := a.refusedApply(http.StatusConflict, metav1.StatusReasonConflict, "a", "?fieldManager=you", object{"data": object{"k": "w"}})
		require.Len(a, status.Details.Causes, 1)
		assert.Equal(a, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "me"`, Field: ".data.k",
		}, status.Details.Causes[0])
	}},
	{"ApplyWithForceTakesTheFieldOver", func(a *api) {
		a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v", "l": "v"}})
		cm := a.expect(http.StatusOK, "PATCH", a.configmaps("a", "?fieldManager=you&force=true"), configuration("a", object{"data": object{"k": "w"}}), asApply)
		assert.Equal(a, object{"k": "w", "l": "v"}, cm["data"])
		assert.Equal(a, object{"f:data": object{"f:k": object{}}}, fieldsOf(cm, "you", "Apply"))
		assert.Equal(a, object{"f:data": object{"f:l": object{}}}, fieldsOf(cm, "me", "Apply"))
	}},
	{"ApplyOfTheSameValueSharesTheField", func(a *api) {
		a.applied(http.StatusCreated, "a", "me", object{"data": object{"k": "v"}})
		cm := a.applied(http.StatusOK, "a", "you", object{"data": object{"k": "v"}})
		assert.Equal(a, fieldsOf(cm, "me", "Apply"), fieldsOf(cm, "you", "Apply"))
	}},
	{"ApplyConflictsWithUpdates", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.configmaps("?fieldManager=creator"), configmap("a"))
		status := a.refusedApply(http.StatusConflict, metav1.StatusReasonConflict, "a", "?fieldManager=me", object{"data": object{"k": "w"}})
		require.Len(a, status.Details.Causes, 1)
		assert.Contains(a, status.Details.Causes[0].Message, `conflict with "creator" using v1`)
	}},
	{"ApplyNeedsAFieldManager", func(a *api) {
		status := a.refusedApply(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a", "", object{})
		assert.Equal(a, "fieldManager", status.Details.Causes[0].Field)
	}},
	{"ForceIsForApplyOnly", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", a.configmaps("a", "?force=true"), object{}, header{"Content-Type", "application/merge-patch+json"})
	}},
	{"ApplyReadsYAML", func(a *api) {
		cm := a.expect(http.StatusCreated, "PATCH", a.configmaps("a", "?fieldManager=me"), raw("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"), asApply)
		assert.Equal(a, object{"k": "v"}, cm["data"])
	}},
	{"ApplyWithoutANameIsRefused", func(a *api) {
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.configmaps("a", "?fieldManager=me"), object{"apiVersion": "v1", "kind": "ConfigMap"}, asApply)
	}},
	{"ApplyRefusesGarbage", func(a *api) {
		for _, body := range []raw{"{", "[]", "a: b: c", "apiVersion: v1\nkind: Pod\n", "kind: ConfigMap\n"} {
			a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.configmaps("a", "?fieldManager=me"), body, asApply)
		}
	}},
	{"ApplyRefusesManagedFields", func(a *api) {
		a.refusedApply(http.StatusBadRequest, metav1.StatusReasonBadRequest, "a", "?fieldManager=me", object{"metadata": object{"managedFields": []any{}}})
	}},
	{"ApplyRefusesFieldsThatTheKindDoesNotHave", func(a *api) {
		status := a.refusedApply(http.StatusInternalServerError, "", "a", "?fieldManager=me", object{"nothing": 1})
		assert.Contains(a, status.Message, ".nothing: field not declared in schema")
	}},
	{"ApplyRefusesADuplicateListKey", func(a *api) {
		spec := object{"containers": []any{object{"name": "c", "image": "a"}, object{"name": "c", "image": "b"}}}
		a.refused(http.StatusInternalServerError, "", "PATCH", a.pods("a", "?fieldManager=me"), object{"apiVersion": "v1", "kind": "Pod", "spec": spec}, asApply)
	}},
	{"ApplyInTheWrongVersionIsRefused", func(a *api) {
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PATCH", a.replicasets("a", "?fieldManager=me"), object{"apiVersion": "v1", "kind": "ReplicaSet"}, asApply)
	}},
	{"ApplyOfAUIDDoesNotCreate", func(a *api) {
		a.refusedApply(http.StatusConflict, metav1.StatusReasonConflict, "a", "?fieldManager=me", object{"metadata": object{"uid": "u"}})
	}},
	{"ApplyMergesListsByKey", func(a *api) {
		rs := replicaset("a", 1)
		a.expect(http.StatusCreated, "POST", a.replicasets("?fieldManager=creator"), rs)
		containers := []any{object{"name": "d", "image": "example.test/d"}}
		got := a.expect(http.StatusOK, "PATCH", a.replicasets("a", "?fieldManager=me"), object{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": object{"template": object{"spec": object{"containers": containers}}},
		}, asApply)
		list, _ := value(got, "spec", "template", "spec", "containers").([]any)
		require.Len(a, list, 2)
		assert.Equal(a, []any{"c", "d"}, []any{list[0].(object)["name"], list[1].(object)["name"]})
		assert.Equal(a, object{".": object{}, "f:image": object{}, "f:name": object{}},
			value(fieldsOf(got, "me", "Apply"), "f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"d"}`))
	}},
	{"ApplyToStatusOwnsStatusOnly", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.replicasets("?fieldManager=creator"), replicaset("a", 1))
		got := a.expect(http.StatusOK, "PATCH", a.replicasets("a", "status", "?fieldManager=me"), object{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": object{"replicas": 7}, "status": object{"replicas": 3},
		}, asApply)
		assert.EqualValues(a, 1, value(got, "spec", "replicas"))
		assert.EqualValues(a, 3, value(got, "status", "replicas"))
		assert.Equal(a, []string{"Apply me apps/v1 status", "Update creator apps/v1 "}, managers(got))
		assert.Equal(a, object{"f:status": object{"f:replicas": object{}}}, fieldsOf(got, "me", "Apply"))
	}},
	{"DryRunApplyStoresNothing", func(a *api) {
		cm := a.expect(http.StatusCreated, "PATCH", a.configmaps("a", "?fieldManager=me&dryRun=All"), configuration("a", object{"data": object{"k": "v"}}), asApply)
		assert.Equal(a, object{"k": "v"}, cm["data"])
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.configmaps("a"), nil)
	}},
}

// asApply marks the body of a PATCH as a server-side apply.
var asApply = header{"Content-Type", "application/apply-patch+yaml"}

// configuration is what a client applies to a config map.
func configuration(name string, fields object) object {
	config := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}}
	for k, v := range fields {
		config[k] = v
	}
	return config
}

// applied applies fields to a config map.
func (a *api) applied(code int, name, manager string, fields object) object {
	a.Helper()
	return a.expect(code, "PATCH", a.configmaps(name, "?fieldManager="+manager), configuration(name, fields), asApply)
}

// refusedApply is an apply to a config map that is refused.
func (a *api) refusedApply(code int, reason metav1.StatusReason, name, query string, fields object) metav1.Status {
	a.Helper()
	return a.refused(code, reason, "PATCH", a.configmaps(name)+query, configuration(name, fields), asApply)
}

// managers lists the field managers of an object as "operation name version
// subresource", sorted as the server does, checking what all have in common.
func managers(o object) []string {
	var out []string
	list, _ := metadata(o)["managedFields"].([]any)
	for _, entry := range list {
		e, _ := entry.(object)
		out = append(out, text(e, "operation")+" "+text(e, "manager")+" "+text(e, "apiVersion")+" "+text(e, "subresource"))
	}
	return out
}

// fieldsOf returns what a manager owns by an operation.
func fieldsOf(o object, manager, operation string) object {
	list, _ := metadata(o)["managedFields"].([]any)
	for _, entry := range list {
		e, _ := entry.(object)
		if e["manager"] == manager && e["operation"] == operation {
			fields, _ := e["fieldsV1"].(object)
			return fields
		}
	}
	return nil
}
