// Package api has the type Foo: a Deployment to be kept, by name and replicas.
package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names under which an API server serves the kind.
var (
	GroupVersion = schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	Kind         = GroupVersion.WithKind("Foo")
	Resource     = GroupVersion.WithResource("foos")
)

// Foo asks for a Deployment.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec"`
	Status FooStatus `json:"status"`
}

// FooSpec is what the user wants.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       *int32 `json:"replicas,omitempty"`
}

// FooStatus is what the controller has found.
type FooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas"`
}

// DeepCopy returns a copy that shares nothing with f. Generators such as
// controller-gen write this method; for a small type it is soon written.
func (f *Foo) DeepCopy() *Foo {
	if f == nil {
		return nil
	}
	out := *f
	f.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if f.Spec.Replicas != nil {
		replicas := *f.Spec.Replicas
		out.Spec.Replicas = &replicas
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (f *Foo) DeepCopyObject() runtime.Object { return f.DeepCopy() }
