package client

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/difference"
	"github.com/informerkit/informerkit/internal/object"
)

// A program sees less of an object than the server stores: its Go type lacks fields, and a Transform drops others.
// Writing the object back would delete them. So a change is sent as the difference between the object before and
// after it, in the first form that loses nothing:
//
//  1. a JSON merge patch, if no list changes;
//  2. a strategic merge patch, if the kind is built in and the server merges each list that changes by a key;
//  3. a JSON patch, computed from the JSON of the object on the server and the difference. Only this form needs a read.
//
// Each form contains the resourceVersion that the change is based on.

// changed sends what change changes in obj, whose JSON on the server is text, if it was read.
func (c *Client[T]) changed(ctx context.Context, obj T, text []byte, change func(T) error) (T, Outcome, error) {
	before, ok := obj.DeepCopyObject().(T)
	if !ok {
		return obj, Unchanged, fmt.Errorf("client: the DeepCopyObject of %T returns another type", obj)
	}
	key, version := object.KeyOf(obj), obj.GetResourceVersion()
	if err := change(obj); err != nil {
		return obj, Unchanged, err
	}
	if object.KeyOf(obj) != key {
		return obj, Unchanged, fmt.Errorf("client: change has renamed %s to %s", key, object.KeyOf(obj))
	}
	if equality.Semantic.DeepEqual(before, obj) {
		return obj, Unchanged, nil
	}
	obj.SetResourceVersion(version)
	was, err := valuesOf(before)
	is, failed := valuesOf(obj)
	if err = errors.Join(err, failed); err != nil {
		return obj, Unchanged, fmt.Errorf("client: %s %s: %w", c.resource.Resource, key, err)
	}
	patch, ok := difference.MergePatch(was, is)
	form := types.MergePatchType
	if !ok && text == nil {
		patch, form = difference.StrategicPatch(c.elem, was, is), types.StrategicMergePatchType
	}
	if patch != nil && len(patch) == 0 {
		return obj, Unchanged, nil
	}
	var written T
	if patch != nil {
		written, err = c.sendPatch(ctx, key, form, based(patch, version))
	}
	if patch == nil || form == types.StrategicMergePatchType && apierrors.IsUnsupportedMediaType(err) {
		written, err = c.sendOperations(ctx, key, version, text, was, is)
	}
	if err == nil && written.GetResourceVersion() == version && written.GetDeletionTimestamp() == nil {
		return written, Unchanged, nil // the server's defaults have made it what it was
	}
	return written, Updated, err
}

// sendOperations sends the third form.
func (c *Client[T]) sendOperations(ctx context.Context, key types.NamespacedName, version string, text []byte, before, after map[string]any) (none T, err error) {
	if text == nil {
		if none, text, err = c.readJSON(ctx, key); err != nil {
			return none, err
		}
	}
	obj, err := c.decode(answer{contentType: mimeJSON, body: text})
	if err == nil && version != "" && obj.GetResourceVersion() != version {
		return none, apierrors.NewConflict(c.resource.GroupResource(), key.Name, errors.New("the object has changed since version "+version))
	}
	seen, failed := valuesOf(obj)
	live, unread := difference.Decode(text)
	var wanted map[string]any
	if err = errors.Join(err, failed, unread); err == nil {
		wanted, err = difference.Merger{Type: c.elem, ListMapKeys: c.opts.ListMapKeys}.Merge(live, seen, before, after)
	}
	if err != nil {
		return none, fmt.Errorf("client: %s %s: %w", c.resource.Resource, key, err)
	}
	if reflect.DeepEqual(live, wanted) {
		return obj, nil // the server has it where the program cannot see it
	}
	// Whole members at the top, as the server has them in this version. The metadata contains the version.
	ops := []any{map[string]any{"op": "add", "path": "/metadata", "value": wanted["metadata"]}}
	for name := range difference.Names(live, wanted) {
		path := jsontext.Pointer("").AppendToken(name)
		if value, kept := wanted[name]; !kept {
			ops = append(ops, map[string]any{"op": "remove", "path": path})
		} else if name != "metadata" && !reflect.DeepEqual(live[name], value) {
			ops = append(ops, map[string]any{"op": "add", "path": path, "value": value})
		}
	}
	return c.sendPatch(ctx, key, types.JSONPatchType, ops)
}

// sendPatch sends a patch. An error of the server about patches in general is explained.
func (c *Client[T]) sendPatch(ctx context.Context, key types.NamespacedName, form types.PatchType, patch any) (none T, err error) {
	body, err := stdjson.Marshal(patch)
	if err != nil {
		return none, fmt.Errorf("client: %s %s: %w", c.resource.Resource, key, err)
	}
	obj, err := c.Patch(ctx, key, form, body)
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; a change is sent as a PATCH: if the role lacks the verb patch for %s, grant it", err, c.path())
	case apierrors.IsMethodNotSupported(err) || apierrors.IsUnsupportedMediaType(err):
		err = fmt.Errorf("%w; a change is sent as a PATCH (%s), which the server does not support for %s: use Client.Update, which replaces the whole object", err, form, c.path())
	}
	return obj, err
}

// based adds to a patch the version that it is for.
func based(patch map[string]any, version string) map[string]any {
	meta, ok := patch["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
	}
	if version != "" {
		meta["resourceVersion"] = version
		patch["metadata"] = meta
	}
	return patch
}

// path is the resource as roles name it.
func (c *Client[T]) path() string {
	if c.opts.Subresource == "" {
		return c.resource.GroupResource().String()
	}
	return c.resource.GroupResource().String() + "/" + c.opts.Subresource
}

// read is Get that also returns the text of the response, nil if it is not JSON.
func (c *Client[T]) read(ctx context.Context, key types.NamespacedName) (obj T, text []byte, err error) {
	obj, _, err = c.object(ctx, call{verb: http.MethodGet, key: key, text: &text})
	return obj, text, err
}

// readJSON is read that accepts JSON only.
func (c *Client[T]) readJSON(ctx context.Context, key types.NamespacedName) (T, []byte, error) {
	whole := *c.whole()
	whole.protobuf = false
	obj, text, err := whole.read(ctx, key)
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; to change a list without loss, the object is read first: grant the verb get for %s", err, whole.path())
	case err == nil && text == nil:
		err = fmt.Errorf("client: %s %s: the response is not JSON, which was asked for", c.resource.Resource, key)
	}
	return obj, text, err
}

// valuesOf returns an object as JSON values.
func valuesOf(obj any) (map[string]any, error) {
	body, err := marshalJSON(obj)
	if err != nil {
		return nil, err
	}
	return difference.Decode(body)
}
