package controller

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

type podOption func(*corev1.Pod)

func testPod(name string, opts ...podOption) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon)}}
	for _, opt := range opts {
		opt(pod)
	}
	return pod
}

func onNode(name string) podOption { return func(p *corev1.Pod) { p.Spec.NodeName = name } }
func inPhase(phase corev1.PodPhase) podOption {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}
func readyAt(t time.Time) podOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t)}}
	}
}
func costing(s string) podOption {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{deletionCost: s} }
}
func restarted(n int32) podOption {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
}
func createdAt(t time.Time) podOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(t) }
}

func TestSurplusGoesInTheDocumentedOrder(t *testing.T) {
	hour := time.Hour
	// Each pod differs from the next by one criterion, in the order of criteria.
	want := []*corev1.Pod{
		testPod("no-node"),
		testPod("pending", onNode("a"), inPhase(corev1.PodPending)),
		testPod("unknown", onNode("a"), inPhase(corev1.PodUnknown)),
		testPod("not-ready", onNode("a"), inPhase(corev1.PodRunning)),
		testPod("cheap", onNode("a"), readyAt(noon), costing("-5")),
		testPod("crowded", onNode("a"), readyAt(noon)),
		testPod("ready-late", onNode("b"), readyAt(noon.Add(hour))),
		testPod("restarts", onNode("b"), readyAt(noon), restarted(3)),
		testPod("young", onNode("b"), readyAt(noon), createdAt(noon.Add(hour))),
		testPod("old", onNode("b"), readyAt(noon)),
		testPod("costly", onNode("a"), readyAt(noon), costing("100")),
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		pods := make([]*corev1.Pod, len(want))
		for i, j := range random.Perm(len(want)) {
			pods[i] = want[j]
		}
		SortForDeletion(pods)
		names := func(pods []*corev1.Pod) (out []string) {
			for _, p := range pods {
				out = append(out, p.Name)
			}
			return out
		}
		require.Equal(t, names(want), names(pods))
	}
}

func TestPodIsAvailableOnceReadyForLongEnough(t *testing.T) {
	pod := testPod("p", readyAt(noon))
	for _, tc := range []struct {
		wait, age time.Duration
		available bool
		after     time.Duration
	}{
		{0, 0, true, 0},
		{time.Minute, time.Minute, true, 0},
		{time.Minute, 20 * time.Second, false, 40 * time.Second},
	} {
		available, after := isAvailable(pod, tc.wait, noon.Add(tc.age))
		assert.Equal(t, tc.available, available, "%+v", tc)
		assert.Equal(t, tc.after, after, "%+v", tc)
	}
	available, after := isAvailable(testPod("q", inPhase(corev1.PodRunning)), 0, noon)
	assert.False(t, available, "a pod that is not ready")
	assert.Zero(t, after)
}

func TestFinishedAndDyingPodsDoNotCount(t *testing.T) {
	now := metav1.NewTime(noon)
	assert.True(t, IsActive(testPod("p", inPhase(corev1.PodPending))))
	assert.True(t, IsActive(testPod("p")))
	assert.False(t, IsActive(testPod("p", inPhase(corev1.PodSucceeded))))
	assert.False(t, IsActive(testPod("p", inPhase(corev1.PodFailed))))
	assert.False(t, IsActive(testPod("p", func(p *corev1.Pod) { p.DeletionTimestamp = &now })))
}
