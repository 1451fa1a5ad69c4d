package informertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AccessReview asks whether a user may do something. It has the fields of the
// SubjectAccessReviewSpec of k8s.io/api/authorization/v1.
type AccessReview struct {
	ResourceAttributes    *ResourceAttributes    `json:"resourceAttributes,omitempty"`
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty"`
	User                  string                 `json:"user,omitempty"`
	Groups                []string               `json:"groups,omitempty"`
	Extra                 map[string][]string    `json:"extra,omitempty"`
	UID                   types.UID              `json:"uid,omitempty"`
}

// ResourceAttributes are a request for a resource.
type ResourceAttributes struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb,omitempty"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	// The selectors of the request, each as text or as requirements.
	FieldSelector *struct {
		RawSelector  string                            `json:"rawSelector,omitempty"`
		Requirements []metav1.FieldSelectorRequirement `json:"requirements,omitempty"`
	} `json:"fieldSelector,omitempty"`
	LabelSelector *struct {
		RawSelector  string                            `json:"rawSelector,omitempty"`
		Requirements []metav1.LabelSelectorRequirement `json:"requirements,omitempty"`
	} `json:"labelSelector,omitempty"`
}

// NonResourceAttributes are a request for another path.
type NonResourceAttributes struct {
	Path string `json:"path,omitempty"`
	Verb string `json:"verb,omitempty"`
}
