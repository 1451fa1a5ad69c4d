package informertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// namespaces is the collection in which all namespaced objects must have their
// namespace.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// immortal are the namespaces that no client may delete.
var immortal = map[string]bool{"default": true, "kube-system": true, "kube-public": true}

// hasContent reports whether objects of the resource contain others.
func hasContent(res Resource) bool { return res.Group == "" && res.Kind == "Namespace" }

// namespaceFinalizers are the finalizers in a namespace's specification, which
// stand for its content.
func namespaceFinalizers(obj *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedStringSlice(obj.Object, "spec", "finalizers")
	return list
}

// createNamespace creates a namespace.
func (s *store) createNamespace(name string) error {
	s.mu.Lock()
	c, ok := s.collections[namespaces]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetName(name)
	_, err := s.create(c, obj, writeOptions{})
	return err
}

// emptyNamespaceLocked does what the namespace controller of a cluster does: it
// deletes everything in a namespace that is being deleted, then the namespace.
// Objects with finalizers hold both up.
func (s *store) emptyNamespaceLocked(namespace string) error {
	for _, c := range s.orderedLocked() {
		if c.res.ClusterScoped {
			continue
		}
		inside := selectEverything()
		inside.namespace = namespace
		for _, v := range c.selectLocked(inside) {
			if _, _, err := s.deleteLocked(c, v, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, writeOptions{}); err != nil {
				return err
			}
		}
	}
	return s.finishNamespaceLocked(namespace)
}

// finishNamespaceLocked removes a namespace that is being deleted if it is empty.
func (s *store) finishNamespaceLocked(namespace string) error {
	spaces, ok := s.collections[namespaces]
	if !ok {
		return nil
	}
	ns, ok := spaces.items[namespace]
	if !ok || !ns.deleting {
		return nil
	}
	for _, c := range s.collections {
		if c.res.ClusterScoped {
			continue
		}
		for _, v := range c.items {
			if v.namespace == namespace {
				return nil
			}
		}
	}
	obj, err := ns.object(spaces.res, spaces.res.Versions[0])
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(obj.Object, "spec", "finalizers")
	if len(obj.GetFinalizers()) == 0 {
		return s.removeLocked(spaces, ns, writeOptions{})
	}
	if len(namespaceFinalizers(obj)) > 0 || ns.held {
		_, err = s.commitLocked(spaces, ns, obj, writeOptions{})
	}
	return err
}
