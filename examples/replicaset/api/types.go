// Package api defines the ReplicaSet that the example controller serves.
//
// It has the fields of the built-in apps/v1 ReplicaSet, in an API group of its
// own. The built-in controller acts on every apps/v1 ReplicaSet of a cluster
// whatever its labels are, so an example for that kind would compete
// with it for each object. No other controller acts on this kind.
package api

import (
	_ "embed" // crd.yaml

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names under which an API server serves the kind.
const (
	Group    = "examples.informerkit.dev"
	Version  = "v1"
	Kind     = "ReplicaSet"
	Resource = "replicasets"

	// Label is carried by every pod that the controller makes. Its pod informer
	// selects by it, so the cache holds no other pods of the cluster.
	Label = "examples.informerkit.dev/controller"
	// LabelValue is the value of Label on those pods.
	LabelValue = "replicaset"
)

// GroupVersion, GroupVersionKind and GroupVersionResource identify the kind.
var (
	GroupVersion         = schema.GroupVersion{Group: Group, Version: Version}
	GroupVersionKind     = GroupVersion.WithKind(Kind)
	GroupVersionResource = GroupVersion.WithResource(Resource)
)

// CRD is the CustomResourceDefinition of the kind, as YAML:
//
//	kubectl apply -f examples/replicaset/api/crd.yaml
//
//go:embed crd.yaml
var CRD []byte

// ReplicaSet keeps Spec.Replicas pods made from Spec.Template running.
type ReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   appsv1.ReplicaSetSpec   `json:"spec,omitempty"`
	Status appsv1.ReplicaSetStatus `json:"status,omitempty"`
}

// DeepCopy returns a copy that shares nothing with rs.
func (rs *ReplicaSet) DeepCopy() *ReplicaSet {
	if rs == nil {
		return nil
	}
	out := &ReplicaSet{TypeMeta: rs.TypeMeta}
	rs.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	rs.Spec.DeepCopyInto(&out.Spec)
	rs.Status.DeepCopyInto(&out.Status)
	return out
}

// DeepCopyObject implements runtime.Object.
func (rs *ReplicaSet) DeepCopyObject() runtime.Object { return rs.DeepCopy() }

// Replicas returns the desired number of pods: one where the field is not set,
// as for the built-in kind.
func (rs *ReplicaSet) Replicas() int {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return int(*rs.Spec.Replicas)
}
