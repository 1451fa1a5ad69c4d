package informertest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// delete answers a DELETE of one object: with 200 and the object if finalizers keep it,
// otherwise with a Status that names what is gone, or for some resources with its last
// state.
func (cl *call) delete() error {
	del, opts, err := cl.deleteOptions()
	if err != nil {
		return err
	}
	v, removed, err := cl.server.store.delete(cl.c, cl.target.namespace, cl.target.name, del, opts)
	if err != nil {
		return err
	}
	if removed && returnsDeleted[cl.res.groupResource()] {
		if v, err = lastState(cl.res, v); err != nil {
			return err
		}
		removed = false
	}
	if !removed {
		return cl.respond(http.StatusOK, v)
	}
	return writeJSON(cl.w, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: v.name, Group: cl.res.Group, Kind: cl.res.Plural, UID: types.UID(v.uid)},
	})
}

// returnsDeleted are the resources whose deletion is answered with the object that
// is gone, not with a Status.
var returnsDeleted = map[schema.GroupResource]bool{
	{Resource: "namespaces"}: true, {Resource: "persistentvolumeclaims"}: true, {Resource: "persistentvolumes"}: true,
	{Resource: "pods"}: true, {Resource: "podtemplates"}: true, {Resource: "resourcequotas"}: true,
	{Resource: "serviceaccounts"}: true, {Resource: "services"}: true,
	{Group: "resource.k8s.io", Resource: "deviceclasses"}:          true,
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:         true,
	{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}: true,
	{Group: "resource.k8s.io", Resource: "resourceslices"}:         true,
	{Group: "storage.k8s.io", Resource: "csidrivers"}:              true,
	{Group: "storage.k8s.io", Resource: "csinodes"}:                true,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:          true,
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:       true,
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}: true,
}

// lastState is the object that a deletion is answered with. A pod shows that it
// was deleted, since it is deleted with grace.
func lastState(res Resource, v *version) (*version, error) {
	if !isPod(res) {
		return v, nil
	}
	obj, err := v.object(res, res.Versions[0])
	if err != nil {
		return nil, err
	}
	none := int64(0)
	obj.SetDeletionGracePeriodSeconds(&none)
	if !v.deleting {
		deleted := now()
		obj.SetDeletionTimestamp(&deleted)
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	return newVersion(res, obj, v.rv)
}

// deleteCollection deletes what the selectors leave, and lists it.
func (cl *call) deleteCollection() error {
	del, opts, err := cl.deleteOptions()
	if err != nil {
		return err
	}
	q, err := cl.server.params.listQuery(cl.r.URL.Query(), true)
	if err != nil {
		return err
	}
	sel, err := parseSelection(cl.res, cl.target.namespace, q.LabelSelector, q.FieldSelector)
	if err != nil {
		return err
	}
	p, err := cl.server.store.deleteCollection(cl.c, sel, del, opts)
	if err != nil {
		return err
	}
	return cl.view.writeList(cl.w, p)
}

// deleteOptions reads and validates the options of a deletion.
func (cl *call) deleteOptions() (metav1.DeleteOptions, writeOptions, error) {
	body, media, err := cl.body()
	if err != nil {
		return metav1.DeleteOptions{}, writeOptions{}, err
	}
	del, err := cl.server.params.decodeDeleteOptions(cl.r, body, media)
	if err != nil {
		return del, writeOptions{}, err
	}
	if errs := validation.ValidateDeleteOptions(&del); len(errs) > 0 {
		return del, writeOptions{}, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if del.PropagationPolicy == nil && del.OrphanDependents == nil && cl.res.Group == "batch" && cl.res.Plural == "jobs" { //nolint:staticcheck // old clients still send it
		cl.w.Header().Add("Warning", `299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"`)
	}
	return del, writeOptions{dryRun: len(del.DryRun) > 0}, nil
}

// deleteCollection deletes the selected objects and returns their last states.
func (s *store) deleteCollection(c *collection, sel selection, del metav1.DeleteOptions, opts writeOptions) (page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := page{items: c.selectLocked(sel)}
	for _, v := range p.items {
		if _, _, err := s.deleteLocked(c, v, del, opts); err != nil && !apierrors.IsNotFound(err) {
			return page{}, err
		}
	}
	p.rv = s.rv
	return p, nil
}
