package informertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
)

// pod is a pod of the default namespace, on a node unless that is empty.
func pod(name, node string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "a"}, OwnerReferences: owners},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func TestPodsOnNodesAreDeletedGracefully(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(pod("p", "n")))
		require.NoError(t, server.Create(pod("free", "")))
		ended := pod("ended", "n")
		ended.Status.Phase = corev1.PodSucceeded
		require.NoError(t, server.Create(ended))
		get := func() map[string]any {
			_, body, _ := ask(t, server, "GET pods/p", "")
			return body["metadata"].(map[string]any)
		}
		run(t, server, []request{
			{"DELETE pods/free", "", 200, `"deletionGracePeriodSeconds":0`},
			{"GET pods/free", "", 404, ""},
			{"DELETE pods/ended", "", 200, ""},
			{"GET pods/ended", "", 404, ""},
			{"DELETE pods/p", "", 200, `"deletionGracePeriodSeconds":30,"deletionTimestamp":"2000-01-01T00:00:30Z","generation":2`},
		})
		before := get()["resourceVersion"]
		run(t, server, []request{
			{"DELETE pods/p", "", 200, ""}, // again, which changes nothing
			{"DELETE pods/p", `{"gracePeriodSeconds":60}`, 200, ""},
		})
		assert.Equal(t, before, get()["resourceVersion"])
		time.Sleep(5 * time.Second)
		run(t, server, []request{{"DELETE pods/p", `{"gracePeriodSeconds":10}`, 200, `"deletionGracePeriodSeconds":10,"deletionTimestamp":"2000-01-01T00:00:10Z","generation":2`}})
		time.Sleep(time.Hour)
		run(t, server, []request{
			{"GET pods/p", "", 200, ""}, // a cluster's kubelet has the last word, not time
			{"PATCH:merge pods/p", `{"metadata":{"labels":{"x":"y"}}}`, 200, ""},
			{"DELETE pods/p", `{"gracePeriodSeconds":0}`, 200, ""},
			{"GET pods/p", "", 404, ""},
		})
	})
}

func TestEvictionLooksAtReadiness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy           string
		current, desired string
		ready            string
		code             int
	}{
		"not ready, budget healthy":                {``, "2", "2", "False", 201},
		"not ready, budget healthy, by policy":     {`,"unhealthyPodEvictionPolicy":"IfHealthyBudget"`, "2", "2", "False", 201},
		"not ready, budget unhealthy, AlwaysAllow": {`,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, "1", "2", "False", 201},
		"not ready, budget unhealthy":              {``, "1", "2", "False", 429},
		"not ready, nothing wanted":                {``, "0", "0", "False", 429},
		"ready, AlwaysAllow":                       {`,"unhealthyPodEvictionPolicy":"AlwaysAllow"`, "2", "2", "True", 429},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := informertest.Start(t, informertest.Options{})
			p := pod("p", "n")
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(c.ready)}}
			require.NoError(t, server.Create(p))
			run(t, server, []request{
				{"POST /apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"name":"b"},"spec":{"minAvailable":2,"selector":{"matchLabels":{"app":"a"}}` + c.policy + `}}`, 201, ""},
				{"PATCH:merge /apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status", `{"status":{"observedGeneration":1,"disruptionsAllowed":0,"expectedPods":3,"currentHealthy":` + c.current + `,"desiredHealthy":` + c.desired + `}}`, 200, ""},
				{"POST pods/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`, c.code, ""},
			})
			if c.code == 201 {
				run(t, server, []request{{"GET pods/p", "", 200, `"reason":"EvictionByEvictionAPI"`}, {"GET pods/p", "", 200, `"deletionTimestamp"`}})
			}
		})
	}
}

func TestCollectGarbage(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	yes := true
	create := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		for _, o := range owners {
			cm.OwnerReferences = append(cm.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &yes})
		}
		require.NoError(t, server.Create(cm))
		return cm
	}
	exist := func(names ...string) {
		t.Helper()
		list, err := server.List(schemaOf("", "configmaps"), "default", nil)
		require.NoError(t, err)
		var have []string
		for _, o := range list {
			have = append(have, o.GetName())
		}
		assert.Equal(t, names, have)
	}
	a, other := create("a"), create("other")
	b := create("b", a)
	create("c", b)
	create("shared", a, other)
	stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "gone"}}
	create("impostor", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "another"}})
	create("lost", stranger)
	require.NoError(t, server.CollectGarbage())
	exist("a", "b", "c", "other", "shared")

	before := server.ResourceVersion()
	require.NoError(t, server.CollectGarbage())
	assert.Equal(t, before, server.ResourceVersion(), "nothing is left to do")

	run(t, server, []request{{"DELETE configmaps/a", "", 200, ""}})
	require.NoError(t, server.CollectGarbage())
	exist("other", "shared")
	run(t, server, []request{{"GET configmaps/shared", "", 200, `"ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"kind":"ConfigMap","name":"other"`}})

	run(t, server, []request{{"DELETE configmaps/other", `{"propagationPolicy":"Orphan"}`, 200, ""}})
	exist("other", "shared")
	require.NoError(t, server.CollectGarbage())
	exist("shared")
	code, body, _ := ask(t, server, "GET configmaps/shared", "")
	assert.Equal(t, 200, code)
	assert.NotContains(t, body["metadata"], "ownerReferences")
}

func TestForegroundDeletionWaitsForTheDependents(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	yes := true
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "o"}}
	require.NoError(t, server.Create(owner))
	require.NoError(t, server.Create(pod("p", "n", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: owner.UID, BlockOwnerDeletion: &yes})))
	unknown := pod("q", "", metav1.OwnerReference{APIVersion: "x.test/v1", Kind: "Unknown", Name: "o", UID: types.UID("u")})
	require.NoError(t, server.Create(unknown))
	run(t, server, []request{{"DELETE configmaps/o", `{"propagationPolicy":"Foreground"}`, 200, `"foregroundDeletion"`}})
	require.NoError(t, server.CollectGarbage())
	run(t, server, []request{
		{"GET pods/p", "", 200, `"deletionTimestamp"`},
		{"GET pods/q", "", 200, ""}, // the kind of its owner is not known
		{"GET configmaps/o", "", 200, ""},
	})
	n, err := server.StepPods(informertest.PodsTerminate, "", nil)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.NoError(t, server.CollectGarbage())
	run(t, server, []request{{"GET pods/p", "", 404, ""}, {"GET configmaps/o", "", 404, ""}})
}

func TestStepPods(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	for _, p := range []*corev1.Pod{pod("a", ""), pod("b", "n"), pod("c", "n")} {
		require.NoError(t, server.Create(p))
	}
	other := pod("other", "")
	other.Labels = nil
	require.NoError(t, server.Create(other))
	app := labels.SelectorFromSet(labels.Set{"app": "a"})
	step := func(step informertest.PodStep, selector labels.Selector, want int) {
		t.Helper()
		n, err := server.StepPods(step, "default", selector)
		require.NoError(t, err)
		assert.Equal(t, want, n)
	}
	step(informertest.PodsTerminate, app, 0)
	step(informertest.PodsSucceed, app, 2) // those with a node
	step(informertest.PodsReady, app, 1)
	step(informertest.PodsReady, app, 0)
	run(t, server, []request{
		{"GET pods/a", "", 200, `"phase":"Running"`},
		{"GET pods/a", "", 200, `"ready":true`},
		{"GET pods/b", "", 200, `"phase":"Succeeded"`},
		{"GET pods/other", "", 200, `"phase":"Pending"`},
		{"DELETE pods/a", "", 200, ""},
		{"GET pods/a", "", 200, `"deletionTimestamp"`},
	})
	step(informertest.PodsReady, nil, 1)
	step(informertest.PodsTerminate, nil, 1)
	_, err := server.Get(schemaOf("", "pods"), "default", "a")
	assert.True(t, apierrors.IsNotFound(err))
	step(informertest.PodsFail, nil, 1)
	_, err = server.StepPods("Frob", "", nil)
	assert.ErrorContains(t, err, "informertest: unknown step")
}
