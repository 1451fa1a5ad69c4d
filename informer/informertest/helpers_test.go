package informertest_test

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// widget is an object of a kind that has no Go type.
func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.test/v1", "kind": "Widget", "spec": map[string]any{"size": int64(1)},
	}}
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

// unstructuredObject shortens a name that tests write often.
type unstructuredObject = unstructured.Unstructured

// configmap is a config map of the default namespace.
func configmap(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetNamespace("default")
	u.SetName(name)
	return u
}
