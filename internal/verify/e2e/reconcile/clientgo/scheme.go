package clientgo

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// scheme returns a scheme with the kind, and a list of it, for the REST clients of client-go.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(api.GroupVersionKind, &api.ReplicaSet{})
	s.AddKnownTypeWithName(api.GroupVersion.WithKind(api.Kind+"List"), &ReplicaSetList{})
	metav1.AddToGroupVersion(s, api.GroupVersion)
	return s
}

// ReplicaSetList is what the API server answers to a list.
type ReplicaSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []api.ReplicaSet `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ReplicaSetList) DeepCopyObject() runtime.Object {
	out := &ReplicaSetList{TypeMeta: l.TypeMeta, Items: make([]api.ReplicaSet, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return out
}
