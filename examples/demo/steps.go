package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
)

// Step is one step of a script.
type Step func(context.Context) error

// Steps returns a script that takes the steps one after the other, until one
// fails.
func Steps(steps ...Step) Step {
	return func(ctx context.Context) error {
		for i, step := range steps {
			if err := step(ctx); err != nil {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
		}
		return nil
	}
}

// Do returns a step that does something which cannot fail, having said so.
func (s *Transcript) Do(who, what string, do func()) Step {
	return func(context.Context) error {
		s.Say(who, "%s", what)
		do()
		return nil
	}
}

// Sees returns a step that waits until lines with all of the texts have been
// printed; see Wait.
func (s *Transcript) Sees(texts ...string) Step {
	return func(ctx context.Context) error { return s.Wait(ctx, texts...) }
}

// Client returns a client for a script. It panics if cfg cannot be used: a server was reached by it before.
func Client[T client.Object](cfg *rest.Config, resource schema.GroupVersionResource) *client.Client[T] {
	c, err := client.New[T](cfg, resource, client.Options{})
	if err != nil {
		panic(err)
	}
	return c
}

// Create returns a step that creates an object.
func Create[T client.Object](c *client.Client[T], obj T) Step {
	return func(ctx context.Context) error {
		_, err := c.Create(ctx, obj)
		return err
	}
}

// Modify returns a step that changes an object.
func Modify[T client.Object](c *client.Client[T], key types.NamespacedName, change func(obj T)) Step {
	return func(ctx context.Context) error {
		_, err := c.Modify(ctx, key, func(obj T) error {
			change(obj)
			return nil
		})
		return err
	}
}

// Delete returns a step that deletes an object.
func Delete[T client.Object](c *client.Client[T], key types.NamespacedName) Step {
	return func(ctx context.Context) error { return c.Delete(ctx, key, metav1.DeleteOptions{}) }
}

// ConfigMaps makes steps in which the user writes ConfigMaps of one namespace.
type ConfigMaps struct {
	// Namespace is where they are.
	Namespace string
	client    *client.Client[*corev1.ConfigMap]
}

// NewConfigMaps returns the steps for one namespace; an empty one is "default".
// Their writes are printed to transcript.
func NewConfigMaps(cfg *rest.Config, transcript *Transcript, namespace string) ConfigMaps {
	you := PrintWrites(cfg, transcript, "you", Write.Done)
	return ConfigMaps{cmp.Or(namespace, metav1.NamespaceDefault), Client[*corev1.ConfigMap](you, corev1.SchemeGroupVersion.WithResource("configmaps"))}
}

// Create creates a ConfigMap with labels.
func (c ConfigMaps) Create(name string, labels map[string]string) Step {
	return Create(c.client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: labels}})
}

// Label changes labels.
func (c ConfigMaps) Label(name string, labels map[string]string) Step {
	return Modify(c.client, c.key(name), func(cm *corev1.ConfigMap) {
		if cm.Labels == nil {
			cm.Labels = map[string]string{}
		}
		maps.Copy(cm.Labels, labels)
	})
}

// Delete deletes a ConfigMap.
func (c ConfigMaps) Delete(name string) Step { return Delete(c.client, c.key(name)) }

func (c ConfigMaps) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: name}
}

// Definitions are where CustomResourceDefinitions are.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install creates a CustomResourceDefinition, given in YAML, and returns when the
// API server serves its first version. It may be installed already.
func Install(ctx context.Context, cfg *rest.Config, crd []byte) error {
	obj := &unstructured.Unstructured{}
	var d struct {
		Spec struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct{ Name string }
		}
	}
	if err := errors.Join(yaml.Unmarshal(crd, &obj.Object), yaml.Unmarshal(crd, &d)); err != nil {
		return fmt.Errorf("custom resource definition: %w", err)
	}
	if _, err := Client[*unstructured.Unstructured](cfg, Definitions).Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("install the custom resource definition: %w", err)
	}
	// The server answers before it serves: ask until the resource is there.
	served := Client[*unstructured.Unstructured](cfg, schema.GroupVersionResource{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Resource: d.Spec.Names.Plural})
	var answer error
	err := Until(ctx, func() bool {
		_, answer = served.List(ctx, "", metav1.ListOptions{Limit: 1})
		return !apierrors.IsNotFound(answer)
	}, func() string { return d.Spec.Names.Plural + " are still not served" })
	if err == nil {
		err = answer
	}
	return err
}

// Kubeconfig returns a kubeconfig file that leads to a server without credentials, such as the embedded one.
func Kubeconfig(host string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: embedded, cluster: {server: %q}}]
contexts: [{name: embedded, context: {cluster: embedded}}]
current-context: embedded
`, host)
}
