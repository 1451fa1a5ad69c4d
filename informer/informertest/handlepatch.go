package informertest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// patch answers a PATCH. The Content-Type says what kind it is; an apply patch has
// rules of its own, as it may create the object and takes ownership of fields.
func (cl *call) patch() error {
	body, media, err := cl.body()
	if err != nil {
		return err
	}
	var opts metav1.PatchOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	if err := invalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&opts, types.PatchType(media))); err != nil {
		return err
	}
	if types.PatchType(media) == types.ApplyPatchType {
		return cl.apply(body, opts)
	}
	change, err := cl.patcher(types.PatchType(media), body, opts.FieldValidation)
	if err != nil {
		return err
	}
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	write.patches = true
	return cl.write(write, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		old.SetGroupVersionKind(cl.res.gvk(cl.target.version))
		content, err := change(old.Object)
		if err != nil {
			return nil, err
		}
		return cl.patched(content)
	})
}

// patched checks what a patch has made of an object.
func (cl *call) patched(content map[string]any) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: content}
	want := cl.res.gvk(cl.target.version)
	if cl.res.RequireResourceVersion && obj.GroupVersionKind() != want { // a custom resource
		var errs field.ErrorList
		if version := want.GroupVersion().String(); obj.GetAPIVersion() != version {
			errs = append(errs, field.Invalid(field.NewPath("apiVersion"), obj.GetAPIVersion(), "must be "+version))
		}
		if obj.GetKind() != want.Kind {
			errs = append(errs, field.Invalid(field.NewPath("kind"), obj.GetKind(), "must be "+want.Kind))
		}
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: want.Group, Kind: obj.GetKind()}, cl.target.name, errs)
	}
	obj, err := checkObject(obj, cl.res, cl.target)
	if err == nil {
		cl.mergeOwners(obj, " after mutating admission happens")
	}
	return obj, err
}

// patcher returns the function that carries out a patch.
func (cl *call) patcher(media types.PatchType, body []byte, directive string) (patchFunc, error) {
	switch media {
	case types.MergePatchType:
		return cl.mergePatcher(body, directive)
	case types.JSONPatchType:
		return cl.jsonPatcher(body, directive)
	case types.StrategicMergePatchType:
		return cl.strategicPatcher(body, directive)
	}
	return nil, errUnsupportedPatch(cl.res)
}
