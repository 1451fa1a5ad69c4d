package informertest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Create stores an object and writes what the server made of it (name, UID,
// resourceVersion, ...) back into obj. Unlike a request it stores status too,
// and creates a missing namespace.
//
// The kind must be served. A Go type of k8s.io/api, or of Options.Scheme, need
// not state its apiVersion and kind; another one need not if its Go name is the
// kind of exactly one resource.
func (s *Server) Create(obj runtime.Object) error {
	k, u, err := s.decode(obj)
	if err != nil {
		return err
	}
	v, err := s.store.create(k.c, k.res.toStored(u, k.version), writeOptions{trusted: true})
	if err != nil {
		return err
	}
	return encode(v, k, obj)
}

// Update replaces an object, status included, and writes the outcome back into
// obj. A resourceVersion in obj must be the present one.
func (s *Server) Update(obj runtime.Object) error {
	k, u, err := s.decode(obj)
	if err != nil {
		return err
	}
	opts := writeOptions{trusted: true}
	v, err := s.store.update(k.c, u.GetNamespace(), u.GetName(), opts, k.res.inVersion(k.version, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if u.GetResourceVersion() == "" {
			u.SetResourceVersion(old.GetResourceVersion())
		}
		return u, nil
	}))
	if err != nil {
		return err
	}
	return encode(v, k, obj)
}

// Modify updates a stored object: change gets a copy of it and modifies that. What is
// immutable to clients can be changed, too. If there is no such object, the error
// satisfies apierrors.IsNotFound.
//
// The server is locked while change runs: it must neither call a method of the server
// nor wait for a request of a client.
func (s *Server) Modify(gvr schema.GroupVersionResource, namespace, name string, change func(*unstructured.Unstructured)) error {
	k, err := s.collection(gvr)
	if err != nil {
		return err
	}
	_, err = s.store.update(k.c, namespace, name, writeOptions{trusted: true}, k.res.inVersion(k.version, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		change(old)
		return old, nil
	}))
	return err
}

// Delete deletes an object as a client would; finalizers hold it back.
func (s *Server) Delete(gvr schema.GroupVersionResource, namespace, name string) error {
	k, err := s.collection(gvr)
	if err != nil {
		return err
	}
	_, _, err = s.store.delete(k.c, namespace, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, writeOptions{trusted: true})
	return err
}

// Get returns a copy of a stored object.
func (s *Server) Get(gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	k, err := s.collection(gvr)
	if err != nil {
		return nil, err
	}
	v, err := s.store.get(k.c, namespace, name)
	if err != nil {
		return nil, err
	}
	return v.object(k.res, gvr.Version)
}

// List returns copies of the stored objects that the selector matches, ordered
// by namespace and name. An empty namespace means all, a nil selector any.
func (s *Server) List(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	k, err := s.collection(gvr)
	if err != nil {
		return nil, err
	}
	sel := selectEverything()
	sel.namespace = namespace
	if selector != nil {
		sel.labels = selector
	}
	s.store.mu.Lock()
	items := k.c.selectLocked(sel)
	s.store.mu.Unlock()
	out := make([]*unstructured.Unstructured, len(items))
	for i, v := range items {
		if out[i], err = v.object(k.res, gvr.Version); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ResourceVersion returns the version of the latest write to the server.
func (s *Server) ResourceVersion() string { return formatRV(s.store.revision()) }

// Compact forgets the history, as etcd does every few minutes in a cluster:
// watches from a version before the present one, and lists at one, get 410.
// Watches that are up to date go on.
func (s *Server) Compact() { s.store.compact() }

// collection finds a served resource.
func (s *Server) collection(gvr schema.GroupVersionResource) (kind, error) {
	c, res, ok := s.store.lookup(gvr.Group, gvr.Version, gvr.Resource)
	if !ok {
		return kind{}, fmt.Errorf("informertest: resource %s is not served; use Register or create its CustomResourceDefinition", gvr)
	}
	return kind{c, res, gvr.Version}, nil
}

// decode turns an object of the caller of a method of Server into what the store takes, a copy, and
// finds its collection.
func (s *Server) decode(obj runtime.Object) (kind, *unstructured.Unstructured, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return kind{}, nil, fmt.Errorf("informertest: encode %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil || u.Object == nil {
		return kind{}, nil, fmt.Errorf("informertest: %T is not an object: %v", obj, err)
	}
	// Decoding yields maps of the same shape as what clients send.
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		if known, ok := s.types().kindOf(obj); ok {
			gvk = known
		}
	}
	k, err := s.store.byKind(gvk, goName(obj))
	if err != nil {
		return kind{}, nil, err
	}
	if _, ok := u.Object["metadata"].(map[string]any); !ok {
		u.Object["metadata"] = map[string]any{}
	}
	return k, u, nil
}

// encode writes a stored version into an object of the caller of a method of Server.
func encode(v *version, k kind, into runtime.Object) error {
	u, err := v.object(k.res, k.version)
	if err != nil {
		return err
	}
	if out, ok := into.(*unstructured.Unstructured); ok {
		out.Object = u.Object
		return nil
	}
	gvk := into.GetObjectKind().GroupVersionKind()
	clearValue(into)
	if err := converter.FromUnstructured(u.Object, into); err != nil {
		return fmt.Errorf("informertest: decode into %T: %w", into, err)
	}
	into.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}
