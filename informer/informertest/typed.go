package informertest

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// strictJSON reads JSON and finds fields that stand there twice.
var strictJSON = json.NewSerializerWithOptions(json.DefaultMetaFactory, noTypes, noTypes, json.SerializerOptions{Strict: true})

// strictYAML is the same for YAML.
var strictYAML = json.NewSerializerWithOptions(json.DefaultMetaFactory, noTypes, noTypes, json.SerializerOptions{Strict: true, Yaml: true})

// noTypes is a scheme without types: the serializers read unstructured objects only.
var noTypes = runtime.NewScheme()

// readTyped reads a body as the API server does: into the Go type of its kind,
// so that fields of a wrong type are refused, unknown ones dropped, and values
// such as quantities stored in one form.
func (cl *call) readTyped(body []byte, reader runtime.Decoder, directive string) (map[string]any, []metav1.ManagedFieldsEntry, error) {
	gvk := cl.res.gvk(cl.target.version)
	text := body
	if reader == strictYAML {
		var err error
		if text, err = yaml.ToJSON(body); err != nil {
			return nil, nil, errUndecodable(err, nil, gvk, body)
		}
	}
	have, err := json.DefaultMetaFactory.Interpret(text)
	if err != nil {
		return nil, nil, errUndecodable(err, nil, gvk, body)
	}
	have.Kind = cmp.Or(have.Kind, gvk.Kind)
	if have.GroupVersion().Empty() {
		have.Group, have.Version = gvk.Group, gvk.Version
	}
	if *have != gvk {
		return nil, nil, errOtherKind(*have, gvk)
	}
	t, _ := builtin.TypeOf(gvk)
	obj, err := builtin.Read(t, text)
	if err != nil {
		return nil, nil, errUndecodable(err, have, gvk, body)
	}
	given := &anyKind{}
	_, _, err = reader.Decode(body, nil, given)
	if err := cl.judge(inOrder(text, append(strictErrors(err), unknownFields(t, given.Object)...)), directive); err != nil {
		return nil, nil, errUndecodable(err, have, gvk, body)
	}
	return contentOf(obj)
}

// inOrder puts what was found wrong with fields into the order in which their outermost members
// stand in a JSON text, as one decoder that finds all of it would. What names no field stays first.
func inOrder(text []byte, errs []error) []error {
	at := func(err error) int {
		_, path, _ := strings.Cut(err.Error(), `"`)
		if end := strings.IndexAny(path, `.["`); end > 0 {
			path = path[:end]
		}
		return bytes.Index(text, []byte(`"`+path+`"`))
	}
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(at(a), at(b)) })
	return errs
}

// unknownFields finds the fields that a Go type does not have.
func unknownFields(t reflect.Type, content map[string]any) []error {
	return strictErrors(converter.FromUnstructuredWithValidation(content, reflect.New(t).Interface(), true))
}

// anyKind is read as it is, also if it does not say what kind it is of.
type anyKind struct{ unstructured.Unstructured }

// GetObjectKind implements runtime.Object.
func (*anyKind) GetObjectKind() schema.ObjectKind { return &metav1.TypeMeta{Kind: "Any"} }

// strictErrors returns what a strict decoder found wrong with fields; nil if there is nothing or
// the text could not be decoded.
func strictErrors(err error) []error {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil
	}
	return strict.Errors()
}

// retype passes what a strategic merge patch or an apply made of an object through the
// Go type of its kind, as [call.readTyped] does with a body. patch is its text in errors,
// strict what was found wrong with its fields.
func (cl *call) retype(content map[string]any, patch string, strict []error, directive string) (map[string]any, error) {
	gvk := cl.res.gvk(cl.target.version)
	invalid := func(err error) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
	}
	t, ok := builtin.TypeOf(gvk)
	if !ok {
		if err := cl.judge(append(strict[:len(strict):len(strict)], cl.fitSchema(content)...), directive); err != nil {
			return nil, invalid(err)
		}
		return content, nil
	}
	obj := reflect.New(t).Interface()
	err := converter.FromUnstructuredWithValidation(content, obj, directive != metav1.FieldValidationIgnore)
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, invalid(err)
	}
	if err := cl.judge(append(strict[:len(strict):len(strict)], strictErrors(err)...), directive); err != nil {
		return nil, invalid(err)
	}
	if content, err = converter.ToUnstructured(obj); err != nil {
		return nil, err
	}
	content["apiVersion"], content["kind"] = gvk.ToAPIVersionAndKind()
	return content, nil
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
		if t, ok := builtin.TypeOf(gvk); ok {
			if u, err := converter.ToUnstructured(reflect.New(t).Interface()); err == nil {
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
