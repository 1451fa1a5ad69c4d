// Command dynamic does what crud does without any generated type: an object is a
// tree of maps, and its kind is data. That is for programs that learn of kinds
// when they run.
package main

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/informer/client"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "dynamic", About: "Creates, reads, changes and deletes Deployments, without their type.", OnceOnCluster: true, Run: run}

const namespace = "informerkit-dynamic"

var (
	key         = types.NamespacedName{Namespace: namespace, Name: "demo"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func run(ctx context.Context, env *exampleapp.Env) (err error) {
	cfg := rest.CopyConfig(env.Config)
	var warned warnings
	cfg.WarningHandler = &warned
	ns, err := client.New[*unstructured.Unstructured](env.Config, namespaces, client.Options{})
	if err != nil {
		return err
	}
	c, err := client.New[*unstructured.Unstructured](cfg, deployments, client.Options{})
	if err != nil {
		return err
	}

	env.Step("create a Namespace and a Deployment")
	made, err := ns.Create(ctx, object("v1", "Namespace", "", namespace, nil))
	if err != nil {
		return err
	}
	// What was made goes, whatever happens; also after Ctrl-C. A namespace that was
	// there before is not ours to delete: it is refused when it is created.
	defer func() { err = exampleapp.CleanUp(ctx, ns, made, err) }()
	d, err := c.Create(ctx, object("apps/v1", "Deployment", namespace, "demo", map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "demo"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "demo"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx:1.28"}}},
		},
	}))
	if err != nil {
		return err
	}
	env.Result("%s %s", d.GetKind(), d.GetName())

	env.Step("get it, modify a field by its path, update it")
	d, err = c.Modify(ctx, key, func(d *unstructured.Unstructured) error {
		return unstructured.SetNestedField(d.Object, int64(3), "spec", "replicas") // numbers are int64 or float64
	})
	if err != nil {
		return err
	}
	// A path may be missing, or lead to another type: the compiler cannot know.
	replicas, found, err := unstructured.NestedInt64(d.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	env.Result("spec.replicas = %d (found: %v)", replicas, found)

	env.Step("a mistake in a path is noticed by the server at best")
	if _, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replicas":"many"}}`)); err == nil {
		return errors.New("the server should refuse replicas that are no number")
	}
	env.Result(`spec.replicas = "many": refused`)
	d, err = c.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replica":5}}`)) // it drops unknown fields
	if err != nil {
		return err
	}
	_, found, err = unstructured.NestedInt64(d.Object, "spec", "replica")
	if err != nil {
		return err
	}
	env.Result("spec.replica = 5: accepted and dropped (found: %v), with the warning %s", found, warned)

	env.Step("list by labels, and delete")
	if _, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`)); err != nil {
		return err
	}
	all, err := c.List(ctx, namespace, metav1.ListOptions{LabelSelector: "tier=front"})
	if err != nil {
		return err
	}
	env.Result("%d with tier=front", len(all))
	return c.Delete(ctx, key, metav1.DeleteOptions{})
}

// warnings keeps what the server warns of. Without a handler, client-go logs it.
type warnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if spec != nil {
		obj.Object["spec"] = spec
	}
	return obj
}
