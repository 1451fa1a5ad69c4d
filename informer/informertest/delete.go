package informertest

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// delete removes an object, or marks it as being deleted while finalizers are
// left. removed reports which; v is the last state.
func (s *store) delete(c *collection, namespace, name string, del metav1.DeleteOptions, opts writeOptions) (v *version, removed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := c.items[c.res.key(namespace, name)]
	if !ok {
		return nil, false, apierrors.NewNotFound(c.res.groupResource(), name)
	}
	return s.deleteLocked(c, old, del, opts)
}

// deleteLocked is delete for a version that was found under the lock; deleting a
// collection calls it for each object. The caller holds s.mu. An object with finalizers
// gets a deletionTimestamp and stays; its removal is left to the update that takes away
// the last finalizer. So does a pod that a node runs. A namespace always stays until its content is gone.
func (s *store) deleteLocked(c *collection, old *version, del metav1.DeleteOptions, opts writeOptions) (*version, bool, error) {
	res := c.res
	if p := del.Preconditions; p != nil {
		if p.UID != nil && string(*p.UID) != old.uid {
			return nil, false, errDeletePrecondition(res.gvk(""), old.name, "UID", string(*p.UID), old.uid, "deleted and then recreated")
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != formatRV(old.rv) {
			return nil, false, errDeletePrecondition(res.gvk(""), old.name, "ResourceVersion", *p.ResourceVersion, formatRV(old.rv), "modified")
		}
	}
	if hasContent(res) && immortal[old.name] && !opts.trusted {
		return nil, false, apierrors.NewForbidden(res.groupResource(), old.name, errors.New("this namespace may not be deleted"))
	}
	graceful := isPod(res) && runs(old)
	if !old.held && !hasContent(res) && !isCRD(res) && !graceful && len(propagationFinalizers(res, nil, del)) == 0 {
		return old, true, s.removeLocked(c, old, opts) // without decoding it
	}
	obj, err := old.object(res, res.Versions[0])
	if err != nil {
		return nil, false, err
	}
	finalizers := propagationFinalizers(res, obj.GetFinalizers(), del)
	if isCRD(res) && !old.deleting {
		finalizers = append(finalizers, cleanup)
	}
	grace, pending := int64(0), false
	if isPod(res) {
		grace, pending = terminate(old, obj, del)
	}
	if pending {
		return old, false, nil
	}
	if len(finalizers) == 0 && grace == 0 && !hasContent(res) {
		return old, true, s.removeLocked(c, old, opts)
	}
	if old.deleting && grace == 0 && slices.Equal(finalizers, obj.GetFinalizers()) && !graceful {
		return old, false, nil // it is on its way already
	}
	obj.SetFinalizers(finalizers)
	if !old.deleting && !isPod(res) {
		deleted := now()
		obj.SetDeletionTimestamp(&deleted)
		if !hasContent(res) && !isCRD(res) {
			zero := int64(0)
			obj.SetDeletionGracePeriodSeconds(&zero)
		}
		if g := obj.GetGeneration(); g != 0 && !isCRD(res) {
			obj.SetGeneration(g + 1)
		}
	}
	switch {
	case hasContent(res):
		_ = unstructured.SetNestedField(obj.Object, "Terminating", "status", "phase")
	case isCRD(res) && !old.deleting:
		setCondition(obj, map[string]any{
			"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "lastTransitionTime": now().Format("2006-01-02T15:04:05Z"),
			"message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
		})
	}
	v, err := s.commitLocked(c, old, obj, opts)
	if err != nil || opts.dryRun {
		return v, false, err
	}
	switch {
	case hasContent(res):
		return v, false, s.emptyNamespaceLocked(v.name)
	case isCRD(res) && !old.deleting:
		return v, false, s.emptyDefinitionLocked(v.name)
	}
	return v, false, nil
}

// orphansPods reports whether the dependents of a kind are orphaned unless the deletion says otherwise.
func orphansPods(res Resource) bool {
	gr := res.groupResource()
	return gr == schema.GroupResource{Group: "batch", Resource: "jobs"} || gr == schema.GroupResource{Resource: "replicationcontrollers"}
}

// propagationFinalizers are the finalizers of an object whose deletion was asked
// for: those it has, and the one by which the garbage collector learns of the
// propagation policy.
func propagationFinalizers(res Resource, have []string, del metav1.DeleteOptions) []string {
	policy := metav1.DeletePropagationBackground
	switch {
	case del.PropagationPolicy != nil:
		policy = *del.PropagationPolicy
	case del.OrphanDependents != nil && *del.OrphanDependents: //nolint:staticcheck // old clients still send it
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(have, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(have, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case orphansPods(res):
		policy = metav1.DeletePropagationOrphan
	}
	next := slices.DeleteFunc(slices.Clone(have), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch policy {
	case metav1.DeletePropagationOrphan:
		next = append(next, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		next = append(next, metav1.FinalizerDeleteDependents)
	}
	return next
}

// removeLocked takes an object out of the store. Its last event shows the state
// as it was stored, with the version of the deletion.
func (s *store) removeLocked(c *collection, old *version, opts writeOptions) error {
	if opts.dryRun {
		return nil
	}
	last := old.at(s.rv + 1)
	s.recordLocked(c, change{rv: last.rv, old: old, last: last})
	return s.afterRemoveLocked(c, last)
}
