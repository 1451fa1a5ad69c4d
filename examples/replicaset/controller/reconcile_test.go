package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

func testSet(replicas int32) *api.ReplicaSet {
	set := &api.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "set-uid", Generation: 7}}
	set.Spec.Replicas = &replicas
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	return set
}

func TestSelectorThatCannotBeServedIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.ReplicaSet)
		says   string
	}{
		"none":          {func(s *api.ReplicaSet) { s.Spec.Selector = nil }, "does not match the labels"},
		"empty":         {func(s *api.ReplicaSet) { s.Spec.Selector = &metav1.LabelSelector{} }, "every pod"},
		"invalid":       {func(s *api.ReplicaSet) { s.Spec.Selector.MatchLabels["app"] = "not valid!" }, "spec.selector"},
		"not its own":   {func(s *api.ReplicaSet) { s.Spec.Template.Labels = nil }, "without end"},
		"other's label": {func(s *api.ReplicaSet) { s.Spec.Template.Labels["app"] = "db" }, "without end"},
	} {
		t.Run(name, func(t *testing.T) {
			set := testSet(1)
			tc.change(set)
			_, err := Selector(set)
			require.ErrorContains(t, err, tc.says)
		})
	}
	selector, err := Selector(testSet(1))
	require.NoError(t, err)
	assert.True(t, selector.Matches(labels.Set{"app": "web"}))
}

func TestNewPodIsOwnedLabelledAndSharesNothingWithTheCache(t *testing.T) {
	set := testSet(1)
	before := set.DeepCopy()
	pod := NewPod(set)

	assert.Equal(t, "web-", pod.GenerateName)
	assert.Equal(t, "default", pod.Namespace)
	assert.Equal(t, map[string]string{"app": "web", "tier": "front", api.Label: api.LabelValue}, pod.Labels)
	ref := metav1.GetControllerOf(pod)
	require.NotNil(t, ref)
	assert.Equal(t, set.UID, ref.UID)
	assert.Equal(t, api.Kind, ref.Kind)

	pod.Labels["app"] = "changed"
	pod.Spec.Containers[0].Image = "changed"
	assert.Equal(t, before, set, "writing to the pod must not reach the cached set")
}

func TestStatusCountsActivePods(t *testing.T) {
	set := testSet(3)
	set.Spec.MinReadySeconds = 60
	full := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", "tier": "front"} }
	bare := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }

	status, again := Status(set, []*corev1.Pod{
		testPod("long", full, readyAt(noon.Add(-time.Hour))),
		testPod("short", full, readyAt(noon.Add(-20*time.Second))),
		testPod("shorter", bare, readyAt(noon.Add(-10*time.Second))),
		testPod("starting", full),
	}, noon)

	assert.EqualValues(t, 4, status.Replicas)
	assert.EqualValues(t, 3, status.FullyLabeledReplicas)
	assert.EqualValues(t, 3, status.ReadyReplicas)
	assert.EqualValues(t, 1, status.AvailableReplicas)
	assert.EqualValues(t, 7, status.ObservedGeneration)
	assert.Equal(t, 40*time.Second, again, "the next pod to become available")
}
