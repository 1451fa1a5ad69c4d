package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

func TestKeyIsNamespaceAndName(t *testing.T) {
	assert.Equal(t, types.NamespacedName{Namespace: "a", Name: "b"},
		object.KeyOf(&metav1.ObjectMeta{Namespace: "a", Name: "b"}))
	assert.Equal(t, types.NamespacedName{Name: "node"}, object.KeyOf(&metav1.ObjectMeta{Name: "node"}))
}

func TestSameVersionNeedsUIDAndResourceVersion(t *testing.T) {
	v := func(uid types.UID, rv string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{UID: uid, ResourceVersion: rv}
	}
	assert.True(t, object.SameVersion(v("u", "1"), v("u", "1")))
	assert.False(t, object.SameVersion(v("u", "1"), v("u", "2")), "changed")
	assert.False(t, object.SameVersion(v("u", "1"), v("w", "1")), "recreated on a server with a new history")
	assert.False(t, object.SameVersion(v("u", ""), v("u", "")), "two that were never stored")
	assert.False(t, object.SameVersion(v("u", "1"), reused{v("u", "1"), true}), "the source may use a version twice")
	assert.True(t, object.SameVersion(v("u", "1"), reused{v("u", "1"), false}))
}

// reused has a resourceVersion that another state may have, too.
type reused struct {
	*metav1.ObjectMeta
	unversioned bool
}

func (r reused) Unversioned() bool { return r.unversioned }

func TestNilPointersAndNilInterfacesAreNil(t *testing.T) {
	assert.True(t, object.IsNil[*corev1.Pod](nil))
	assert.True(t, object.IsNil[object.Object](nil))
	assert.False(t, object.IsNil(&corev1.Pod{}))
	assert.False(t, object.IsNil(&unstructured.Unstructured{}))
}
