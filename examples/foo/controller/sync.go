package controller

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/workqueue"
)

// sync brings the Deployment of one Foo to what the Foo asks for, and the status
// of the Foo to what the Deployment has. An error puts the key back, and it is
// tried again later and later; a Terminal one is not tried again before the Foo
// is changed.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	foo, err := c.foos.Lister().Get(key)
	if apierrors.IsNotFound(err) {
		c.log.Debug("a Foo is gone: the garbage collector deletes its Deployment", "object", key)
		return workqueue.Result{}, nil
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	if foo.Spec.DeploymentName == "" {
		c.warn(foo, ErrNoName, MessageNoName)
		return workqueue.Result{}, workqueue.Terminal(errors.New("spec.deploymentName is empty"))
	}

	var seen []workqueue.Condition // of what is written
	deployment, err := c.deployments.Lister().Get(types.NamespacedName{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName})
	if apierrors.IsNotFound(err) {
		deployment, err = c.deploymentClient.Create(ctx, newDeployment(foo))
		if apierrors.IsAlreadyExists(err) {
			// The cache does not have it yet: it was created a moment ago, by us or
			// by another client. Its event brings us back, and so does this error.
			return workqueue.Result{}, fmt.Errorf("create Deployment: %w", err)
		}
		if err == nil {
			c.log.Debug("created the Deployment of a Foo", "object", key, "deployment", deployment.Name)
			seen = append(seen, c.deployments.Seen(deployment))
		}
	}
	if err != nil {
		return workqueue.Result{}, err
	}

	// A Deployment that this Foo does not control is left alone. It is tried again:
	// its deletion leads to no Foo, as it has no owner.
	if !metav1.IsControlledBy(deployment, foo) {
		message := fmt.Sprintf(MessageResourceExists, deployment.Name)
		c.warn(foo, ErrResourceExists, message)
		return workqueue.Result{}, errors.New(message)
	}
	if want := foo.Spec.Replicas; want != nil && (deployment.Spec.Replicas == nil || *want != *deployment.Spec.Replicas) {
		if deployment, err = c.scale(ctx, deployment, *want); err != nil {
			return workqueue.Result{}, fmt.Errorf("scale Deployment: %w", err)
		}
		c.log.Debug("scaled the Deployment of a Foo", "object", key, "deployment", deployment.Name, "replicas", *want)
		seen = append(seen, c.deployments.Seen(deployment))
	}
	written, err := c.writeStatus(ctx, foo, deployment)
	if err != nil {
		return workqueue.Result{}, fmt.Errorf("write status: %w", err)
	}
	if written != nil {
		c.log.Debug("wrote the status of a Foo", "object", key, "available", written.Status.AvailableReplicas)
		seen = append(seen, c.foos.Seen(written))
	}
	c.log.Debug("reconciled a Foo with its Deployment", "object", key, "writes", len(seen))
	c.synced(foo)
	// Habit 5: read your own writes. This Foo is not looked at again before the caches have
	// what was written: to compare with what was before would lead to a write that is
	// refused. Then it is looked at once more, as a Deployment that is deleted before a
	// cache has ever had it causes no event. No worker waits for that.
	return workqueue.Result{Until: workqueue.All(seen...)}, nil
}

// scale reads the Deployment past the cache, and again after a conflict: other
// controllers write to it, too.
func (c *Controller) scale(ctx context.Context, deployment *appsv1.Deployment, replicas int32) (*appsv1.Deployment, error) {
	key := types.NamespacedName{Namespace: deployment.Namespace, Name: deployment.Name}
	return c.deploymentClient.Modify(ctx, key, func(fresh *appsv1.Deployment) error {
		if fresh.UID != deployment.UID {
			return errors.New("another Deployment has taken the name")
		}
		fresh.Spec.Replicas = &replicas
		return nil
	})
}

// writeStatus writes the status through its subresource, which cannot change the
// specification, and returns the Foo that has it. A status that is right already is not
// written, and nil returned: each write is an event for every watcher.
func (c *Controller) writeStatus(ctx context.Context, foo *api.Foo, deployment *appsv1.Deployment) (written *api.Foo, err error) {
	if foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return nil, nil
	}
	// Habit 4: DeepCopy before writing. The cached object belongs to all readers.
	foo = foo.DeepCopy()
	foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	// A conflict is returned: the next attempt works on the newer Foo.
	return c.fooClient.Status().Update(ctx, foo)
}

// newDeployment returns the Deployment of a Foo. Through its owner
// reference the garbage collector deletes it with the Foo, and its events map to
// the key of the Foo.
func newDeployment(foo *api.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: foo.Spec.DeploymentName, Namespace: foo.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, api.Kind)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}
