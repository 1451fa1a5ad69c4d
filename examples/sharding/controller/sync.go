package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/workqueue"
)

// sync brings the Deployment of one Foo to what the Foo asks for. The context ends if the
// part is lost.
func (c *Controller) sync(ctx context.Context, part *sharding.Part, key types.NamespacedName) (workqueue.Result, error) {
	foo, exists := c.foos.Snapshot().Get(key)
	// It may have been made again while this began: then it is in another part.
	if !exists || c.ranges.KeyOf(foo).Part != part.Index {
		return workqueue.Result{}, nil
	}
	if foo.Spec.DeploymentName == "" {
		return workqueue.Result{}, workqueue.Terminal(fmt.Errorf("foo %s: spec.deploymentName is empty", key))
	}
	name := types.NamespacedName{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}
	deployment, err := c.deployments.Lister().Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return workqueue.Result{}, err
	}
	asked := err == nil && isScaled(foo, deployment)
	if asked && MarkOf(foo, Done).Generation == foo.Generation {
		return workqueue.Result{}, nil
	}

	mark := Mark{Replica: c.opts.Identity, Part: part.Index, Term: part.Transitions, Generation: foo.Generation}
	if _, err := c.mark(ctx, key, mark, Working, ""); err != nil {
		return workqueue.Result{}, err
	}
	var written *appsv1.Deployment
	switch {
	case deployment == nil:
		// If it exists, it is not the Foo's, or the cache of a new owner does not have it yet:
		// then an error says so, and it is tried again.
		written, err = c.deploymentClient.Create(ctx, newDeployment(foo))
	case !metav1.IsControlledBy(deployment, foo):
		err = fmt.Errorf("deployment %s is not controlled by foo %s", name, key)
	case !asked:
		written, err = c.scale(ctx, name, foo)
	default:
		err = nil
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	// Not again before the caches have what was written: it would look undone. They are two, and
	// either may be behind the other.
	var seen workqueue.Condition
	if written != nil {
		seen = c.deployments.Seen(written)
	}
	marked, err := c.mark(ctx, key, mark, Done, Working)
	if err != nil {
		return workqueue.Result{Until: seen}, err
	}
	return workqueue.Result{Until: workqueue.All(seen, c.foos.Seen(marked))}, nil
}

// mark writes a mark. The writes carry no resourceVersion on purpose: with one, the server
// would refuse the second of two replicas, and the demo could not count that there were two.
func (c *Controller) mark(ctx context.Context, key types.NamespacedName, m Mark, set, remove string) (*api.Foo, error) {
	patch, err := m.patch(set, remove)
	if err != nil {
		return nil, err
	}
	foo, err := c.fooClient.Patch(ctx, key, types.MergePatchType, patch)
	if err != nil {
		return nil, fmt.Errorf("mark foo %s: %w", key, err)
	}
	return foo, nil
}

func (c *Controller) scale(ctx context.Context, name types.NamespacedName, foo *api.Foo) (*appsv1.Deployment, error) {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas(foo))
	scaled, err := c.deploymentClient.Patch(ctx, name, types.MergePatchType, patch)
	if err != nil {
		return nil, fmt.Errorf("scale deployment %s: %w", name, err)
	}
	return scaled, nil
}

// replicas is what a Foo asks for.
func replicas(foo *api.Foo) int32 {
	if foo.Spec.Replicas == nil {
		return 1
	}
	return *foo.Spec.Replicas
}

func isScaled(foo *api.Foo, deployment *appsv1.Deployment) bool {
	return deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == replicas(foo)
}

// newDeployment returns the Deployment of a Foo, which controls it.
func newDeployment(foo *api.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	count := replicas(foo)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: foo.Spec.DeploymentName, Namespace: foo.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, api.Kind)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}
