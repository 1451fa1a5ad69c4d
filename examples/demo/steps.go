package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
