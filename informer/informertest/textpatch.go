package informertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// JSON patches and merge patches are carried out on the text of an object, by the
// library that the API server uses: its dialect is not that of the RFCs.

// maxPatchOperations is how long a JSON patch may be, as in the API server.
const maxPatchOperations = 10_000

// patchFunc is what a patch does to the content of an object, which it owns.
type patchFunc func(map[string]any) (map[string]any, error)

// jsonPatcher returns the function that carries out a JSON patch.
func (cl *call) jsonPatcher(body []byte, directive string) (patchFunc, error) {
	ops, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	strict := duplicates(body)
	for i, err := range strict {
		strict[i] = errors.New("json patch " + err.Error())
	}
	if len(ops) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(ops)))
	}
	return cl.textPatcher(strict, directive, func(doc []byte) ([]byte, error) {
		patched, err := ops.Apply(doc)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return patched, nil
	}), nil
}

// mergePatcher returns the function that carries out a merge patch.
func (cl *call) mergePatcher(body []byte, directive string) (patchFunc, error) {
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	return cl.textPatcher(duplicates(body), directive, func(doc []byte) ([]byte, error) {
		patched, err := jsonpatch.MergePatch(doc, body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	}), nil
}

// duplicates finds the fields that stand twice in a JSON text, which may be a list.
func duplicates(text []byte) []error {
	whole := append(append([]byte(`{"patch":`), text...), '}')
	_, _, err := strictJSON.Decode(whole, nil, &anyKind{})
	errs := strictErrors(err)
	for i, err := range errs {
		errs[i] = errors.New(strings.Replace(strings.Replace(err.Error(), `"patch.`, `"`, 1), `"patch[`, `"[`, 1))
	}
	return errs
}

// textPatcher lets a function that patches text patch an object. What it leaves is read
// like the body of an update.
func (cl *call) textPatcher(strict []error, directive string, apply func([]byte) ([]byte, error)) patchFunc {
	return func(doc map[string]any) (map[string]any, error) {
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		if text, err = apply(text); err != nil {
			return nil, err
		}
		return cl.reread(text, strict, directive)
	}
}

// reread reads the text that a patch left. Fields that stood twice in the patch are
// refused, or warned of, together with unknown ones.
func (cl *call) reread(text []byte, strict []error, directive string) (map[string]any, error) {
	invalid := func(err error) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(text), err.Error())})
	}
	gvk := cl.res.gvk(cl.target.version)
	_, isTyped := builtin.TypeOf(gvk)
	given := &anyKind{}
	_, _, err := strictJSON.Decode(text, nil, given)
	if err == nil && !isTyped && given.GetKind() == "" {
		err = runtime.NewMissingKindErr(string(text))
	}
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, invalid(err)
	}
	strict = append(strict[:len(strict):len(strict)], strictErrors(err)...)
	content := given.Object
	if isTyped {
		// A patch may have made another kind of it, which is read as such before it is refused.
		have := given.GroupVersionKind()
		if given.GetKind() == "" || given.GetAPIVersion() == "" {
			have = gvk
		}
		t, known := builtin.TypeOf(have)
		if !known {
			return nil, invalid(runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", have))
		}
		obj, err := builtin.Read(t, text)
		if err != nil {
			return nil, invalid(err)
		}
		strict = append(strict, unknownFields(t, content)...)
		if content, err = converter.ToUnstructured(obj); err != nil {
			return nil, err
		}
	} else {
		strict = append(strict, cl.fitSchema(content)...)
	}
	if err := cl.judge(strict, directive); err != nil {
		return nil, invalid(err)
	}
	return content, nil
}

// judge applies the directive of field validation to what was found wrong with the fields
// of a body: it is ignored, sent as warnings, or returned as an error.
func (cl *call) judge(strict []error, directive string) error {
	switch {
	case len(strict) == 0 || directive == metav1.FieldValidationIgnore:
		return nil
	case directive == metav1.FieldValidationStrict:
		return runtime.NewStrictDecodingError(strict)
	}
	cl.warn(strict)
	return nil
}
