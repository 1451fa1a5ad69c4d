// Command crud creates, reads, changes, lists and deletes a typed object, a
// Deployment, in a Namespace of its own, step by step. It writes past every cache:
// that is what a controller does, too, after it has read its cache.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/informer/client"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "crud", About: "Creates, reads, changes and deletes Deployments, typed.", OnceOnCluster: true, Run: run}

const namespace = "informerkit-crud"

var key = types.NamespacedName{Namespace: namespace, Name: "demo"}

// clients has one for each kind. Namespaces are cluster-scoped: their own
// namespace is empty.
type clients struct {
	namespaces  *client.Client[*corev1.Namespace]
	deployments *client.Client[*appsv1.Deployment]
}

func run(ctx context.Context, env *exampleapp.Env) (err error) {
	var c clients
	if c.namespaces, err = client.New[*corev1.Namespace](env.Config, corev1.SchemeGroupVersion.WithResource("namespaces"), client.Options{}); err != nil {
		return err
	}
	if c.deployments, err = client.New[*appsv1.Deployment](env.Config, appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{}); err != nil {
		return err
	}
	// What was made goes, whatever happens; also after Ctrl-C. A namespace that was
	// there before is not ours to delete: it is refused when it is created.
	var made *corev1.Namespace
	defer func() {
		if made != nil {
			err = exampleapp.CleanUp(ctx, c.namespaces, made, err)
		}
	}()
	return env.Steps(ctx,
		exampleapp.Step{Says: "create a Namespace, and two Deployments in it", Do: func(ctx context.Context) (lines []string, err error) {
			made, lines, err = c.create(ctx)
			return lines, err
		}},
		exampleapp.Step{Says: "create the first one again", Do: c.createAgain},
		exampleapp.Step{Says: "get it, modify it, update it; another writer is faster", Do: c.modify},
		exampleapp.Step{Says: "patch it: only what the patch names is written", Do: c.patch},
		exampleapp.Step{Says: "list by labels", Do: c.list},
		exampleapp.Step{Says: "delete the first, and the rest as a collection", Do: c.delete},
	)
}

// create also returns the namespace that it made, or nil.
func (c clients) create(ctx context.Context) (made *corev1.Namespace, lines []string, err error) {
	ns, err := c.namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil {
		return nil, nil, err
	}
	lines = []string{"Namespace " + ns.Name}
	for name, tier := range map[string]string{"demo": "front", "other": "back"} {
		if _, err := c.deployments.Create(ctx, newDeployment(name, tier)); err != nil {
			return ns, lines, err
		}
	}
	return ns, append(lines, "Deployments demo (tier front) and other (tier back)"), nil
}

func (c clients) createAgain(ctx context.Context) ([]string, error) {
	_, err := c.deployments.Create(ctx, newDeployment("demo", "front"))
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("it should exist already: %w", err)
	}
	return []string{err.Error()}, nil
}

// modify is the loop that every writer needs. An update carries the
// resourceVersion that was read; if another write came in between, the server
// refuses with a conflict, and the change is made again on the newer object.
func (c clients) modify(ctx context.Context) (lines []string, err error) {
	attempt := 0
	d, err := c.deployments.Modify(ctx, key, func(d *appsv1.Deployment) error {
		if attempt++; attempt == 1 {
			_, err := c.deployments.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"from another writer"}}}`))
			if err != nil {
				return err
			}
		}
		replicas := int32(3)
		d.Spec.Replicas = &replicas
		lines = append(lines, fmt.Sprintf("attempt %d: replicas = 3", attempt))
		return nil
	})
	if err != nil {
		return lines, err
	}
	return append(lines, fmt.Sprintf("stored: replicas %d, note %q", *d.Spec.Replicas, d.Annotations["note"])), nil
}

func (c clients) patch(ctx context.Context) ([]string, error) {
	d, err := c.deployments.Patch(ctx, key, types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:1.29"}]}}}}`))
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("image %s, replicas still %d", d.Spec.Template.Spec.Containers[0].Image, *d.Spec.Replicas)}, nil
}

func (c clients) list(ctx context.Context) (lines []string, err error) {
	for _, selector := range []string{"app=crud", "tier=front", "tier notin (front)"} {
		found, err := c.deployments.List(ctx, namespace, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%-20s %d", selector, len(found)))
	}
	return lines, nil
}

func (c clients) delete(ctx context.Context) ([]string, error) {
	d, err := c.deployments.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	// The UID makes sure that a new object of the same name is spared.
	if err := c.deployments.Delete(ctx, key, client.Exactly(d)); err != nil {
		return nil, err
	}
	if err := c.deployments.DeleteCollection(ctx, namespace, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=crud"}); err != nil {
		return nil, err
	}
	left, err := c.deployments.List(ctx, namespace, metav1.ListOptions{})
	return []string{fmt.Sprintf("%d left", len(left))}, err
}

func newDeployment(name, tier string) *appsv1.Deployment {
	labels := map[string]string{"app": "crud", "tier": tier}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.28"}}},
			},
		},
	}
}
