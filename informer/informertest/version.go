package informertest

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// version is one immutable stored state of an object: its JSON, and beside it
// what lists and watches select by. JSON is kept rather than a decoded tree: it
// is several times smaller, and what most requests want to see.
type version struct {
	rv              uint64
	key             string
	namespace, name string
	uid             string
	labels          labels.Set
	fields          fields.Set
	// deleting is set once deletion was requested, held while a finalizer or a part of the
	// grace period is left.
	deleting, held bool
	// proto remembers the protobuf message of the object, once one was asked for.
	proto atomic.Pointer[[]byte]
	// bare is the object without apiVersion and kind, which are written in
	// front of it as the request wants to see them. It always holds metadata
	// and hence at least one member.
	bare []byte
	// written is what was written of a custom resource whose schema has changed since;
	// nil if that is bare.
	written []byte
	// rvStart and rvEnd are where metadata.resourceVersion stands in bare,
	// without its quotes. Both are 0 if it is missing.
	rvStart, rvEnd int
}

// newVersion freezes an object. The object's resourceVersion must be rv.
func newVersion(res Resource, obj *unstructured.Unstructured, rv uint64) (*version, error) {
	if typed(res.gvk(res.Versions[0])) {
		dropEmptyLists(res, obj.Object)
	}
	bare, start, end, err := encodeBare(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("informertest: encode %s %s/%s: %w", res.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return &version{
		rv:        rv,
		key:       res.key(obj.GetNamespace(), obj.GetName()),
		namespace: obj.GetNamespace(),
		name:      obj.GetName(),
		uid:       string(obj.GetUID()),
		labels:    obj.GetLabels(),
		fields:    selectableFields(res, obj),
		deleting:  obj.GetDeletionTimestamp() != nil,
		held:      len(obj.GetFinalizers()) > 0 || obj.GetDeletionTimestamp() != nil && !ended(obj.GetDeletionGracePeriodSeconds()) || hasContent(res) && len(namespaceFinalizers(obj)) > 0,
		bare:      bare,
		rvStart:   start,
		rvEnd:     end,
	}, nil
}

// selectableFields extracts what a field selector may ask for. A path that
// leads nowhere counts as the empty string, as in the API server.
func selectableFields(res Resource, obj *unstructured.Unstructured) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName()}
	if !res.ClusterScoped {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	for _, path := range res.SelectableFields {
		v, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
		switch v := v.(type) {
		case nil, map[string]any, []any:
			set[path] = ""
		default:
			set[path] = fmt.Sprint(v)
		}
	}
	return set
}

// object decodes the version as an object of the given API version. The result
// is the caller's own.
func (v *version) object(res Resource, apiVersion string) (*unstructured.Unstructured, error) {
	obj := map[string]any{}
	if err := utiljson.Unmarshal(v.bare, &obj); err != nil {
		return nil, fmt.Errorf("informertest: decode stored %s %s: %w", res.Kind, v.key, err)
	}
	return res.fromStored(&unstructured.Unstructured{Object: obj}, apiVersion), nil
}

// at returns the same state with another resourceVersion: a write that is stored
// gets the next one, and the object of a DELETED event is the last state, with the
// version of the deletion. Only the digits are replaced, nothing is decoded or encoded.
func (v *version) at(rv uint64) *version {
	date := formatRV(rv)
	bare := make([]byte, 0, len(v.bare)+len(date))
	bare = append(bare, v.bare[:v.rvStart]...)
	bare = append(bare, date...)
	bare = append(bare, v.bare[v.rvEnd:]...)
	return &version{
		rv: rv, key: v.key, namespace: v.namespace, name: v.name, uid: v.uid,
		labels: v.labels, fields: v.fields, deleting: v.deleting, held: v.held,
		bare: bare, rvStart: v.rvStart, rvEnd: v.rvStart + len(date),
	}
}

// matches reports whether the version is selected.
func (v *version) matches(sel selection) bool {
	return (sel.namespace == "" || sel.namespace == v.namespace) && sel.labels.Matches(v.labels) && sel.fields.Matches(v.fields) && v.inShards(sel)
}

// finished reports whether nothing holds up the removal of a deleted object.
func (v *version) finished() bool { return v.deleting && !v.held }

// ended reports whether nothing is left of a grace period.
func ended(grace *int64) bool { return grace == nil || *grace == 0 }

// formatRV writes a resourceVersion as clients see it.
func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }

// dropEmptyLists turns lists without items into null, as they are after they were
// stored as protobuf. What a field holds in a form of its own is left alone.
func dropEmptyLists(res Resource, object map[string]any) {
	for name, value := range object {
		switch v := value.(type) {
		case map[string]any:
			if name == "data" && res.Kind == "ControllerRevision" || name == "parameters" && res.Group == "resource.k8s.io" {
				continue
			}
			dropEmptyLists(res, v)
		case []any:
			if len(v) == 0 {
				object[name] = nil
			}
			for _, item := range v {
				if o, ok := item.(map[string]any); ok {
					dropEmptyLists(res, o)
				}
			}
		}
	}
}
