package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runningPod creates a pod and reports it as running, which makes its disruption
// budget count.
func (a *api) runningPod(name string) {
	a.Helper()
	p := pod(name)
	metadata(p)["labels"] = object{"app": "budget"}
	made := a.expect(http.StatusCreated, "POST", a.pods(), p)
	a.expect(http.StatusOK, "PUT", a.pods(name, "status"), a.with(made, "Running", "status", "phase"))
}

func eviction(name string) object {
	return object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": name}}
}

var subresourceTests = []test{
	{"AScaleShowsAndSetsReplicas", func(a *api) {
		for _, kind := range []string{"replicasets", "deployments", "statefulsets"} {
			made := replicaset("r", 2)
			switch kind {
			case "deployments":
				made["kind"] = "Deployment"
			case "statefulsets":
				made["kind"] = "StatefulSet"
				made = a.with(made, "s", "spec", "serviceName")
			}
			path := a.path("/apis/apps/v1", kind, nil)
			made = a.expect(http.StatusCreated, "POST", path, made)
			scale := a.expect(http.StatusOK, "GET", path+"/r/scale", nil)
			assert.Equal(a, "Scale", scale["kind"])
			assert.Equal(a, "autoscaling/v1", scale["apiVersion"])
			assert.Equal(a, uidOf(made), uidOf(scale))
			assert.Equal(a, rv(made), rv(scale))
			assert.Equal(a, object{"replicas": 2.0}, scale["spec"])
			assert.Equal(a, object{"replicas": 0.0, "selector": "app=r"}, scale["status"])

			scaled := a.expect(http.StatusOK, "PUT", path+"/r/scale", a.with(scale, 5, "spec", "replicas"))
			assert.Equal(a, object{"replicas": 5.0}, scaled["spec"])
			assert.NotEqual(a, rv(scale), rv(scaled))
			got := a.expect(http.StatusOK, "GET", path+"/r", nil)
			assert.EqualValues(a, 5, value(got, "spec", "replicas"))
			assert.EqualValues(a, 2, metadata(got)["generation"])

			a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PUT", path+"/r/scale", a.with(scale, 6, "spec", "replicas"))
			scaled = a.expect(http.StatusOK, "PATCH", path+"/r/scale", raw(`{"spec":{"replicas":0}}`), mergePatch)
			assert.Empty(a, scaled["spec"])
			a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PATCH", path+"/r/scale", raw(`{"spec":{"replicas":-1}}`), mergePatch)
			a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", path+"/absent/scale", nil)
		}
	}},
	{"ACustomResourceIsScaledByItsPaths", func(a *api) {
		group := a.defineWith("Namespaced", object{"status": object{}, "scale": object{
			"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector",
		}})
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		made := a.expect(http.StatusCreated, "POST", path, widget(group, "a", 3))
		a.expect(http.StatusOK, "PUT", path+"/a/status", a.with(a.with(made, 1, "status", "size"), "a=b", "status", "selector"))
		scale := a.expect(http.StatusOK, "GET", path+"/a/scale", nil)
		assert.Equal(a, object{"replicas": 3.0}, scale["spec"])
		assert.Equal(a, object{"replicas": 1.0, "selector": "a=b"}, scale["status"])
		a.expect(http.StatusOK, "PATCH", path+"/a/scale", raw(`{"spec":{"replicas":7}}`), mergePatch)
		got := a.expect(http.StatusOK, "GET", path+"/a", nil)
		assert.EqualValues(a, 7, value(got, "spec", "size"))
		assert.EqualValues(a, 1, value(got, "status", "size"))
		for _, m := range metadata(got)["managedFields"].([]any) {
			if m.(object)["subresource"] == "scale" {
				assert.NotContains(a, m, "time", "API servers lose it")
			}
		}
	}},
	{"ACustomResourceIsScaledWithoutASelector", func(a *api) {
		group := a.defineWith("Namespaced", object{"status": object{}, "scale": object{
			"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
		}})
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		a.expect(http.StatusCreated, "POST", path, widget(group, "a", 3))
		scale := a.expect(http.StatusOK, "GET", path+"/a/scale", nil)
		assert.Equal(a, object{"replicas": 3.0}, scale["spec"])
		assert.Equal(a, object{"replicas": 0.0}, scale["status"])
		scale = a.expect(http.StatusOK, "PUT", path+"/a/scale", a.with(scale, 5, "spec", "replicas"))
		assert.Equal(a, object{"replicas": 5.0}, scale["spec"])
	}},
	{"SubresourcesAreDiscovered", func(a *api) {
		apps := a.expect(http.StatusOK, "GET", "/apis/apps/v1", nil)["resources"]
		scale := find(apps, "deployments/scale")
		require.NotNil(a, scale)
		assert.Equal(a, "Scale", scale["kind"])
		assert.Equal(a, "autoscaling", scale["group"])
		assert.Equal(a, "v1", scale["version"])
		assert.ElementsMatch(a, []any{"get", "patch", "update"}, scale["verbs"])
		core := a.expect(http.StatusOK, "GET", "/api/v1", nil)["resources"]
		for name, kind := range map[string]string{"pods/eviction": "Eviction", "pods/binding": "Binding", "serviceaccounts/token": "TokenRequest"} {
			sub := find(core, name)
			require.NotNil(a, sub, name)
			assert.Equal(a, kind, sub["kind"])
			assert.Equal(a, []any{"create"}, sub["verbs"])
		}
		access := find(a.expect(http.StatusOK, "GET", "/apis/authorization.k8s.io/v1", nil)["resources"], "selfsubjectaccessreviews")
		require.NotNil(a, access)
		assert.Equal(a, []any{"create"}, access["verbs"])
	}},
	{"APodIsBoundOnce", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.pods(), pod("p"))
		binding := object{"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": "p"}, "target": object{"kind": "Node", "name": "n1"}}
		done := a.expect(http.StatusCreated, "POST", a.pods("p", "binding"), binding)
		assert.Equal(a, "Success", done["status"])
		got := a.expect(http.StatusOK, "GET", a.pods("p"), nil)
		assert.Equal(a, "n1", text(got, "spec", "nodeName"))
		conditions, _ := value(got, "status", "conditions").([]any)
		require.Len(a, conditions, 1)
		assert.Equal(a, "PodScheduled", conditions[0].(object)["type"])
		status := a.refused(http.StatusConflict, metav1.StatusReasonConflict, "POST", a.pods("p", "binding"), binding)
		assert.Contains(a, status.Message, `pod p is already assigned to node "n1"`)
		a.refused(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "PUT", a.pods("p", "binding"), binding)
	}},
	{"AnEvictionDeletes", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.pods(), pod("p"))
		done := a.expect(http.StatusCreated, "POST", a.pods("p", "eviction"), eviction("p"))
		assert.Equal(a, "Success", done["status"])
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "GET", a.pods("p"), nil)
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "POST", a.pods("p", "eviction"), eviction("p"))
	}},
	{"ADisruptionBudgetRefusesEvictions", func(a *api) {
		budgets := a.path("/apis/policy/v1", "poddisruptionbudgets", nil)
		a.runningPod("p")
		made := a.expect(http.StatusCreated, "POST", budgets, object{
			"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": object{"name": "b"},
			"spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"app": "budget"}}},
		})
		status := a.refused(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "POST", a.pods("p", "eviction"), eviction("p"))
		assert.Equal(a, "Cannot evict pod as it would violate the pod's disruption budget.", status.Message)
		require.NotNil(a, status.Details)
		require.Len(a, status.Details.Causes, 1)
		assert.EqualValues(a, "DisruptionBudget", status.Details.Causes[0].Type)
		assert.Contains(a, status.Details.Causes[0].Message, "still being processed")

		seen := a.expect(http.StatusOK, "PUT", budgets+"/b/status", a.with(made, 1, "status", "observedGeneration"))
		status = a.refused(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "POST", a.pods("p", "eviction"), eviction("p"))
		assert.Contains(a, status.Details.Causes[0].Message, "The disruption budget b needs 0 healthy pods and has 0 currently")

		a.expect(http.StatusOK, "PUT", budgets+"/b/status", a.with(seen, 1, "status", "disruptionsAllowed"))
		a.expect(http.StatusCreated, "POST", a.pods("p", "eviction"), eviction("p"))
		left := a.expect(http.StatusOK, "GET", budgets+"/b", nil)
		assert.EqualValues(a, 0, value(left, "status", "disruptionsAllowed"))
		assert.Contains(a, value(left, "status", "disruptedPods"), "p")
		a.expect(http.StatusOK, "DELETE", budgets+"/b", nil)
	}},
	{"EphemeralContainersAreAdded", func(a *api) {
		made := a.expect(http.StatusCreated, "POST", a.pods(), pod("p"))
		debug := []any{object{"name": "debug", "image": "example.test/image"}}
		got := a.expect(http.StatusOK, "PUT", a.pods("p", "ephemeralcontainers"), a.with(a.with(made, debug, "spec", "ephemeralContainers"), 9, "spec", "activeDeadlineSeconds"))
		list, _ := value(got, "spec", "ephemeralContainers").([]any)
		require.Len(a, list, 1)
		assert.Equal(a, "File", list[0].(object)["terminationMessagePolicy"])
		assert.Nil(a, value(got, "spec", "activeDeadlineSeconds"), "nothing else is written")
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PUT", a.pods("p"), without(got, "spec", "ephemeralContainers"))
	}},
	{"ANamespaceIsFinalized", func(a *api) {
		name := a.ns + "-x"
		made := a.expect(http.StatusCreated, "POST", "/api/v1/namespaces", object{"metadata": object{"name": name}})
		got := a.expect(http.StatusOK, "PUT", "/api/v1/namespaces/"+name+"/finalize", a.with(made, []any{}, "spec", "finalizers"))
		assert.Nil(a, value(got, "spec", "finalizers"))
		a.expect(http.StatusOK, "DELETE", "/api/v1/namespaces/"+name, nil)
	}},
	{"AServiceAccountGetsATokenThatIsItsOwn", func(a *api) {
		accounts := a.path("/api/v1", "serviceaccounts", nil)
		a.expect(http.StatusCreated, "POST", accounts, object{"metadata": object{"name": "robot"}})
		got := a.expect(http.StatusCreated, "POST", accounts+"/robot/token", object{"spec": object{"audiences": nil}})
		assert.Equal(a, "TokenRequest", got["kind"])
		assert.NotEmpty(a, text(got, "status", "expirationTimestamp"))
		assert.EqualValues(a, 3600, value(got, "spec", "expirationSeconds"))
		who := a.expect(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", object{"spec": object{"token": text(got, "status", "token")}})
		assert.Equal(a, true, value(who, "status", "authenticated"))
		assert.Equal(a, "system:serviceaccount:"+a.ns+":robot", text(who, "status", "user", "username"))
		who = a.expect(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", object{"spec": object{"token": "x"}})
		assert.NotEqual(a, true, value(who, "status", "authenticated"))
		a.refused(http.StatusNotFound, metav1.StatusReasonNotFound, "POST", accounts+"/absent/token", object{"spec": object{}})
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", accounts+"/robot/token", object{"spec": object{"expirationSeconds": 5}})
	}},
	{"AccessIsReviewed", func(a *api) {
		root := "/apis/authorization.k8s.io/v1/"
		attributes := object{"verb": "get", "resource": "pods", "namespace": a.ns}
		own := a.expect(http.StatusCreated, "POST", root+"selfsubjectaccessreviews", object{"spec": object{"resourceAttributes": attributes}})
		assert.Equal(a, "SelfSubjectAccessReview", own["kind"])
		assert.Equal(a, true, value(own, "status", "allowed"))
		admin := object{"resourceAttributes": attributes, "user": "someone", "groups": []any{"system:masters"}}
		other := a.expect(http.StatusCreated, "POST", root+"subjectaccessreviews", object{"spec": admin})
		assert.Equal(a, true, value(other, "status", "allowed"))
		local := a.expect(http.StatusCreated, "POST", root+"namespaces/"+a.ns+"/localsubjectaccessreviews", object{"spec": admin})
		assert.Equal(a, true, value(local, "status", "allowed"))
		rules := a.expect(http.StatusCreated, "POST", root+"selfsubjectrulesreviews", object{"spec": object{"namespace": a.ns}})
		assert.NotEmpty(a, value(rules, "status", "resourceRules"))
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", root+"selfsubjectaccessreviews", object{"spec": object{}})
		a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "POST", root+"subjectaccessreviews", object{"spec": object{"resourceAttributes": attributes}})
		a.refused(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "GET", root+"selfsubjectaccessreviews", nil)
		me := a.expect(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", object{})
		assert.NotEmpty(a, text(me, "status", "userInfo", "username"))
	}},
}
