package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	replicaset "github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/script"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

func TestReplicaSetScriptConverges(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, script.Play(ctx, &exampleapp.Env{
		Config: cp.Config(), Namespace: newNamespace(t, clientFor(t, cp)), Workers: 4, Once: true, Transcript: demo.NewTranscript(t.Output()),
	}))
}

// replicaSets is what the tests below work with: a control plane that knows the
// example's kind, a namespace, and clients.
type replicaSets struct {
	*testing.T
	cp        *controlplane.ControlPlane
	pods      kubernetes.Interface
	sets      dynamic.ResourceInterface
	namespace string
}

// newReplicaSets installs the example's kind.
func newReplicaSets(t *testing.T, cp *controlplane.ControlPlane) *replicaSets {
	t.Helper()
	require.NoError(t, demo.Install(t.Context(), cp.Config(), api.CRD))
	pods := clientFor(t, cp)
	namespace := newNamespace(t, pods)
	sets, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)

	return &replicaSets{T: t, cp: cp, pods: pods, sets: sets.Resource(api.GroupVersionResource).Namespace(namespace), namespace: namespace}
}

// control runs the example's controller until the test ends.
func (r *replicaSets) control() {
	r.Helper()
	c := replicaset.New(controller.Options{
		Config: r.cp.Config(), Workers: 4, Logger: slog.New(slog.DiscardHandler), Informers: informer.FactoryOptions{Namespaces: []string{r.namespace}},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	r.Cleanup(func() {
		cancel()
		assert.NoError(r, <-ended)
	})
}

// podTemplate is what both kinds of replica sets make pods of.
func podTemplate(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.test/image"}}},
	}
}

// create creates a set of the example's kind.
func (r *replicaSets) create(name string, replicas int32) {
	r.Helper()
	set := &api.ReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: podTemplate(name),
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	require.NoError(r, err)
	_, err = r.sets.Create(r.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	require.NoError(r, err)
}

// scale changes the number of pods that a set should have.
func (r *replicaSets) scale(name string, replicas int) {
	r.Helper()
	_, err := r.sets.Patch(r.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	require.NoError(r, err)
}

// owned returns the active pods of the namespace that a controller of this API
// version and name owns.
func (r *replicaSets) owned(ctx context.Context, apiVersion, name string) ([]corev1.Pod, error) {
	list, err := r.pods.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var owned []corev1.Pod
	for _, pod := range list.Items {
		ref := metav1.GetControllerOf(&pod)
		if ref != nil && ref.APIVersion == apiVersion && ref.Name == name && pod.DeletionTimestamp == nil {
			owned = append(owned, pod)
		}
	}
	return owned, nil
}

// converge waits until a set has its pods, and its status says so.
func (r *replicaSets) converge(name string, replicas int) {
	r.Helper()
	require.EventuallyWithT(r, func(c *assert.CollectT) {
		pods, err := r.owned(r.Context(), api.GroupVersion.String(), name)
		require.NoError(c, err)
		assert.Len(c, pods, replicas)
		set, err := r.sets.Get(r.Context(), name, metav1.GetOptions{})
		require.NoError(c, err)
		var got api.ReplicaSet
		require.NoError(c, runtime.DefaultUnstructuredConverter.FromUnstructured(set.Object, &got))
		assert.EqualValues(c, replicas, got.Status.Replicas)
		assert.Equal(c, got.Generation, got.Status.ObservedGeneration)
	}, patience, 50*time.Millisecond, "set %s did not get its %d pods", name, replicas)
}

// kill deletes n pods of a set.
func (r *replicaSets) kill(name string, n int) {
	r.Helper()
	pods, err := r.owned(r.Context(), api.GroupVersion.String(), name)
	require.NoError(r, err)
	now := int64(0)
	for _, pod := range pods[:n] {
		require.NoError(r, r.pods.CoreV1().Pods(r.namespace).Delete(r.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
}

func TestReplicaSetsConvergeThroughARestartOfTheAPIServer(t *testing.T) {
	t.Parallel()
	r := newReplicaSets(t, dedicated(t, controlplane.Options{}))
	r.control()
	const sets, replicas = 5, 8
	name := func(i int) string { return fmt.Sprintf("set-%d", i) }
	for i := range sets {
		r.create(name(i), replicas)
	}
	for i := range sets {
		r.converge(name(i), replicas)
	}
	for i := range sets {
		r.kill(name(i), 3)
		r.scale(name(i), replicas-i)
	}
	require.NoError(t, r.cp.KillAPIServer()) // in the middle of it
	require.NoError(t, r.cp.StartAPIServer(t.Context()))
	for i := range sets {
		r.converge(name(i), replicas-i)
	}
}

func TestReplicaSetCommandServesTheClusterOfAKubeconfig(t *testing.T) {
	t.Parallel()
	r := newReplicaSets(t, dedicated(t, controlplane.Options{}))
	kubeconfig, err := r.cp.Kubeconfig()
	require.NoError(t, err)
	command := filepath.Join(t.TempDir(), "replicaset")
	out, err := exec.Command("go", "build", "-o", command, "github.com/informerkit/informerkit/examples/replicaset").CombinedOutput()
	require.NoError(t, err, "%s", out)

	var said bytes.Buffer
	cmd := exec.Command(command, "-kubeconfig", kubeconfig)
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	stopped := false
	defer func() {
		if !stopped {
			assert.NoError(t, cmd.Process.Kill())
			assert.Error(t, cmd.Wait())
		}
		t.Logf("it said:\n%s", said.String())
	}()
	r.create("web", 3)
	r.converge("web", 3)

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	stopped = true
	require.NoError(t, cmd.Wait(), "an interrupt is the ordinary end")
}

// The built-in controller of the same name works in the same namespace on pods with
// the same labels, and the built-in garbage collector deletes the pods of a set that
// is gone.
func TestReplicaSetsWorkBesideTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	r := newReplicaSets(t, dedicated(t, controlplane.Options{ControllerManager: true}))
	r.control()
	const replicas = 4
	three := int32(3)
	_, err := r.pods.AppsV1().ReplicaSets(r.namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &three,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web"),
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.create("web", replicas)

	builtInConverges := func() {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			pods, err := r.owned(t.Context(), appsv1.SchemeGroupVersion.String(), "web")
			require.NoError(c, err)
			assert.Len(c, pods, int(three))
		}, patience, 50*time.Millisecond, "the built-in set did not get its pods")
	}
	r.converge("web", replicas)
	builtInConverges()
	r.kill("web", 2)
	r.converge("web", replicas)

	require.NoError(t, r.sets.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		pods, err := r.owned(t.Context(), api.GroupVersion.String(), "web")
		require.NoError(c, err)
		assert.Empty(c, pods)
	}, patience, 50*time.Millisecond, "the garbage collector did not delete the pods of the set")
	builtInConverges()
}
