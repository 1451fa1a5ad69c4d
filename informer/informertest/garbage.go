package informertest

import (
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// CollectGarbage does what the garbage collector of a cluster does, all of it and at once.
// It deletes objects whose owners are gone, removes the references to owners that are gone
// from objects that have others, and finishes deletions with foreground and orphan
// propagation. Objects that finalizers hold, and pods that are being terminated, stay, and
// so do the owners that wait for them; call it again when they have gone. An owner of a
// kind that is not served counts as present.
func (s *Server) CollectGarbage() error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for {
		before := s.store.rv
		items := s.store.ownedLocked()
		for _, it := range items {
			if err := s.store.collectLocked(it, items); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if s.store.rv == before {
			return nil
		}
	}
}

// owned is an object as the garbage collector sees it.
type owned struct {
	c          *collection
	v          *version
	owners     []metav1.OwnerReference
	finalizers []string
}

// ownedLocked returns all objects, in order.
func (s *store) ownedLocked() []owned {
	var items []owned
	for _, c := range s.orderedLocked() {
		for _, v := range c.selectLocked(selectEverything()) {
			var meta metav1.PartialObjectMetadata
			_ = json.Unmarshal(v.bare, &meta) // an object that a test has garbled has no owners
			items = append(items, owned{c, v, meta.OwnerReferences, meta.Finalizers})
		}
	}
	return items
}

// collectLocked does what is to be done about one object.
func (s *store) collectLocked(it owned, all []owned) error {
	if it.c.items[it.v.key] != it.v {
		return nil // it has changed since
	}
	if it.v.deleting && slices.Contains(it.finalizers, metav1.FinalizerOrphanDependents) {
		for _, dependent := range dependents(it, all) {
			if err := s.disownLocked(dependent, types.UID(it.v.uid)); err != nil {
				return err
			}
		}
		return s.releaseLocked(it, metav1.FinalizerOrphanDependents)
	}
	if it.v.deleting && slices.Contains(it.finalizers, metav1.FinalizerDeleteDependents) {
		blocked := slices.ContainsFunc(dependents(it, all), func(d owned) bool {
			return d.c.items[d.v.key] != nil && slices.ContainsFunc(d.owners, func(ref metav1.OwnerReference) bool {
				return string(ref.UID) == it.v.uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
			})
		})
		if !blocked {
			return s.releaseLocked(it, metav1.FinalizerDeleteDependents)
		}
	}
	if len(it.owners) == 0 || it.v.deleting {
		return nil
	}
	var solid bool
	var lost []types.UID
	waiting := false // for its dependents, of which this object is one
	for _, ref := range it.owners {
		switch owner, known := s.ownerLocked(it, ref); {
		case !known:
			solid = true
		case owner == nil:
			lost = append(lost, ref.UID)
		case owner.deleting && heldBy(owner, metav1.FinalizerDeleteDependents):
			lost, waiting = append(lost, ref.UID), true
		default:
			solid = true
		}
	}
	if solid {
		return s.disownLocked(it, lost...)
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case waiting && len(dependents(it, all)) > 0, slices.Contains(it.finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case slices.Contains(it.finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	_, _, err := s.deleteLocked(it.c, it.v, metav1.DeleteOptions{PropagationPolicy: &policy}, writeOptions{})
	return err
}

// ownerLocked finds an owner; nil means that it is gone. Whether it is of a kind that is
// served is known.
func (s *store) ownerLocked(it owned, ref metav1.OwnerReference) (owner *version, known bool) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	for _, c := range s.collections {
		if c.res.Group != gvk.Group || c.res.Kind != gvk.Kind {
			continue
		}
		if v := c.items[c.res.key(it.v.namespace, ref.Name)]; v != nil && v.uid == string(ref.UID) {
			return v, true
		}
		return nil, true
	}
	return nil, false
}

// dependents are the objects that refer to an object as their owner.
func dependents(it owned, all []owned) []owned {
	var out []owned
	for _, d := range all {
		if slices.ContainsFunc(d.owners, func(ref metav1.OwnerReference) bool { return string(ref.UID) == it.v.uid }) {
			out = append(out, d)
		}
	}
	return out
}

// heldBy reports whether an object has a finalizer.
func heldBy(v *version, finalizer string) bool {
	var meta metav1.PartialObjectMetadata
	return json.Unmarshal(v.bare, &meta) == nil && slices.Contains(meta.Finalizers, finalizer)
}

// disownLocked removes references to owners.
func (s *store) disownLocked(it owned, owners ...types.UID) error {
	return s.amendLocked(it.c, it.v.key, func(obj *unstructured.Unstructured) {
		left := slices.DeleteFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return slices.Contains(owners, ref.UID) })
		if obj.SetOwnerReferences(left); len(left) == 0 {
			obj.SetOwnerReferences(nil)
		}
	})
}

// releaseLocked removes a finalizer, and the object if that was the last.
func (s *store) releaseLocked(it owned, finalizer string) error {
	return s.amendLocked(it.c, it.v.key, func(obj *unstructured.Unstructured) {
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// amendLocked writes what change makes of an object, as a controller of the cluster does.
// The object is removed if nothing holds its deletion any more.
func (s *store) amendLocked(c *collection, key string, change func(*unstructured.Unstructured)) error {
	old := c.items[key]
	if old == nil {
		return nil
	}
	obj, err := old.object(c.res, c.res.Versions[0])
	if err != nil {
		return err
	}
	change(obj)
	next, err := newVersion(c.res, obj, old.rv)
	switch {
	case err != nil || string(next.bare) == string(old.bare):
		return err
	case next.finished():
		return s.removeLocked(c, old, writeOptions{})
	}
	_, err = s.commitLocked(c, old, obj, writeOptions{})
	return err
}
