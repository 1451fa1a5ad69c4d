package informertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// maxBody is the size of the largest body that is read, as in the API server.
const maxBody = 3 << 20

// converter turns unstructured objects into Go types.
var converter = runtime.DefaultUnstructuredConverter

// body reads the request's body and media type. Protobuf is turned into JSON.
func (cl *call) body() (body []byte, media string, err error) {
	body, media, err = cl.rawBody()
	if err != nil || media != mediaProtobuf || len(body) == 0 {
		return body, media, err
	}
	obj, err := decodeProto(cl.server.types(), body)
	if err == nil {
		body, err = json.Marshal(obj)
	}
	if err != nil {
		return nil, "", errProtobuf(err)
	}
	return body, mediaJSON, nil
}

// object reads the object that a create or update sends to a path. The directive
// says what becomes of fields that the object's kind does not have.
func (cl *call) object(directive string) (*unstructured.Unstructured, error) {
	body, media, err := cl.rawBody()
	if err != nil {
		return nil, err
	}
	if media != mediaProtobuf || len(body) == 0 {
		return cl.decodeObject(body, media, directive)
	}
	obj, err := decodeProto(cl.server.types(), body)
	if err != nil {
		return nil, errProtobuf(err)
	}
	content, managers, err := contentOf(obj)
	if err != nil {
		return nil, errProtobuf(err)
	}
	return checkWritten(&unstructured.Unstructured{Object: content}, managers, cl.res, cl.target)
}

// contentOf turns a Go object into what the store takes, and sets its managers apart.
func contentOf(obj any) (map[string]any, []metav1.ManagedFieldsEntry, error) {
	var managers []metav1.ManagedFieldsEntry
	meta, ok := obj.(metav1.Object)
	if !ok {
		meta, ok = builtin.Metadata(obj)
	}
	if ok {
		managers = meta.GetManagedFields()
		meta.SetManagedFields(nil)
	}
	content, err := converter.ToUnstructured(obj)
	return content, managers, err
}

// errProtobuf is the answer to a body that is not what its protobuf type says: 400, as
// for JSON that cannot be decoded.
func errProtobuf(err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	return apierrors.NewBadRequest("decoding protobuf: " + err.Error())
}

// rawBody reads the request's body and media type; no Content-Type means JSON.
func (cl *call) rawBody() (body []byte, media string, err error) {
	media = mediaJSON
	if header := cl.r.Header.Get("Content-Type"); header != "" {
		if media, _, err = mime.ParseMediaType(header); err != nil {
			return nil, "", errUnsupportedMedia(mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf)
		}
	}
	body, err = io.ReadAll(http.MaxBytesReader(cl.w, cl.r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, "", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
		}
		return nil, "", apierrors.NewBadRequest("reading the body: " + err.Error())
	}
	return body, media, nil
}

// decodeObject reads an object in JSON or YAML.
func (cl *call) decodeObject(body []byte, media, directive string) (*unstructured.Unstructured, error) {
	res, t := cl.res, cl.target
	gvk := res.gvk(t.version)
	var reader runtime.Decoder = strictJSON
	switch media {
	case mediaJSON:
	case mediaYAML:
		reader = strictYAML
	default:
		return nil, errUnsupportedMedia(mediaJSON + ", " + mediaYAML + ", " + mediaProtobuf)
	}
	if typed(gvk) {
		content, managers, err := cl.readTyped(body, reader, directive)
		if err != nil {
			return nil, err
		}
		return checkWritten(&unstructured.Unstructured{Object: content}, managers, res, t)
	}
	obj := &unstructured.Unstructured{}
	_, have, err := reader.Decode(body, &gvk, obj)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if err != nil && !isStrict && (!runtime.IsMissingKind(err) || obj.Object == nil || res.fields != nil) {
		return nil, errUndecodable(err, have, gvk, body)
	}
	if err := checkTypes(obj, gvk); err != nil {
		return nil, err
	}
	var wrong []error
	if isStrict {
		wrong = strict.Errors()
	}
	if err := cl.judge(append(wrong, cl.fitSchema(obj.Object)...), directive); err != nil {
		return nil, errUndecodable(err, &gvk, gvk, body)
	}
	return checkWritten(obj, nil, res, t)
}

// checkTypes refuses an object of another kind or version than is wanted. One
// that states neither is taken for what is wanted.
func checkTypes(obj *unstructured.Unstructured, want schema.GroupVersionKind) error {
	if got := obj.GroupVersionKind(); (obj.GetKind() != "" || obj.GetAPIVersion() != "") && got != want {
		return errOtherKind(got, want)
	}
	return nil
}

// mergeOwners merges owner references that stand twice in an object, with a warning.
func (cl *call) mergeOwners(obj *unstructured.Unstructured, when string) {
	list := objectsAt(obj.Object, "metadata", "ownerReferences")
	var kept []any
	var twice []string
	for _, ref := range list {
		if slices.ContainsFunc(kept, func(have any) bool { return reflect.DeepEqual(have, any(ref)) }) {
			twice = append(twice, fmt.Sprint(ref["uid"]))
			continue
		}
		kept = append(kept, ref)
	}
	if len(twice) == 0 {
		return
	}
	_ = unstructured.SetNestedField(obj.Object, kept, "metadata", "ownerReferences")
	cl.warn([]error{fmt.Errorf(".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s", when, strings.Join(twice, ", "))})
}

// checkWritten is checkObject for an object whose managers are apart, and gives them
// to it.
func checkWritten(obj *unstructured.Unstructured, managers []metav1.ManagedFieldsEntry, res Resource, t target) (*unstructured.Unstructured, error) {
	obj, err := checkObject(obj, res, t)
	if err == nil && len(managers) > 0 {
		setManagers(obj, managers)
	}
	return obj, err
}

// checkObject refuses an object that does not fit the path it is sent to, and
// completes what the path states.
func checkObject(obj *unstructured.Unstructured, res Resource, t target) (*unstructured.Unstructured, error) {
	want := res.gvk(t.version)
	if err := checkTypes(obj, want); err != nil {
		return nil, err
	}
	if err := checkMetadata(obj, want); err != nil {
		return nil, err
	}
	if _, ok := obj.Object["metadata"].(map[string]any); !ok {
		obj.Object["metadata"] = map[string]any{}
	}
	switch {
	case res.ClusterScoped:
		obj.SetNamespace("")
	case obj.GetNamespace() == "":
		obj.SetNamespace(t.namespace)
	case obj.GetNamespace() != t.namespace:
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if t.name != "" {
		if obj.GetName() == "" {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", t.name))
		}
		if obj.GetName() != t.name {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), t.name))
		}
	}
	return obj, nil
}

// checkMetadata refuses metadata of wrong types. That of a built-in kind has gone
// through the kind's Go type already.
func checkMetadata(obj *unstructured.Unstructured, want schema.GroupVersionKind) error {
	if typed(want) {
		return nil
	}
	var meta metav1.PartialObjectMetadata
	if err := converter.FromUnstructured(map[string]any{"metadata": metadataOf(obj)}, &meta); err != nil {
		text, failure := json.Marshal(metadataOf(obj))
		if failure == nil { // the words of package json, if it finds the same wrong
			failure = json.Unmarshal(text, &metav1.ObjectMeta{})
		}
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", want.Kind, want.Version, want.Kind, cmp.Or(failure, err)))
	}
	return nil
}

// metadataOf returns the metadata of an object, which may be of any type at
// all, as something to be converted.
func metadataOf(obj *unstructured.Unstructured) any {
	if m := obj.Object["metadata"]; m != nil {
		return m
	}
	return map[string]any{}
}

// decodeDeleteOptions reads the options of a delete from body and query; those
// in the body win, as in the API server.
func (p parameters) decodeDeleteOptions(r *http.Request, body []byte, media string) (metav1.DeleteOptions, error) {
	var del metav1.DeleteOptions
	if len(body) == 0 {
		return del, p.decode(r.URL.Query(), &del)
	}
	if media != mediaJSON {
		return del, errUnsupportedMedia(mediaJSON)
	}
	if err := utiljson.Unmarshal(body, &del); err != nil {
		return del, apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + err.Error())
	}
	if del.Kind != "" && del.Kind != "DeleteOptions" {
		return del, apierrors.NewBadRequest(runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", del.GroupVersionKind()).Error())
	}
	return del, nil
}
