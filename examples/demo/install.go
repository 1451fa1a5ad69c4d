package demo

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

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
