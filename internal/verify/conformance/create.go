package conformance

import (
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var createTests = []test{
	{"ServerSetsTheMetadata", func(a *api) {
		sent := configmap("a", "l", "1")
		metadata(sent)["uid"] = "11111111-1111-1111-1111-111111111111"
		metadata(sent)["creationTimestamp"] = "2001-01-01T00:00:00Z"
		metadata(sent)["deletionTimestamp"] = "2001-01-01T00:00:00Z"
		got := a.expect(http.StatusCreated, "POST", a.configmaps(), sent)
		assert.Equal(a, "ConfigMap", got["kind"])
		assert.Equal(a, "v1", got["apiVersion"])
		assert.Equal(a, a.ns, metadata(got)["namespace"])
		assert.NotEmpty(a, rv(got))
		assert.Len(a, uidOf(got), 36)
		assert.NotEqual(a, metadata(sent)["uid"], uidOf(got))
		created, err := time.Parse(time.RFC3339, text(got, "metadata", "creationTimestamp"))
		require.NoError(a, err)
		assert.WithinDuration(a, time.Now(), created, time.Minute)
		assert.NotContains(a, metadata(got), "deletionTimestamp")
		assert.NotContains(a, metadata(got), "generation", "config maps have none")
		assert.Equal(a, object{"k": "v"}, got["data"])
		read := a.expect(http.StatusOK, "GET", a.configmaps("a"), nil)
		assert.Equal(a, got, read, "get shows what create showed")
	}},
	{"GenerationBeginsAtOne", func(a *api) {
		got := a.expect(http.StatusCreated, "POST", a.replicasets(), a.with(replicaset("a", 1), 7, "metadata", "generation"))
		assert.EqualValues(a, 1, metadata(got)["generation"])
	}},
	{"StatusIsIgnored", func(a *api) {
		got := a.expect(http.StatusCreated, "POST", a.replicasets(), a.with(replicaset("a", 1), 5, "status", "replicas"))
		assert.NotEqualValues(a, 5, value(got, "status", "replicas"))
		p := a.expect(http.StatusCreated, "POST", a.pods(), a.with(pod("a"), "Running", "status", "phase"))
		assert.Equal(a, "Pending", text(p, "status", "phase"))
	}},
	{"GenerateNameMakesDistinctNames", func(a *api) {
		sent := configmap("")
		metadata(sent)["generateName"] = "gen-"
		delete(metadata(sent), "name")
		seen := map[string]bool{}
		for range 5 {
			got := a.expect(http.StatusCreated, "POST", a.configmaps(), sent)
			assert.Len(a, nameOf(got), len("gen-")+5)
			assert.True(a, strings.HasPrefix(nameOf(got), "gen-"))
			assert.Equal(a, "gen-", metadata(got)["generateName"])
			seen[nameOf(got)] = true
		}
		assert.Len(a, seen, 5)
	}},
	{"AnExistingNameIsRefused", func(a *api) {
		a.makeConfigmap("a")
		status := a.refused(http.StatusConflict, metav1.StatusReasonAlreadyExists, "POST", a.configmaps(), configmap("a"))
		assert.Equal(a, `configmaps "a" already exists`, status.Message)
		require.NotNil(a, status.Details)
		assert.Equal(a, "a", status.Details.Name)
		assert.Equal(a, "configmaps", status.Details.Kind)
	}},
	{"ANamespaceThatDoesNotExistIsNotFound", func(a *api) {
		status := a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "POST", "/api/v1/namespaces/"+a.ns+"-not/configmaps", configmap("a"))
		assert.Equal(a, `namespaces "`+a.ns+`-not" not found`, status.Message)
	}},
	{"InvalidMetadataIsNamed", func(a *api) {
		for _, c := range []struct {
			field string
			sent  object
		}{
			{"metadata.name", configmap("Not_A_Name")},
			{"metadata.name", without(configmap("a"), "metadata", "name")},
			{"metadata.labels", configmap("a", "not a label", "x")},
			{"metadata.labels", configmap("a", "l", "not a value!")},
		} {
			status := a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", a.configmaps(), c.sent)
			require.NotNil(a, status.Details)
			require.NotEmpty(a, status.Details.Causes)
			assert.Equal(a, c.field, status.Details.Causes[0].Field)
			assert.Equal(a, "ConfigMap", status.Details.Kind)
		}
	}},
	{"AnUnfitBodyIsABadRequest", func(a *api) {
		for name, body := range map[string]any{
			"truncated":         raw(`{"kind":"ConfigMap"`),
			"not an object":     raw(`[1]`),
			"wrong kind":        a.with(configmap("a"), "Secret", "kind"),
			"wrong version":     a.with(configmap("a"), "v2", "apiVersion"),
			"wrong namespace":   a.with(configmap("a"), "default", "metadata", "namespace"),
			"wrong labels type": a.with(configmap("a"), 5, "metadata", "labels"),
		} {
			ans := a.do("POST", a.configmaps(), body)
			assert.Equal(a, http.StatusBadRequest, ans.Code, "%s: %s", name, ans.Raw)
			assert.Equal(a, "BadRequest", ans.Object["reason"], "%s", name)
		}
	}},
	{"AnUnknownMediaTypeIsUnsupported", func(a *api) {
		a.refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "POST", a.configmaps(), configmap("a"), header{"Content-Type", "text/x-unknown"})
	}},
	{"AResourceVersionMustNotBeSet", func(a *api) {
		a.refused(http.StatusInternalServerError, "", "POST", a.configmaps(), a.with(configmap("a"), "1", "metadata", "resourceVersion"))
	}},
	{"ADryRunStoresNothing", func(a *api) {
		got := a.expect(http.StatusCreated, "POST", a.configmaps("?dryRun=All"), configmap("a"))
		assert.NotEmpty(a, uidOf(got))
		assert.Empty(a, rv(got))
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.configmaps("a"), nil)
	}},
	{"AMissingObjectIsNotFound", func(a *api) {
		status := a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.configmaps("absent"), nil)
		assert.Equal(a, `configmaps "absent" not found`, status.Message)
		require.NotNil(a, status.Details)
		assert.Equal(a, "absent", status.Details.Name)
		assert.Equal(a, "configmaps", status.Details.Kind)
		status = a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.replicasets("absent"), nil)
		assert.Equal(a, `replicasets.apps "absent" not found`, status.Message)
		require.NotNil(a, status.Details)
		assert.Equal(a, "apps", status.Details.Group)
	}},
	{"ANamespaceIsActiveAndLabelled", func(a *api) {
		ns := a.expect(http.StatusOK, "GET", "/api/v1/namespaces/"+a.ns, nil)
		assert.Equal(a, "Active", text(ns, "status", "phase"))
		assert.Equal(a, a.ns, text(ns, "metadata", "labels", "kubernetes.io/metadata.name"))
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", "/api/v1/namespaces",
			object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "no.dots"}})
	}},
}
