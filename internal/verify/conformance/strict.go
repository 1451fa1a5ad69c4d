package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// yamlBody is the header of a body in YAML.
var yamlBody = header{"Content-Type", "application/yaml"}

// strictTests are about bodies and options that are not quite right.
var strictTests = []test{
	{"UnknownFieldsAreDroppedWithAWarning", func(a *api) {
		body := raw(`{"metadata":{"name":"a"},"data":{"k":"v","k":"w"},"foo":1}`)
		ans := a.do("POST", a.configmaps("?dryRun=All"), body)
		require.Equal(a, http.StatusCreated, ans.Code, "%s", ans.Raw)
		assert.Equal(a, []string{`299 - "duplicate field \"data.k\""`, `299 - "unknown field \"foo\""`}, ans.Header.Values("Warning"))
		assert.NotContains(a, ans.Object, "foo")
		assert.Equal(a, object{"k": "w"}, ans.Object["data"])
		ans = a.do("POST", a.configmaps("?dryRun=All&fieldValidation=Ignore"), body)
		assert.Equal(a, http.StatusCreated, ans.Code)
		assert.Empty(a, ans.Header.Values("Warning"))
	}},
	{"UnknownFieldsAreRefusedOnRequest", func(a *api) {
		body := raw(`{"metadata":{"name":"a"},"data":{"k":"v"},"foo":1}`)
		status := a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", a.configmaps("?fieldValidation=Strict"), body)
		assert.Equal(a, `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo"`, status.Message)
		a.makeConfigmap("a")
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PUT", a.configmaps("a", "?fieldValidation=Strict"), body)
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", a.configmaps("a", "?fieldValidation=Strict"), raw(`{"foo":1}`), mergePatch)
		ans := a.do("PATCH", a.configmaps("a"), raw(`{"foo":1}`), mergePatch)
		assert.Equal(a, http.StatusOK, ans.Code)
		assert.Equal(a, []string{`299 - "unknown field \"foo\""`}, ans.Header.Values("Warning"))
	}},
	{"FieldsOfAWrongTypeAreRefused", func(a *api) {
		status := a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", a.configmaps(), raw(`{"metadata":{"name":"a"},"data":"text"}`))
		assert.Contains(a, status.Message, "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string")
		a.makeConfigmap("a")
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", a.configmaps("a"), raw(`{"data":"text"}`), mergePatch)
	}},
	{"OptionsOfAWrongValueAreRefused", func(a *api) {
		a.makeConfigmap("a")
		for _, c := range []struct {
			kind, method, path string
			body               any
			headers            []header
		}{
			{"CreateOptions", "POST", a.configmaps(), configmap("b"), nil},
			{"UpdateOptions", "PUT", a.configmaps("a"), configmap("a"), nil},
			{"PatchOptions", "PATCH", a.configmaps("a"), raw(`{}`), []header{mergePatch}},
			{"DeleteOptions", "DELETE", a.configmaps("a"), nil, nil},
		} {
			status := a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.method, c.path+"?dryRun=Some", c.body, c.headers...)
			require.NotNil(a, status.Details)
			assert.Equal(a, c.kind, status.Details.Kind)
			if assert.NotEmpty(a, status.Details.Causes) {
				assert.Equal(a, "dryRun", status.Details.Causes[0].Field)
			}
			if c.method != "DELETE" {
				a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.method, c.path+"?fieldValidation=Some", c.body, c.headers...)
			}
		}
	}},
	{"FinalizersNeedADomain", func(a *api) {
		status := a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", a.configmaps(), a.with(configmap("a"), []any{"nodomain"}, "metadata", "finalizers"))
		require.NotNil(a, status.Details)
		require.NotEmpty(a, status.Details.Causes)
		assert.Equal(a, "metadata.finalizers[0]", status.Details.Causes[0].Field)
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", a.configmaps(), a.with(configmap("a"), []any{"bad name/x"}, "metadata", "finalizers"))
	}},
	{"BodiesMayBeYAML", func(a *api) {
		got := a.expect(http.StatusCreated, "POST", a.configmaps(), raw("metadata:\n  name: a\ndata:\n  k: v\n"), yamlBody)
		assert.Equal(a, object{"k": "v"}, got["data"])
		got = a.expect(http.StatusOK, "PUT", a.configmaps("a"), raw("metadata: {name: a}\ndata: {k: w}\n"), yamlBody)
		assert.Equal(a, object{"k": "w"}, got["data"])
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", a.configmaps(), raw("metadata: [\n"), yamlBody)
	}},
	{"ImmortalNamespacesStay", func(a *api) {
		for _, name := range []string{"default", "kube-system", "kube-public"} {
			status := a.refused(http.StatusForbidden, metav1.StatusReasonForbidden, "DELETE", "/api/v1/namespaces/"+name, nil)
			assert.Equal(a, `namespaces "`+name+`" is forbidden: this namespace may not be deleted`, status.Message)
		}
	}},
}
