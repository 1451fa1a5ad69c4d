package controller

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Where a replica writes what it does with a Foo: at the beginning of a reconcile, and at
// its end. So the history of the server says whether two have worked on one at once. A
// controller in production needs neither.
const (
	Working = "examples.informerkit.dev/working"
	Done    = "examples.informerkit.dev/done"
)

// Mark is a reconcile. Term is how many times the part was taken, which grows from owner to
// owner, and Generation that of the Foo.
type Mark struct {
	Replica    string `json:"replica"`
	Part       int    `json:"part"`
	Term       int    `json:"term"`
	Generation int64  `json:"generation"`
}

// MarkOf returns the mark in an annotation of an object; the zero Mark if there is none.
func MarkOf(obj metav1.Object, annotation string) (m Mark) {
	if json.Unmarshal([]byte(obj.GetAnnotations()[annotation]), &m) != nil {
		return Mark{}
	}
	return m
}

// patch returns the merge patch that sets one annotation of an object and removes another one.
func (m Mark) patch(uid types.UID, set, remove string) ([]byte, error) {
	mark, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	annotations := map[string]any{set: string(mark)}
	if remove != "" {
		annotations[remove] = nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": annotations}})
}
