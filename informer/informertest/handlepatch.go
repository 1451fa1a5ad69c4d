package informertest

import (
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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
	change, err := cl.patcher(types.PatchType(media), body)
	if err != nil {
		return err
	}
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	return cl.write(write, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		old.SetGroupVersionKind(cl.res.gvk(cl.target.version))
		content, err := change(old.Object)
		if err != nil {
			return nil, err
		}
		return cl.patched(content, opts)
	})
}

// patched checks what a patch has made of an object.
func (cl *call) patched(patched any, opts metav1.PatchOptions) (*unstructured.Unstructured, error) {
	content, ok := patched.(map[string]any)
	if !ok {
		return nil, apierrors.NewBadRequest("the patch leaves no object")
	}
	content, err := cl.retype(content, opts.FieldValidation)
	if err != nil {
		return nil, err
	}
	return checkObject(&unstructured.Unstructured{Object: content}, cl.res, cl.target)
}

// supportedPatches are the media types of the patches of the resource, for error
// messages.
func (cl *call) supportedPatches() string {
	supported := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if typed(cl.res.gvk(cl.target.version)) {
		supported = append(supported, string(types.StrategicMergePatchType))
	}
	return strings.Join(append(supported, string(types.ApplyPatchType)), ", ")
}

// patcher returns the function that carries out a patch. The function owns the
// document it is given.
func (cl *call) patcher(media types.PatchType, body []byte) (func(map[string]any) (any, error), error) {
	switch media {
	case types.MergePatchType:
		var patch any
		if err := utiljson.Unmarshal(body, &patch); err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		members, ok := patch.(map[string]any)
		if !ok {
			return nil, apierrors.NewBadRequest("error decoding patch: a merge patch must be an object")
		}
		return func(doc map[string]any) (any, error) { return mergePatch(doc, members), nil }, nil
	case types.JSONPatchType:
		var ops []patchOperation
		if err := json.Unmarshal(body, &ops); err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		if len(ops) > maxPatchOperations {
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops)))
		}
		return func(doc map[string]any) (any, error) { return cl.applyJSONPatch(doc, ops) }, nil
	case types.StrategicMergePatchType:
		return cl.strategicPatcher(body)
	}
	return nil, errUnsupportedMedia(string(media), cl.supportedPatches())
}

// applyJSONPatch carries out a JSON patch; one that does not fit the object is
// the client's mistake.
func (cl *call) applyJSONPatch(doc map[string]any, ops []patchOperation) (any, error) {
	patched, err := applyPatch(doc, ops)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(422, "", cl.res.groupResource(), cl.target.name, err.Error(), 0, false)
	}
	return patched, nil
}
