package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteOptions is the body of a deletion.
func deleteOptions(members object) object {
	o := object{"apiVersion": "v1", "kind": "DeleteOptions"}
	for k, v := range members {
		o[k] = v
	}
	return o
}

// finalized creates a config map that a finalizer holds.
func (a *api) finalized(name string) object {
	a.Helper()
	return a.expect(http.StatusCreated, "POST", a.configmaps(), a.with(configmap(name), []string{"example.test/hold"}, "metadata", "finalizers"))
}

// release removes all finalizers of a config map.
func (a *api) release(name string) object {
	a.Helper()
	return a.expect(http.StatusOK, "PATCH", a.configmaps(name), raw(`{"metadata":{"finalizers":null}}`), mergePatch)
}

// absent checks that a config map is not there.
func (a *api) absent(name string) {
	a.Helper()
	a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.configmaps(name), nil)
}

var deleteTests = []test{
	{"AnObjectGoesAtOnce", func(a *api) {
		cm := a.makeConfigmap("a")
		got := a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		assert.Equal(a, "Status", got["kind"])
		assert.Equal(a, "Success", got["status"])
		assert.Equal(a, uidOf(cm), text(got, "details", "uid"))
		a.absent("a")
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "DELETE", a.configmaps("a"), nil)
	}},
	{"ARecreatedObjectIsAnotherOne", func(a *api) {
		first := a.makeConfigmap("a")
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		second := a.makeConfigmap("a")
		assert.NotEqual(a, uidOf(first), uidOf(second))
		assert.Greater(a, a.number(second), a.number(first))
	}},
	{"PreconditionsMustHold", func(a *api) {
		cm := a.makeConfigmap("a")
		for _, wrong := range []object{{"uid": "11111111-1111-1111-1111-111111111111"}, {"resourceVersion": "1"}, {"uid": uidOf(cm), "resourceVersion": "1"}} {
			a.refused(http.StatusConflict, metav1.StatusReasonConflict, "DELETE", a.configmaps("a"), deleteOptions(object{"preconditions": wrong}))
		}
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), deleteOptions(object{"preconditions": object{"uid": uidOf(cm), "resourceVersion": rv(cm)}}))
		a.absent("a")
	}},
	{"AFinalizerHoldsTheObject", func(a *api) {
		before := a.finalized("a")
		got := a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		assert.Equal(a, "ConfigMap", got["kind"], "the answer is the object, as it still exists")
		assert.NotEmpty(a, text(got, "metadata", "deletionTimestamp"))
		assert.EqualValues(a, 0, metadata(got)["deletionGracePeriodSeconds"])
		assert.Greater(a, a.number(got), a.number(before))

		again := a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		assert.Equal(a, rv(got), rv(again), "deleting twice changes nothing")

		changed := a.expect(http.StatusOK, "PATCH", a.configmaps("a"), raw(`{"data":{"k":"w"},"metadata":{"deletionTimestamp":null}}`), mergePatch)
		assert.Equal(a, metadata(got)["deletionTimestamp"], metadata(changed)["deletionTimestamp"], "there is no way back")

		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", a.configmaps("a"),
			raw(`{"metadata":{"finalizers":["example.test/hold","example.test/more"]}}`), mergePatch)

		a.release("a")
		a.absent("a")
	}},
	{"PropagationLeavesItsMark", func(a *api) {
		for policy, finalizer := range map[string]string{"Foreground": "foregroundDeletion", "Orphan": "orphan"} {
			// A held object, so that a garbage collector that may run does not win.
			a.finalized("a")
			got := a.expect(http.StatusOK, "DELETE", a.configmaps("a"), deleteOptions(object{"propagationPolicy": policy}))
			assert.Contains(a, metadata(got)["finalizers"], finalizer)
			a.release("a")
			a.absent("a")
		}
		a.makeConfigmap("a")
		a.expect(http.StatusOK, "DELETE", a.configmaps("a", "?propagationPolicy=Background"), nil)
		a.absent("a")
	}},
	{"InvalidOptionsAreRefused", func(a *api) {
		a.makeConfigmap("a")
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "DELETE", a.configmaps("a"), deleteOptions(object{"propagationPolicy": "Sideways"}))
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "DELETE", a.configmaps("a"), raw(`{"kind":`))
	}},
	{"AGracePeriodIsAccepted", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.pods(), pod("a"))
		a.expect(http.StatusOK, "DELETE", a.pods("a", "?gracePeriodSeconds=5"), nil)
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.pods("a"), nil)
	}},
	{"ADryRunDeletesNothing", func(a *api) {
		before := a.makeConfigmap("a")
		a.expect(http.StatusOK, "DELETE", a.configmaps("a", "?dryRun=All"), nil)
		assert.Equal(a, before, a.expect(http.StatusOK, "GET", a.configmaps("a"), nil))
	}},
	{"ACollectionIsDeletedByItsSelector", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		a.makeConfigmap("b", "l", "2")
		a.makeConfigmap("c", "l", "1")
		got := a.expect(http.StatusOK, "DELETE", a.configmaps("?labelSelector=l%3D1"), nil)
		assert.Equal(a, "ConfigMapList", got["kind"])
		_, left := items(a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l"), nil))
		assert.Equal(a, []string{"b"}, left)
	}},
}
