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

func run(ctx context.Context, env *exampleapp.Env) (err error) {
	// A client for each kind. Namespaces are cluster-scoped: their own namespace is empty.
	namespaces, err := client.New[*corev1.Namespace](env.Config, corev1.SchemeGroupVersion.WithResource("namespaces"), client.Options{})
	if err != nil {
		return err
	}
	deployments, err := client.New[*appsv1.Deployment](env.Config, appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{})
	if err != nil {
		return err
	}

	env.Step("create a Namespace, and two Deployments in it")
	made, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil {
		return err
	}
	// What was made goes, whatever happens; also after Ctrl-C. A namespace that was
	// there before is not ours to delete: it is refused when it is created.
	defer func() { err = exampleapp.CleanUp(ctx, namespaces, made, err) }()
	env.Result("Namespace %s", made.Name)
	for name, tier := range map[string]string{"demo": "front", "other": "back"} {
		if _, err := deployments.Create(ctx, newDeployment(name, tier)); err != nil {
			return err
		}
	}
	env.Result("Deployments demo (tier front) and other (tier back)")

	env.Step("create the first one again")
	_, err = deployments.Create(ctx, newDeployment("demo", "front"))
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("it should exist already: %w", err)
	}
	env.Result("%v", err)

	// This is the loop that every writer needs. An update carries the
	// resourceVersion that was read; if another write came in between, the server
	// refuses with a conflict, and the change is made again on the newer object.
	env.Step("get it, modify it, update it; another writer is faster")
	attempt := 0
	d, err := deployments.Modify(ctx, key, func(d *appsv1.Deployment) error {
		if attempt++; attempt == 1 {
			_, err := deployments.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"from another writer"}}}`))
			if err != nil {
				return err
			}
		}
		replicas := int32(3)
		d.Spec.Replicas = &replicas
		env.Result("attempt %d: replicas = 3", attempt)
		return nil
	})
	if err != nil {
		return err
	}
	env.Result("stored: replicas %d, note %q", *d.Spec.Replicas, d.Annotations["note"])

	env.Step("patch it: only what the patch names is written")
	d, err = deployments.Patch(ctx, key, types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:1.29"}]}}}}`))
	if err != nil {
		return err
	}
	env.Result("image %s, replicas still %d", d.Spec.Template.Spec.Containers[0].Image, *d.Spec.Replicas)

	env.Step("list by labels")
	for _, selector := range []string{"app=crud", "tier=front", "tier notin (front)"} {
		found, err := deployments.List(ctx, namespace, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		env.Result("%-20s %d", selector, len(found))
	}

	env.Step("delete the first, and the rest as a collection")
	// The UID makes sure that a new object of the same name is spared.
	if err := deployments.Delete(ctx, key, client.Exactly(d)); err != nil {
		return err
	}
	if err := deployments.DeleteCollection(ctx, namespace, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=crud"}); err != nil {
		return err
	}
	left, err := deployments.List(ctx, namespace, metav1.ListOptions{})
	env.Result("%d left", len(left))
	return err
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
