package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install creates a CustomResourceDefinition, given in YAML, and returns when the
// API server serves its first version. It may be installed already.
func Install(ctx context.Context, cfg *rest.Config, crd []byte) error {
	obj, resource, err := definition(crd)
	if err != nil {
		return err
	}
	crds, err := client.New[*unstructured.Unstructured](cfg, definitions, client.Options{})
	if err != nil {
		return err
	}
	if _, err := crds.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("install the custom resource definition: %w", err)
	}
	// The server answers before it serves: ask until the resource is there.
	served, err := client.New[*unstructured.Unstructured](cfg, resource, client.Options{})
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := served.List(ctx, "", metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("install the custom resource definition: %s is still not served: %w", resource.Resource, ctx.Err())
		}
	}
}

// Uninstall deletes a CustomResourceDefinition, given in YAML, and with it all
// objects of its kind.
func Uninstall(ctx context.Context, cfg *rest.Config, crd []byte) error {
	obj, _, err := definition(crd)
	if err != nil {
		return err
	}
	crds, err := client.New[*unstructured.Unstructured](cfg, definitions, client.Options{})
	if err != nil {
		return err
	}
	return crds.Delete(ctx, types.NamespacedName{Name: obj.GetName()}, metav1.DeleteOptions{})
}

func definition(crd []byte) (*unstructured.Unstructured, schema.GroupVersionResource, error) {
	var resource schema.GroupVersionResource
	body, err := yaml.ToJSON(crd)
	if err != nil {
		return nil, resource, fmt.Errorf("custom resource definition: %w", err)
	}
	var parsed struct {
		Spec struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct{ Name string }
		}
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &parsed); err != nil {
		return nil, resource, fmt.Errorf("custom resource definition: %w", err)
	}
	if err := obj.UnmarshalJSON(body); err != nil {
		return nil, resource, fmt.Errorf("custom resource definition: %w", err)
	}
	if len(parsed.Spec.Versions) == 0 {
		return nil, resource, fmt.Errorf("custom resource definition %s: it has no versions", obj.GetName())
	}
	return obj, schema.GroupVersionResource{
		Group: parsed.Spec.Group, Version: parsed.Spec.Versions[0].Name, Resource: parsed.Spec.Names.Plural,
	}, nil
}
