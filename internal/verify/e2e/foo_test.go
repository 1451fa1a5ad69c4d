package e2e

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/informerkit/informerkit/examples/demo"
	foo "github.com/informerkit/informerkit/examples/foo/api"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/internal/verify/e2e/samplecontroller"
)

// fooOutcome is what a program leaves behind, without what differs by nature:
// names of namespaces, UIDs and times.
type fooOutcome struct {
	Deployments map[string]appsv1.DeploymentSpec
	Labels      map[string]map[string]string
	Owners      map[string][]metav1.OwnerReference
	Statuses    map[string]foo.FooStatus
	Events      []string
}

// The example foo does what k8s.io/sample-controller does with the same manifests: the
// same objects, status and events. (What is different on purpose is not played here: an
// event for an empty name, and no write of a status that is right.) And so does
// sample-controller itself with informers and a queue of this library.
func TestFooDoesWhatTheSampleControllerDoes(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	kubeconfig, err := cp.Kubeconfig()
	require.NoError(t, err)
	upstream, err := controlplane.Build(t.Context(), os.Stderr, controlplane.SampleController)
	require.NoError(t, err)
	require.NoError(t, demo.Install(t.Context(), cp.Config(), crd(t, "foo/crd.yaml")))
	client := clientFor(t, cp)

	want := playFoos(t, cp, client, upstream[0], kubeconfig)
	assert.Len(t, want.Events, 2, "an event of success, and one of refusal: %q", want.Events)
	t.Run("example", func(t *testing.T) {
		assert.Equal(t, want, playFoos(t, cp, client, filepath.Join(examplePrograms(t), "foo"), kubeconfig))
	})
	t.Run("adapted", func(t *testing.T) {
		root, err := filepath.Abs(filepath.Join("..", "..", ".."))
		require.NoError(t, err)
		adapted, err := samplecontroller.Assemble(t.Context(), t.TempDir(), root)
		require.NoError(t, err)
		linked, err := buildinfo.ReadFile(adapted)
		require.NoError(t, err)
		assert.Equal(t, "k8s.io/sample-controller", linked.Path)
		assert.True(t, slices.ContainsFunc(linked.Deps, func(m *debug.Module) bool {
			return m.Path == "github.com/informerkit/informerkit/informer/clientgo"
		}), "it is on the adapters")
		assert.Equal(t, want, playFoos(t, cp, client, adapted, kubeconfig))
	})
}

// playFoos runs a program, does what a user does with Foos, in a namespace of its
// own, and returns what is there in the end.
func playFoos(t *testing.T, cp *controlplane.ControlPlane, client kubernetes.Interface, program, kubeconfig string) fooOutcome {
	t.Helper()
	ctx := t.Context()
	namespace := newNamespace(t, client)
	foos, err := typed.New[*foo.Foo](cp.Config(), foo.Resource, typed.Options{})
	require.NoError(t, err)
	deployments := client.AppsV1().Deployments(namespace)
	running := startExample(t, program, kubeconfig, "-kubeconfig", kubeconfig)

	// The manifest that both READMEs apply.
	var first foo.Foo
	require.NoError(t, yaml.UnmarshalStrict(crd(t, "foo/foo.yaml"), &first))
	first.Namespace = namespace
	_, err = foos.Create(ctx, &first)
	require.NoError(t, err)
	exists := func(name string, replicas int32) (d *appsv1.Deployment) {
		t.Helper()
		eventually(t, func() (err error) {
			d, err = deployments.Get(ctx, name, metav1.GetOptions{})
			if err == nil && *d.Spec.Replicas != replicas {
				err = fmt.Errorf("%d replicas, not %d", *d.Spec.Replicas, replicas)
			}
			return err
		})
		return d
	}
	key := types.NamespacedName{Namespace: namespace, Name: first.Name}
	deployment := exists(first.Spec.DeploymentName, 1)

	_, err = foos.Modify(ctx, key, func(f *foo.Foo) error { *f.Spec.Replicas = 3; return nil })
	require.NoError(t, err)
	exists(deployment.Name, 3)
	require.NoError(t, deployments.Delete(ctx, deployment.Name, metav1.DeleteOptions{}))
	eventually(t, func() error { // it comes back
		d, err := deployments.Get(ctx, deployment.Name, metav1.GetOptions{})
		if err == nil && d.UID == deployment.UID {
			err = fmt.Errorf("the old Deployment is still there")
		}
		return err
	})
	eventually(t, func() error { // as the controller of Deployments would
		d := exists(deployment.Name, 3)
		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 3, 2, 2
		_, err := deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{})
		return err
	})
	eventually(t, func() error {
		f, err := foos.Get(ctx, key)
		if err == nil && f.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("%d replicas are available, not 2", f.Status.AvailableReplicas)
		}
		return err
	})

	// A Deployment that is not the Foo's.
	labels := map[string]string{"app": "taken"}
	_, err = deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "taken"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate("taken")},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = foos.Create(ctx, &foo.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "greedy"},
		Spec:       foo.FooSpec{DeploymentName: "taken"},
	})
	require.NoError(t, err)
	var events []string
	eventually(t, func() error {
		events = eventsOf(t, client, namespace)
		if len(events) < 2 {
			return fmt.Errorf("only these events: %q", events)
		}
		return nil
	})
	require.NoError(t, running.cmd.Process.Signal(os.Interrupt))
	<-running.ended

	out := fooOutcome{map[string]appsv1.DeploymentSpec{}, map[string]map[string]string{}, map[string][]metav1.OwnerReference{}, map[string]foo.FooStatus{}, eventsOf(t, client, namespace)}
	left, err := deployments.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, d := range left.Items {
		for i := range d.OwnerReferences {
			d.OwnerReferences[i].UID = ""
		}
		out.Deployments[d.Name], out.Labels[d.Name], out.Owners[d.Name] = d.Spec, d.Labels, d.OwnerReferences
	}
	all, err := foos.List(ctx, namespace, metav1.ListOptions{})
	require.NoError(t, err)
	for _, f := range all {
		out.Statuses[f.Name] = f.Status
		if err := foos.Delete(ctx, typed.KeyOf(f), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			require.NoError(t, err) // the other program is not to see it
		}
	}
	return out
}

// eventsOf returns what the events of a namespace say, each once. They are the same
// objects in both API groups.
func eventsOf(t *testing.T, client kubernetes.Interface, namespace string) (all []string) {
	t.Helper()
	list, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range list.Items {
		all = append(all, fmt.Sprintf("%s %s: %s %s: %s (%s)",
			e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Type, e.Reason, e.Message, from(e)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// from returns who an event is from: the older recorder writes a source.
func from(e corev1.Event) string {
	if e.Source.Component != "" {
		return e.Source.Component
	}
	return e.ReportingController
}
