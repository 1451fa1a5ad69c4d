package informertest

import (
	"cmp"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	util "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/informerkit/informerkit/informer/informertest/internal/checks"
)

// nameAttempts is how often a generateName is tried before giving up.
const nameAttempts = 8

// writeOptions are what all writes have in common.
type writeOptions struct {
	// dryRun computes the result and stores nothing.
	dryRun bool
	// trusted marks writes by the methods of Server, for the convenience of tests: status
	// is written together with the rest, and namespaces need not exist.
	trusted bool
	// subresource is "" or "status".
	subresource string
	// manager is who writes, for metadata.managedFields; version is the API version
	// of the request. Both are empty for the methods of Server.
	manager, version string
	// applied marks an object whose managedFields a server-side apply has set.
	applied bool
	// replaces marks an update that is the same whatever the present state is, patches
	// one that is made of the present state.
	replaces, patches bool
	// owners, if set, gets the owner references of an update.
	owners *ownersChange
}

type ownersChange struct{ before, after []metav1.OwnerReference }

// create stores a new object and returns it as stored. It takes ownership of obj.
func (s *store) create(c *collection, obj *unstructured.Unstructured, opts writeOptions) (*version, error) {
	// What depends on the object alone is done before the lock is taken.
	trackCreate(s.resourceOf(c), obj, opts)
	s.mu.Lock()
	defer s.mu.Unlock()
	res := c.res
	if obj.GetResourceVersion() != "" && obj.GetResourceVersion() != "0" {
		return nil, errVersionOnCreate()
	}
	if s.definitionLocked(res).terminating() {
		err := apierrors.NewMethodNotSupported(res.groupResource(), "create")
		err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
		return nil, err
	}
	if err := s.namespaceForCreateLocked(res, obj.GetNamespace(), obj.GetName(), opts); err != nil {
		return nil, err
	}
	prepareCreate(res, obj, opts)
	obj.SetUID(s.ids.uid())
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	if generated {
		obj.SetName(s.ids.name(obj.GetGenerateName()))
		for range nameAttempts {
			if _, taken := c.items[res.key(obj.GetNamespace(), obj.GetName())]; !taken {
				break
			}
			obj.SetName(s.ids.name(obj.GetGenerateName()))
		}
	}
	if err := s.prioritizeLocked(res, obj, opts); err != nil {
		return nil, err
	}
	errs := s.completeLocked(c, nil, obj)
	if errs = append(validate(res, obj, opts), errs...); len(errs) > 0 {
		return nil, apierrors.NewInvalid(res.gvk("").GroupKind(), obj.GetName(), errs)
	}
	if old, ok := c.items[res.key(obj.GetNamespace(), obj.GetName())]; ok {
		if generated {
			return nil, apierrors.NewGenerateNameConflict(res.groupResource(), old.name, 1)
		}
		err := apierrors.NewAlreadyExists(res.groupResource(), old.name)
		if old.deleting { // controllers wait for the end of the deletion by these words
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
	if err := s.beforeCreateLocked(res, obj); err != nil {
		return nil, err
	}
	return s.commitLocked(c, nil, obj, opts)
}

// prepareCreate sets what the server decides about a new object and wipes what
// a client may not.
func prepareCreate(res Resource, obj *unstructured.Unstructured, opts writeOptions) {
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	unstructured.RemoveNestedField(obj.Object, "metadata", "selfLink")
	if res.NoGeneration {
		unstructured.RemoveNestedField(obj.Object, "metadata", "generation")
	} else {
		obj.SetGeneration(1)
	}
	if res.StatusSubresource && !opts.trusted && !createsStatus(res) {
		clearStatus(res, obj)
	}
	if res.Group == "" && res.Kind == "Namespace" {
		setIfAbsent(obj, []any{"kubernetes"}, "spec", "finalizers")
		labelNamespace(obj)
	}
}

// labelNamespace gives a namespace the label by which selectors find it.
func labelNamespace(obj *unstructured.Unstructured) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["kubernetes.io/metadata.name"] = obj.GetName()
	obj.SetLabels(labels)
}

// createsStatus reports whether a new object may bring its status: nodes register
// themselves with it.
func createsStatus(res Resource) bool { return res.Group == "" && res.Kind == "Node" }

// clearStatus removes the status, but for what an object of a Go type always shows.
func clearStatus(res Resource, obj *unstructured.Unstructured) {
	delete(obj.Object, "status")
	if status := zeroStatus(res.gvk(res.Versions[0])); status != nil {
		obj.Object["status"] = status
	}
}

// setIfAbsent writes a value at a path that holds none. Where the path leads
// through something other than objects, nothing is written.
func setIfAbsent(obj *unstructured.Unstructured, value any, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...); err == nil && !found {
		_ = unstructured.SetNestedField(obj.Object, value, path...)
	}
}

// namespaceForCreateLocked refuses objects in a namespace that does not exist
// or is being deleted. For the methods of Server a missing namespace is made.
func (s *store) namespaceForCreateLocked(res Resource, namespace, name string, opts writeOptions) error {
	if res.ClusterScoped || namespace == "" {
		return nil
	}
	spaces, ok := s.collections[namespaces]
	if !ok {
		return nil
	}
	ns, ok := spaces.items[namespace]
	switch {
	case !ok && opts.trusted:
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName(namespace)
		prepareCreate(spaces.res, obj, opts)
		s.completeLocked(spaces, nil, obj)
		obj.SetUID(s.ids.uid())
		_, err := s.commitLocked(spaces, nil, obj, opts)
		return err
	case !ok:
		return apierrors.NewNotFound(namespaces, namespace)
	case ns.deleting:
		err := apierrors.NewForbidden(res.groupResource(), name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", namespace), Field: "metadata.namespace",
		})
		return err
	}
	return nil
}

// validate checks an object that is to be stored. The methods of Server may store
// objects that clients may not, but for their metadata.
func validate(res Resource, obj *unstructured.Unstructured, opts writeOptions) field.ErrorList {
	errs := validation.ValidateObjectMetaAccessor(obj, !res.ClusterScoped, nameRule(res), field.NewPath("metadata"))
	errs = append(errs, validateFinalizers(res, obj)...)
	if !opts.trusted {
		errs = append(errs, validateCustom(res, cmp.Or(opts.version, res.Versions[0]), opts.subresource, obj.Object)...)
	}
	if opts.trusted || opts.subresource == "ephemeralcontainers" || !typed(res.gvk(res.Versions[0])) && res.Group != "apiregistration.k8s.io" {
		return errs
	}
	subresource := ""
	if opts.subresource == "status" {
		subresource = opts.subresource
	}
	return append(errs, checks.Of(schema.GroupKind{Group: res.Group, Kind: res.Kind}, subresource, obj.Object)...)
}

// nameRule is what names of a kind must be.
func nameRule(res Resource) validation.ValidateNameFunc {
	switch kind := (schema.GroupKind{Group: res.Group, Kind: res.Kind}); {
	case kind.Group == "rbac.authorization.k8s.io":
		return func(name string, prefix bool) []string {
			if prefix {
				return content.IsPathSegmentPrefix(name)
			}
			return content.IsPathSegmentName(name)
		}
	case kind == schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return func(string, bool) []string { return nil }
	case kind == schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return func(name string, prefix bool) []string {
			if errs := validation.NameIsDNSSubdomain(name, prefix); len(name) <= maxCronJobName {
				return errs
			}
			return []string{util.MaxLenError(maxCronJobName)} // the names of its jobs are longer
		}
	case kind.Group == "" && (kind.Kind == "Namespace" || kind.Kind == "Service"), kind == schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return validation.NameIsDNSLabel
	}
	return validation.NameIsDNSSubdomain
}

const maxCronJobName = 52

// commitLocked writes obj as the successor of old, under the next revision.
func (s *store) commitLocked(c *collection, old *version, obj *unstructured.Unstructured, opts writeOptions) (*version, error) {
	if opts.dryRun {
		// The object of a dry run has no version, or keeps the one it has.
		if old == nil {
			obj.SetResourceVersion("")
			return newVersion(c.res, obj, 0)
		}
		obj.SetResourceVersion(formatRV(old.rv))
		return newVersion(c.res, obj, old.rv)
	}
	obj.SetResourceVersion(formatRV(s.rv + 1))
	v, err := newVersion(c.res, obj, s.rv+1)
	if err != nil {
		return nil, err
	}
	s.storeLocked(c, old, v, obj)
	return v, nil
}

// storeLocked makes v, which is the encoding of obj, the successor of old.
func (s *store) storeLocked(c *collection, old, v *version, obj *unstructured.Unstructured) {
	s.recordLocked(c, change{rv: v.rv, old: old, new: v})
	s.afterWriteLocked(c, obj)
}
