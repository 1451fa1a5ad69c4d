package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/examples/workqueue/script"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

func TestWorkqueueScriptConverges(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, script.Play(ctx, &exampleapp.Env{
		Config: cp.Config(), Namespace: newNamespace(t, clientFor(t, cp)), Once: true, Transcript: demo.NewTranscript(t.Output()),
	}))
}

// reports collects what the workqueue example reports.
type reports struct {
	sync.Mutex
	all []string
}

func (r *reports) report(_ context.Context, report controller.Report) error {
	r.Lock()
	defer r.Unlock()
	r.all = append(r.all, report.Pod.Name+" "+report.State())
	return nil
}

// sorted returns what was reported so far.
func (r *reports) sorted() []string {
	r.Lock()
	defer r.Unlock()
	return slices.Sorted(slices.Values(r.all))
}

// runWorkqueue runs the example's controller until the test ends.
func runWorkqueue(t *testing.T, cp *controlplane.ControlPlane, namespace string) *reports {
	t.Helper()
	reported := &reports{}
	c, err := controller.New(cp.Config(), controller.Options{Namespace: namespace, Send: reported.report})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 4) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return reported
}

// createLabelled creates a pod that the example looks at, and others nearby that it
// must not.
func createLabelled(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{controller.Label: controller.LabelValue}},
		Spec:       podTemplate(name).Spec,
	}
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	pod.Name, pod.Labels = name+"-unlabelled", nil
	_, err = client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// setPhase reports a phase for a pod, in the place of a kubelet.
func setPhase(t *testing.T, client kubernetes.Interface, namespace, name string, phase corev1.PodPhase) {
	t.Helper()
	pod, err := client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Phase = phase
	_, err = client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// Whatever the watch and the relists after the restart deliver, each change is
// reported once.
func TestWorkqueueExampleReportsEachChangeOnceThroughARestartOfTheAPIServer(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	namespace := newNamespace(t, client)
	createLabelled(t, client, namespace, "early")
	reported := runWorkqueue(t, cp, namespace)
	expect := func(want ...string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.Equal(c, want, reported.sorted())
		}, patience, 50*time.Millisecond)
	}
	expect("early Pending")
	createLabelled(t, client, namespace, "late")
	expect("early Pending", "late Pending")

	setPhase(t, client, namespace, "early", corev1.PodRunning)
	setPhase(t, client, namespace, "early-unlabelled", corev1.PodRunning)
	require.NoError(t, cp.KillAPIServer())
	require.NoError(t, cp.StartAPIServer(t.Context()))
	setPhase(t, client, namespace, "late", corev1.PodRunning)
	expect("early Pending", "early Running", "late Pending", "late Running")

	now := int64(0)
	require.NoError(t, client.CoreV1().Pods(namespace).Delete(t.Context(), "late", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	expect("early Pending", "early Running", "late Pending", "late Running", "late gone")
}
