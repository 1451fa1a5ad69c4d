package demo

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// ConfigMaps makes steps in which the user writes ConfigMaps of one namespace.
type ConfigMaps struct {
	// Namespace is where they are.
	Namespace string
	client    *client.Client[*corev1.ConfigMap]
}

// NewConfigMaps returns the steps for one namespace; an empty one is "default".
// Their writes are printed to transcript.
func NewConfigMaps(cfg *rest.Config, transcript *Transcript, namespace string) (ConfigMaps, error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	maps, err := client.New[*corev1.ConfigMap](PrintWrites(cfg, transcript, "you", Write.Done), corev1.SchemeGroupVersion.WithResource("configmaps"), client.Options{})
	return ConfigMaps{namespace, maps}, err
}

// Create creates a ConfigMap with labels.
func (c ConfigMaps) Create(name string, labels map[string]string) Step {
	return func(ctx context.Context) error {
		_, err := c.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, Labels: labels}})
		return err
	}
}

// Label changes labels.
func (c ConfigMaps) Label(name string, labels map[string]string) Step {
	return func(ctx context.Context) error {
		_, err := c.client.Modify(ctx, c.key(name), func(cm *corev1.ConfigMap) error {
			if cm.Labels == nil {
				cm.Labels = map[string]string{}
			}
			maps.Copy(cm.Labels, labels)
			return nil
		})
		return err
	}
}

// Delete deletes a ConfigMap.
func (c ConfigMaps) Delete(name string) Step {
	return func(ctx context.Context) error { return c.client.Delete(ctx, c.key(name), metav1.DeleteOptions{}) }
}

func (c ConfigMaps) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: name}
}
