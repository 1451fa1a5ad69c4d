package conformance

import (
	"net/http"
	"strconv"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// number reads a resourceVersion; within one resource they grow.
func (a *api) number(o object) uint64 {
	a.Helper()
	n, err := strconv.ParseUint(rv(o), 10, 64)
	require.NoError(a, err)
	return n
}

var updateTests = []test{
	{"TheVersionGrowsAndTheIdentityStays", func(a *api) {
		before := a.makeConfigmap("a")
		after := a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(before, "w", "data", "k"))
		assert.Greater(a, a.number(after), a.number(before))
		assert.Equal(a, uidOf(before), uidOf(after))
		assert.Equal(a, "w", text(after, "data", "k"))
	}},
	{"AStaleVersionIsAConflict", func(a *api) {
		before := a.makeConfigmap("a")
		a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(before, "w", "data", "k"))
		status := a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PUT", a.configmaps("a"), a.with(before, "x", "data", "k"))
		assert.Contains(a, status.Message, "the object has been modified; please apply your changes to the latest version and try again")
	}},
	{"NoVersionMeansUnconditionally", func(a *api) {
		a.makeConfigmap("a")
		got := a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(configmap("a"), "w", "data", "k"))
		assert.Equal(a, "w", text(got, "data", "k"))
	}},
	{"AnotherIdentityIsAConflict", func(a *api) {
		before := a.makeConfigmap("a")
		a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PUT", a.configmaps("a"),
			a.with(before, "11111111-1111-1111-1111-111111111111", "metadata", "uid"))
	}},
	{"AMissingObjectIsNotFound", func(a *api) {
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "PUT", a.configmaps("a"), configmap("a"))
	}},
	{"AnotherNameIsABadRequest", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "PUT", a.configmaps("a"), configmap("b"))
	}},
	{"AWriteOfTheSameKeepsTheVersion", func(a *api) {
		before := a.makeConfigmap("a")
		after := a.expect(http.StatusOK, "PUT", a.configmaps("a"), before)
		assert.Equal(a, rv(before), rv(after))
	}},
	{"TheServersMetadataIsKept", func(a *api) {
		before := a.makeConfigmap("a")
		sent := a.with(before, "2001-01-01T00:00:00Z", "metadata", "creationTimestamp")
		sent = without(sent, "metadata", "uid")
		after := a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(sent, "w", "data", "k"))
		assert.Equal(a, metadata(before)["creationTimestamp"], metadata(after)["creationTimestamp"])
		assert.Equal(a, uidOf(before), uidOf(after))
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PUT", a.configmaps("a"),
			a.with(after, "2001-01-01T00:00:00Z", "metadata", "deletionTimestamp"))
	}},
	{"TheGenerationCountsChangesOfTheSpec", func(a *api) {
		rs := a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a"), a.with(rs, "1", "metadata", "labels", "l"))
		assert.EqualValues(a, 1, metadata(rs)["generation"], "labels do not count")
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a"), a.with(rs, 3, "spec", "replicas"))
		assert.EqualValues(a, 2, metadata(rs)["generation"])
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a", "status"), a.with(rs, 1, "status", "replicas"))
		assert.EqualValues(a, 2, metadata(rs)["generation"], "status does not count")
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a"), a.with(a.with(rs, 9, "metadata", "generation"), 4, "spec", "replicas"))
		assert.EqualValues(a, 3, metadata(rs)["generation"], "the client does not decide")
	}},
	{"StatusAndSpecAreWrittenApart", func(a *api) {
		rs := a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		both := a.with(a.with(rs, 1, "status", "replicas"), 5, "spec", "replicas")
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a", "status"), both)
		assert.EqualValues(a, 1, value(rs, "status", "replicas"))
		assert.EqualValues(a, 1, value(rs, "spec", "replicas"))
		rs = a.expect(http.StatusOK, "PUT", a.replicasets("a"), a.with(a.with(rs, 7, "status", "replicas"), 5, "spec", "replicas"))
		assert.EqualValues(a, 1, value(rs, "status", "replicas"))
		assert.EqualValues(a, 5, value(rs, "spec", "replicas"))
		read := a.expect(http.StatusOK, "GET", a.replicasets("a", "status"), nil)
		assert.Equal(a, rv(rs), rv(read))
	}},
	{"StatusLocksOptimisticallyToo", func(a *api) {
		rs := a.expect(http.StatusCreated, "POST", a.replicasets(), replicaset("a", 1))
		a.expect(http.StatusOK, "PUT", a.replicasets("a"), a.with(rs, 2, "spec", "replicas"))
		a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PUT", a.replicasets("a", "status"), a.with(rs, 1, "status", "replicas"))
	}},
	{"AKindWithoutStatusHasNoSuchPath", func(a *api) {
		a.makeConfigmap("a")
		ans := a.do("GET", a.configmaps("a", "status"), nil)
		assert.Equal(a, http.StatusNotFound, ans.Code)
	}},
	{"ADryRunChangesNothing", func(a *api) {
		before := a.makeConfigmap("a")
		got := a.expect(http.StatusOK, "PUT", a.configmaps("a", "?dryRun=All"), a.with(before, "w", "data", "k"))
		assert.Equal(a, "w", text(got, "data", "k"))
		assert.Equal(a, before, a.expect(http.StatusOK, "GET", a.configmaps("a"), nil))
	}},
}
