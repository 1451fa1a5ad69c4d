package explore

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
)

// View is the state of the server. Objects that it returns are copies. It may be used
// in the call that got it only.
type View struct {
	server *informertest.Server
	writes []Write
}

// Write is a write that reached the server, refused ones included.
type Write struct {
	// By is "user" for a step of Act, "cluster" for Others, "fault" for what the schedule does, or
	// the name of a replica, see [Replica].
	By string
	// Verb is create, update, patch, delete or deletecollection; a step of users or of the
	// cluster has its own description.
	Verb string
	// Resource, Subresource, Namespace and Name are the target.
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
	// Code is the status code of the server; 0 for steps of users and of the cluster.
	Code int
	// Before and After are the object; nil if it did not exist. Steps of users and of
	// the cluster have neither. They must not be modified.
	Before, After *unstructured.Unstructured
}

// Get returns an object, or nil if there is none.
func (v View) Get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	obj, err := v.server.Get(gvr, namespace, name)
	if err != nil {
		return nil
	}
	return obj
}

// List returns the objects of a namespace, ordered by name. An empty namespace means all.
// It panics if the resource is not served.
func (v View) List(gvr schema.GroupVersionResource, namespace string) []*unstructured.Unstructured {
	list, err := v.server.List(gvr, namespace, nil)
	if err != nil {
		panic(err)
	}
	return list
}

// Writes returns all writes so far, in order. The caller must not modify them.
func (v View) Writes() []Write { return v.writes }

// Get returns an object as a Go type such as corev1.Pod, or nil if there is none.
func Get[T any](v View, gvr schema.GroupVersionResource, namespace, name string) *T {
	obj := v.Get(gvr, namespace, name)
	if obj == nil {
		return nil
	}
	typed := convert[T](obj)
	return &typed
}

// List returns the objects of a namespace as Go types, ordered by name. An empty
// namespace means all.
func List[T any](v View, gvr schema.GroupVersionResource, namespace string) []T {
	var out []T
	for _, obj := range v.List(gvr, namespace) {
		out = append(out, convert[T](obj))
	}
	return out
}

// convert turns an object into its Go type.
func convert[T any](obj *unstructured.Unstructured) (typed T) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &typed); err != nil {
		panic(fmt.Errorf("explore: %s %s/%s is not a %T: %w", obj.GetKind(), obj.GetNamespace(), obj.GetName(), typed, err))
	}
	return typed
}

// String is the write as a trace shows it.
func (w Write) String() string {
	if w.Resource.Resource == "" {
		return w.Verb
	}
	s := w.Verb + " " + w.Resource.Resource
	if w.Subresource != "" {
		s += "/" + w.Subresource
	}
	return s + " " + objectName(w.Namespace, w.Name)
}

// objectName is namespace and name as kubectl writes them.
func objectName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
