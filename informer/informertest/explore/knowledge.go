package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// knowledge is what the server has shown to a process: by lists, events and answers. A
// cache in the process cannot be newer. Guarded by run.mu.
type knowledge struct {
	objects map[objectKey]shown
	uids    map[objectKey][]string // all that an object of this name ever had
	watched map[string]schema.GroupVersionResource
}

// objectKey names an object.
type objectKey struct{ resource, namespace, name string }

// shown is the newest state of an object that a process has been shown.
type shown struct {
	version uint64
	gone    bool
	raw     []byte
}

// objectMeta is what is read of each object.
type objectMeta struct {
	Namespace, Name, UID, ResourceVersion string
}

// eventMeta describes an event of a watch.
type eventMeta struct {
	objectMeta
	typ      string
	version  uint64
	bookmark bool
}

func newKnowledge() *knowledge {
	return &knowledge{objects: map[objectKey]shown{}, uids: map[objectKey][]string{}, watched: map[string]schema.GroupVersionResource{}}
}

// resourceName is the name of a resource with its group.
func (rq *request) resourceName() string {
	return schema.GroupResource{Group: rq.Group, Resource: rq.Resource}.String()
}

// key is the object that a request names.
func (rq *request) key() objectKey { return objectKey{rq.resourceName(), rq.Namespace, rq.Name} }

// watches notes that a process watches a resource.
func (k *knowledge) watches(rq *request) { k.watched[rq.resourceName()] = rq.gvr() }

// learn notes a state of an object.
func (k *knowledge) learn(resource string, meta objectMeta, gone bool, raw []byte) {
	version, err := strconv.ParseUint(meta.ResourceVersion, 10, 64)
	if err != nil {
		return
	}
	key := objectKey{resource, meta.Namespace, meta.Name}
	if meta.UID != "" && !slices.Contains(k.uids[key], meta.UID) {
		k.uids[key] = append(k.uids[key], meta.UID)
	}
	if version >= k.objects[key].version {
		k.objects[key] = shown{version, gone, raw}
	}
}

// event learns from an event of a watch. An event that is not JSON teaches nothing.
func (k *knowledge) event(s *stream, frame []byte) (meta eventMeta) {
	var ev struct {
		Type   string
		Object json.RawMessage
	}
	var obj struct{ Metadata objectMeta }
	if json.Unmarshal(frame, &ev) != nil || json.Unmarshal(ev.Object, &obj) != nil {
		return meta
	}
	meta.objectMeta, meta.typ, meta.bookmark = obj.Metadata, ev.Type, ev.Type == "BOOKMARK"
	meta.version, _ = strconv.ParseUint(obj.Metadata.ResourceVersion, 10, 64) // of an ERROR there is none
	if !meta.bookmark {
		k.learn(s.resourceName(), obj.Metadata, ev.Type == "DELETED", ev.Object)
	}
	return meta
}

// answer learns from the answer to a request.
func (k *knowledge) answer(rq *request, rec *recorder) {
	if rec.code == http.StatusNotFound && rq.Verb == "get" {
		if old, ok := k.objects[rq.key()]; ok {
			old.gone = true
			k.objects[rq.key()] = old
		}
	}
	if rec.code >= 300 || rq.Subresource != "" && rq.Subresource != "status" || rq.Resource == "" {
		return
	}
	if rq.Verb == "list" {
		var list struct {
			Items []json.RawMessage
		}
		if json.Unmarshal(rec.body.Bytes(), &list) != nil {
			return
		}
		for _, item := range list.Items {
			var obj struct{ Metadata objectMeta }
			if json.Unmarshal(item, &obj) == nil {
				k.learn(rq.resourceName(), obj.Metadata, false, item)
			}
		}
		return
	}
	var obj struct {
		Kind     string
		Metadata objectMeta
	}
	if json.Unmarshal(rec.body.Bytes(), &obj) == nil && obj.Kind != "Status" {
		k.learn(rq.resourceName(), obj.Metadata, false, slices.Clone(rec.body.Bytes()))
	}
}

// ownerGone reports whether the object that an owner reference names is gone. The process has seen it:
// otherwise it would not know the UID.
func (k *knowledge) ownerGone(r *run, namespace string, ref *metav1.OwnerReference) (owner objectKey, gone bool) {
	for resource, gvr := range k.watched {
		for _, ns := range []string{namespace, ""} {
			key := objectKey{resource, ns, ref.Name}
			if !slices.Contains(k.uids[key], string(ref.UID)) {
				continue
			}
			obj, err := r.server.Get(gvr, ns, ref.Name)
			return key, isGone(err) || err == nil && obj.GetUID() != ref.UID
		}
	}
	return owner, false
}

// missing says how the view of a process differs from the server, for a trace: what a
// cache that is fed by its watches cannot have.
func (k *knowledge) missing(r *run) string {
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(k.watched)) {
		gvr := k.watched[resource]
		if gvr.Resource == "leases" || gvr.Resource == "events" {
			continue
		}
		list, err := r.server.List(gvr, "", nil)
		if err != nil {
			continue
		}
		exists := map[objectKey]bool{}
		for _, obj := range list {
			key := objectKey{resource, obj.GetNamespace(), obj.GetName()}
			exists[key] = true
			version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
			switch was, ok := k.objects[key]; {
			case err != nil:
			case !ok || was.gone:
				all = append(all, fmt.Sprintf("does not have %s %s", gvr.Resource, objectName(key.namespace, key.name)))
			case was.version < version:
				all = append(all, fmt.Sprintf("has %s %s as of version %d, not %d", gvr.Resource, objectName(key.namespace, key.name), was.version, version))
			}
		}
		for _, key := range slices.SortedFunc(maps.Keys(k.objects), func(a, b objectKey) int {
			return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name)
		}) {
			if key.resource == resource && !exists[key] && !k.objects[key].gone {
				all = append(all, fmt.Sprintf("still has %s %s", gvr.Resource, objectName(key.namespace, key.name)))
			}
		}
	}
	if len(all) > 3 {
		all = append(all[:3], fmt.Sprintf("and %d more", len(all)-3))
	}
	return strings.Join(all, ", ")
}

// decoded is the state as an object; nil if it cannot be read.
func (s shown) decoded() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if s.raw == nil || json.Unmarshal(s.raw, &obj.Object) != nil {
		return nil
	}
	return obj
}
