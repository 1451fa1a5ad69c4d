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
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
)

// Reasons and messages of Events: what `kubectl describe foo` shows. A log is for
// the operator of the controller, Events are for the user of the object.
const (
	SuccessSynced         = "Synced"
	MessageSynced         = "Foo synced successfully"
	ErrNoName             = "ErrDeploymentNameEmpty"
	MessageNoName         = "spec.deploymentName is empty: name the Deployment that this Foo is to own"
	ErrResourceExists     = "ErrResourceExists"
	MessageResourceExists = "Resource %q already exists and is not managed by Foo"
)

// sync brings the Deployment of one Foo to what the Foo asks for, and the status
// of the Foo to what the Deployment has. After an error it is retried with growing
// pauses; a Terminal one is not tried again before the Foo is changed.
//
// Habit 5: read your own writes. This Foo is not looked at again before the caches have
// what was written, of which the package keeps account: to compare with what was before would lead to a write that is
// refused. Then it is looked at once more, as a Deployment that is deleted before a
// cache has ever had it causes no event. No worker waits for that.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
	foo, err := c.foos.Get(key)
	if err != nil {
		return result, client.IgnoreNotFound(err) // gone: the garbage collector deletes its Deployment
	}
	if foo.DeletionTimestamp != nil {
		return result, nil // what is created now would be in the way of a deletion in the foreground
	}
	if foo.Spec.DeploymentName == "" {
		c.Event(ctx, foo, corev1.EventTypeWarning, ErrNoName, MessageNoName)
		return result, workqueue.Terminal(errors.New("spec.deploymentName is empty"))
	}

	deployment, err := c.deployments.Get(types.NamespacedName{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName})
	if apierrors.IsNotFound(err) {
		deployment, err = c.create(ctx, foo)
	}
	if err != nil {
		return result, err
	}

	// A Deployment that this Foo does not control is left alone. It is tried again:
	// its deletion leads to no Foo, as it has no owner.
	if !metav1.IsControlledBy(deployment, foo) {
		message := fmt.Sprintf(MessageResourceExists, deployment.Name)
		c.Event(ctx, foo, corev1.EventTypeWarning, ErrResourceExists, message)
		return result, errors.New(message)
	}
	if want := foo.Spec.Replicas; want != nil && (deployment.Spec.Replicas == nil || *want != *deployment.Spec.Replicas) {
		if deployment, err = c.scale(ctx, deployment, *want); err != nil {
			return result, fmt.Errorf("scale Deployment: %w", err)
		}
	}
	// The status has a subresource, so that writing it cannot change the specification. One that is
	// right already is not written: each write is an event for every watcher.
	if foo.Status.AvailableReplicas != deployment.Status.AvailableReplicas {
		// Habit 4: never modify a cached object, which belongs to all readers. The function gets a copy, and only
		// the difference is sent: a PUT of the copy would delete each field that this program does not know.
		_, err = c.foos.Status().ModifyFrom(ctx, foo, func(foo *api.Foo) error {
			foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
			return nil
		})
		if err != nil {
			return result, fmt.Errorf("write status: %w", err)
		}
	}
	c.Event(ctx, foo, corev1.EventTypeNormal, SuccessSynced, MessageSynced)
	return result, nil
}

// create creates the Deployment, if the API server still has this Foo. The cache may not know
// that the Foo is gone: when its watch is broken, and that of the Deployments is not. Then the garbage
// collector deletes the Deployment, which is an event, and a controller that relies on the cache
// creates it again, until the watch is back. It costs one request for each Deployment that is created.
//
// AlreadyExists means that the cache does not have it yet: it was created a moment ago, by
// us or by another client. Its event brings us back, and so does this error.
func (c *Controller) create(ctx context.Context, foo *api.Foo) (*appsv1.Deployment, error) {
	switch fresh, err := c.foos.Client.Get(ctx, client.KeyOf(foo)); {
	case err != nil:
		return nil, err
	case fresh.UID != foo.UID || fresh.DeletionTimestamp != nil:
		return nil, fmt.Errorf("foo %s is being deleted, or another one has its name", client.KeyOf(foo))
	}
	return c.deployments.Create(ctx, NewDeployment(foo))
}

// scale reads the Deployment past the cache, and again after a conflict: other
// controllers write to it, too.
func (c *Controller) scale(ctx context.Context, deployment *appsv1.Deployment, replicas int32) (*appsv1.Deployment, error) {
	return c.deployments.Client.Modify(ctx, client.KeyOf(deployment), func(fresh *appsv1.Deployment) error {
		if fresh.UID != deployment.UID {
			return errors.New("another Deployment has taken the name")
		}
		fresh.Spec.Replicas = &replicas
		return nil
	})
}

// NewDeployment returns the Deployment of a Foo. Through its owner
// reference the garbage collector deletes it with the Foo, and its events map to
// the key of the Foo.
func NewDeployment(foo *api.Foo) *appsv1.Deployment {
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
