package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// deletions keeps the bodies of the DELETE requests that pass through it.
type deletions struct {
	http.RoundTripper
	mu     sync.Mutex
	bodies []string
}

func (d *deletions) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodDelete {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		d.mu.Lock()
		d.bodies = append(d.bodies, string(body))
		d.mu.Unlock()
	}
	return d.RoundTripper.RoundTrip(req)
}

// createOwner creates an object called web, which gets one pod from its built-in controller.
func createOwner(t *testing.T, client kubernetes.Interface, resource, namespace string, finalizers []string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "web", Finalizers: finalizers}
	template, labels := podTemplate("web"), map[string]string{"app": "web"}
	var err error
	switch resource {
	case "jobs":
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		_, err = client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: template}}, metav1.CreateOptions{})
	case "replicationcontrollers":
		_, err = client.CoreV1().ReplicationControllers(namespace).Create(t.Context(), &corev1.ReplicationController{
			ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: labels, Template: &template},
		}, metav1.CreateOptions{})
	case "replicasets":
		_, err = client.AppsV1().ReplicaSets(namespace).Create(t.Context(), &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		}, metav1.CreateOptions{})
	}
	require.NoError(t, err)
}

// The garbage collector deletes the pods of a Job and of a ReplicationController with it, and keeps them if
// its deletion was asked to orphan them, also before. Other kinds get no policy.
func TestJobsAndReplicationControllersAreDeletedWithTheirPods(t *testing.T) {
	t.Parallel()
	const hold = "e2e.informerkit.test/hold"
	var (
		jobs        = batchv1.SchemeGroupVersion.WithResource("jobs")
		controllers = corev1.SchemeGroupVersion.WithResource("replicationcontrollers")
		replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
		orphan      = []string{metav1.FinalizerOrphanDependents}
		foreground  = []string{metav1.FinalizerDeleteDependents}
	)
	cp := dedicated(t, controlplane.Options{ControllerManager: true})
	clientset := clientFor(t, cp)
	for _, test := range []struct {
		resource   schema.GroupVersionResource
		finalizers []string
		orphaning  bool   // its deletion, with the policy Orphan, is under way
		policy     string // that Delete sends
		podsStay   bool
	}{
		{resource: jobs, policy: "Background"},
		{resource: jobs, finalizers: orphan, podsStay: true},
		{resource: jobs, finalizers: []string{hold}, orphaning: true, podsStay: true},
		{resource: jobs, finalizers: foreground},
		{resource: controllers, policy: "Background"},
		{resource: controllers, finalizers: orphan, podsStay: true},
		{resource: controllers, finalizers: []string{hold}, orphaning: true, podsStay: true},
		{resource: controllers, finalizers: foreground},
		{resource: replicaSets},
		{resource: replicaSets, finalizers: orphan, podsStay: true},
	} {
		t.Run(fmt.Sprint(test.resource.Resource, test.finalizers), func(t *testing.T) {
			t.Parallel()
			var sent deletions
			cfg := rest.CopyConfig(cp.Config())
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				sent.RoundTripper = rt
				return &sent
			})
			owners, err := client.New[*unstructured.Unstructured](cfg, test.resource, client.Options{})
			require.NoError(t, err)
			namespace := newNamespace(t, clientset)
			pods := clientset.CoreV1().Pods(namespace)
			key := types.NamespacedName{Namespace: namespace, Name: "web"}
			createOwner(t, clientset, test.resource.Resource, namespace, test.finalizers)
			var pod corev1.Pod
			eventually(t, func() error {
				list, err := pods.List(t.Context(), metav1.ListOptions{})
				if err != nil || len(list.Items) != 1 {
					return fmt.Errorf("not one pod: %v, %w", list, err)
				}
				pod = list.Items[0]
				return nil
			})
			if test.orphaning {
				policy := metav1.DeletePropagationOrphan
				require.NoError(t, owners.Delete(t.Context(), key, metav1.DeleteOptions{PropagationPolicy: &policy}))
			}
			inForeground := slices.Equal(test.finalizers, foreground)
			if inForeground { // a pod that stays keeps its owner only then
				_, err := pods.Patch(t.Context(), pod.Name, types.JSONPatchType, []byte(`[{"op": "add", "path": "/metadata/finalizers", "value": ["`+hold+`"]}]`), metav1.PatchOptions{})
				require.NoError(t, err)
			}

			require.NoError(t, owners.Delete(t.Context(), key, metav1.DeleteOptions{}))
			body := sent.bodies[len(sent.bodies)-1]
			if test.policy == "" {
				assert.NotContains(t, body, "ropagation")
			} else {
				assert.Contains(t, body, `"propagationPolicy":"`+test.policy+`"`)
			}
			release := []byte(`{"metadata": {"finalizers": null}}`)
			switch {
			case inForeground:
				eventually(t, func() error {
					held, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
					if err == nil && held.DeletionTimestamp == nil {
						err = errors.New("the pod is not being deleted")
					}
					return err
				})
				owner, err := owners.Get(t.Context(), key)
				require.NoError(t, err, "it goes after its pods")
				assert.Contains(t, owner.GetFinalizers(), metav1.FinalizerDeleteDependents)
				_, err = pods.Patch(t.Context(), pod.Name, types.MergePatchType, release, metav1.PatchOptions{})
				require.NoError(t, err)
			case test.orphaning:
				_, err := owners.Patch(t.Context(), key, types.MergePatchType, release)
				require.NoError(t, err)
			}
			eventually(t, func() error {
				_, err := owners.Get(t.Context(), key)
				if !apierrors.IsNotFound(err) {
					return fmt.Errorf("the owner is not deleted: %w", err)
				}
				left, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
				switch {
				case !test.podsStay && !apierrors.IsNotFound(err):
					return fmt.Errorf("the pod is not deleted: %w", err)
				case test.podsStay && (err != nil || left.DeletionTimestamp != nil || len(left.OwnerReferences) > 0):
					return fmt.Errorf("the pod is not orphaned: %v, %w", left, err)
				}
				return nil
			})
		})
	}
}
