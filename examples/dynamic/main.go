// Command dynamic does what crud does without any generated type: an object is a
// tree of maps, and its kind is data. That is for programs that learn of kinds
// when they run.
package main

import (
	"context"
	"fmt"

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
	// What was made goes, whatever happens; also after Ctrl-C. A namespace that was
	// there before is not ours to delete: it is refused when it is created.
	var made *unstructured.Unstructured
	defer func() {
		if made != nil {
			err = exampleapp.CleanUp(ctx, ns, made, err)
		}
	}()
	return env.Steps(ctx,
		exampleapp.Step{Says: "create a Namespace and a Deployment", Do: func(ctx context.Context) ([]string, error) {
			created, err := ns.Create(ctx, object("v1", "Namespace", "", namespace, nil))
			if err != nil {
				return nil, err
			}
			made = created
			d, err := c.Create(ctx, object("apps/v1", "Deployment", namespace, "demo", map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"app": "demo"}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"app": "demo"}},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx:1.28"}}},
				},
			}))
			if err != nil {
				return nil, err
			}
			return []string{d.GetKind() + " " + d.GetName()}, nil
		}},
		exampleapp.Step{Says: "get it, modify a field by its path, update it", Do: func(ctx context.Context) ([]string, error) {
			d, err := c.Modify(ctx, key, func(d *unstructured.Unstructured) error {
				return unstructured.SetNestedField(d.Object, int64(3), "spec", "replicas") // numbers are int64 or float64
			})
			if err != nil {
				return nil, err
			}
			// A path may be missing, or lead to another type: the compiler cannot know.
			replicas, found, err := unstructured.NestedInt64(d.Object, "spec", "replicas")
			return []string{fmt.Sprintf("spec.replicas = %d (found: %v)", replicas, found)}, err
		}},
		exampleapp.Step{Says: "a mistake in a path is noticed by the server at best", Do: func(ctx context.Context) ([]string, error) {
			_, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replicas":"many"}}`))
			if err == nil {
				return nil, fmt.Errorf("the server should refuse replicas that are no number")
			}
			d, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replica":5}}`)) // it drops unknown fields
			if err != nil {
				return nil, err
			}
			_, found, err := unstructured.NestedInt64(d.Object, "spec", "replica")
			return []string{
				`spec.replicas = "many": refused`,
				fmt.Sprintf("spec.replica = 5: accepted and dropped (found: %v), with the warning %s", found, warned),
			}, err
		}},
		exampleapp.Step{Says: "list by labels, and delete", Do: func(ctx context.Context) ([]string, error) {
			if _, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`)); err != nil {
				return nil, err
			}
			found, err := c.List(ctx, namespace, metav1.ListOptions{LabelSelector: "tier=front"})
			if err != nil {
				return nil, err
			}
			return []string{fmt.Sprintf("%d with tier=front", len(found))}, c.Delete(ctx, key, metav1.DeleteOptions{})
		}},
	)
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
