package informertest

import (
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// strictJSON reads JSON into the Go types of the built-in kinds and finds fields
// that those do not have, or that stand there twice.
var strictJSON = json.NewSerializerWithOptions(json.DefaultMetaFactory, builtinTypes, builtinTypes, json.SerializerOptions{Strict: true})

// strictYAML is the same for YAML.
var strictYAML = json.NewSerializerWithOptions(json.DefaultMetaFactory, builtinTypes, builtinTypes, json.SerializerOptions{Strict: true, Yaml: true})

// readTyped reads a body as the API server does: into the Go type of its kind,
// so that fields of a wrong type are refused, unknown ones dropped, and values
// such as quantities stored in one form.
func (cl *call) readTyped(body []byte, reader runtime.Decoder, directive string) (map[string]any, []metav1.ManagedFieldsEntry, error) {
	gvk := cl.res.gvk(cl.target.version)
	obj, have, err := reader.Decode(body, &gvk, nil)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	switch {
	case err != nil && (!isStrict || obj == nil):
		return nil, nil, errUndecodable(err, have, gvk, body)
	case *have != gvk:
		return nil, nil, errOtherKind(*have, gvk)
	case isStrict:
		if err := cl.judge(strict.Errors(), directive); err != nil {
			return nil, nil, errUndecodable(err, have, gvk, body)
		}
	}
	return contentOf(obj)
}

// retype passes what a strategic merge patch or an apply made of an object through the
// Go type of its kind, as [call.readTyped] does with a body. patch is its text in errors,
// strict what was found wrong with its fields.
func (cl *call) retype(content map[string]any, patch string, strict []error, directive string) (map[string]any, error) {
	gvk := cl.res.gvk(cl.target.version)
	invalid := func(err error) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
	}
	if !builtinTypes.Recognizes(gvk) {
		if err := cl.judge(append(strict[:len(strict):len(strict)], cl.fitSchema(content)...), directive); err != nil {
			return nil, invalid(err)
		}
		return content, nil
	}
	obj, err := builtinTypes.New(gvk)
	if err != nil {
		return nil, err
	}
	err = converter.FromUnstructuredWithValidation(content, obj, directive != metav1.FieldValidationIgnore)
	more, isStrict := runtime.AsStrictDecodingError(err)
	if err != nil && !isStrict {
		return nil, invalid(err)
	}
	if isStrict {
		strict = append(strict[:len(strict):len(strict)], more.Errors()...)
	}
	if err := cl.judge(strict, directive); err != nil {
		return nil, invalid(err)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return converter.ToUnstructured(obj)
}

// warn adds a header for each error, which clients show to their users. A text of several
// lines cannot be sent in a header.
func (cl *call) warn(errs []error) {
	for _, err := range errs {
		if !strings.Contains(err.Error(), "\n") {
			cl.w.Header().Add("Warning", fmt.Sprintf("299 - %q", err.Error()))
		}
	}
}

// zeros remembers, per kind, what an object without content looks like: Go
// structs show some members even when they are empty.
var zeros sync.Map // schema.GroupVersionKind → map[string]any

// zeroContent is what an object of a kind without content looks like. It is shared
// and must not be changed.
func zeroContent(gvk schema.GroupVersionKind) map[string]any {
	zero, ok := zeros.Load(gvk)
	if !ok {
		content := map[string]any{}
		if obj, err := builtinTypes.New(gvk); err == nil {
			if u, err := converter.ToUnstructured(obj); err == nil {
				content = u
			}
		}
		zero, _ = zeros.LoadOrStore(gvk, content)
	}
	return zero.(map[string]any)
}

// zeroStatus is the status of a new object of a kind, nil if it shows none.
func zeroStatus(gvk schema.GroupVersionKind) any {
	status, ok := zeroContent(gvk)["status"].(map[string]any)
	if !ok {
		return nil
	}
	return runtime.DeepCopyJSON(status)
}

// invalidOptions refuses the options of a request.
func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// createsOnUpdate reports whether a PUT to a name that does not exist creates the
// object.
func createsOnUpdate(res Resource) bool { return putCreates[res.groupResource()] }

var putCreates = map[schema.GroupResource]bool{
	{Resource: "endpoints"}:                                               true,
	{Resource: "events"}:                                                  true,
	{Resource: "limitranges"}:                                             true,
	{Resource: "services"}:                                                true,
	{Group: "coordination.k8s.io", Resource: "leases"}:                    true,
	{Group: "events.k8s.io", Resource: "events"}:                          true,
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                    true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:               true,
}
