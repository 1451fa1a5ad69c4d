package informertest

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// strategicPatcher returns the function that carries out a strategic merge patch:
// a merge patch that merges lists by the keys that the Go type of the kind names.
// Kinds without such a type do not have it.
func (cl *call) strategicPatcher(body []byte, directive string) (patchFunc, error) {
	gvk := cl.res.gvk(cl.target.version)
	t, ok := builtin.TypeOf(gvk)
	if !ok {
		return nil, errUnsupportedPatch(cl.res)
	}
	patch := map[string]any{}
	if err := utiljson.Unmarshal(body, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	stated := fmt.Sprintf("%+v", patch) // merging modifies the patch
	strict := duplicates(body)
	schema := reflect.New(t).Interface()
	return func(doc map[string]any) (map[string]any, error) {
		merged, err := strategicpatch.StrategicMergeMapPatch(doc, patch, schema)
		if err != nil {
			return nil, cl.strategicError(err)
		}
		return cl.retype(merged, stated, strict, directive)
	}, nil
}

// strategicError classifies what is wrong with a patch as the API server does.
func (cl *call) strategicError(err error) error {
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	for _, bad := range []error{mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys} {
		if errors.Is(err, bad) {
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", cl.res.groupResource(), cl.target.name, err.Error(), 0, false)
		}
	}
	return errUnclassified(err)
}
