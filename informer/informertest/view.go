package informertest

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Media types that the server speaks.
const (
	mediaJSON     = "application/json"
	mediaYAML     = "application/yaml"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// view is how one request wants to see the objects of a collection: in which
// API version, in full or only their metadata, in JSON or protobuf.
type view struct {
	res     Resource
	version string
	partial bool
	proto   bool
	table   bool    // rows of columns
	include string  // what a table shows of its objects: "Object", "None" or, by default, metadata
	types   goTypes // of the kinds that have a protobuf form
}

// media is the Content-Type of the view.
func (vw view) media() string {
	if vw.proto {
		return mediaProtobuf
	}
	return mediaJSON
}

// typeMeta returns the kind and apiVersion that objects are shown with.
func (vw view) typeMeta() metav1.TypeMeta {
	if vw.table {
		return metav1.TypeMeta{Kind: "Table", APIVersion: metav1.SchemeGroupVersion.String()}
	}
	if vw.partial {
		return metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}
	}
	return metav1.TypeMeta{Kind: vw.res.Kind, APIVersion: vw.res.gvk(vw.version).GroupVersion().String()}
}

// listTypes returns the kind and apiVersion that lists are shown with.
func (vw view) listTypes() metav1.TypeMeta {
	t := vw.typeMeta()
	if vw.partial {
		t.Kind += "List"
	} else {
		t.Kind = vw.res.ListKind
	}
	return t
}

// object is the encoding of one object.
func (vw view) object(v *version) ([]byte, error) {
	if !vw.proto {
		return vw.jsonOf(v)
	}
	message, err := vw.protoOf(v)
	if err != nil {
		return nil, err
	}
	return envelope(vw.typeMeta(), message), nil
}

// jsonOf is the JSON of one object.
func (vw view) jsonOf(v *version) ([]byte, error) {
	if vw.table {
		return vw.tableOf([]*version{v}, metav1.ListMeta{ResourceVersion: formatRV(v.rv)})
	}
	bare, err := vw.members(v)
	if err != nil {
		return nil, err
	}
	return withTypes(vw.typeMeta(), bare), nil
}

// item is the JSON of an object within a list. Like the API server's, items of
// built-in kinds leave out what the list states already; those of custom
// resources and of metadata lists do not.
func (vw view) item(v *version) ([]byte, error) {
	if !vw.partial && !vw.res.RequireResourceVersion {
		return vw.members(v)
	}
	return vw.jsonOf(v)
}

// members is the JSON of what the view shows of an object, without its types.
func (vw view) members(v *version) ([]byte, error) {
	if !vw.partial {
		return vw.converted(v)
	}
	var only struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(v.bare, &only); err != nil {
		return nil, err
	}
	return json.Marshal(only)
}

// converted is the JSON of an object in the version of the view, without its types.
func (vw view) converted(v *version) ([]byte, error) {
	if !vw.res.converted(vw.version) {
		return v.bare, nil
	}
	obj, err := v.object(vw.res, vw.version)
	if err != nil {
		return nil, err
	}
	delete(obj.Object, "apiVersion")
	delete(obj.Object, "kind")
	return json.Marshal(obj.Object)
}

// withTypes puts kind and apiVersion in front of the members of an object.
func withTypes(t metav1.TypeMeta, bare []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(bare) + len(t.Kind) + len(t.APIVersion) + 32)
	b.WriteString(`{"kind":`)
	b.Write(quote(t.Kind))
	b.WriteString(`,"apiVersion":`)
	b.Write(quote(t.APIVersion))
	b.WriteByte(',')
	b.Write(bare[1:])
	return b.Bytes()
}

// quote is the JSON of a string.
func quote(s string) []byte {
	b, _ := json.Marshal(s) // strings always have a JSON form
	return b
}

// event is the encoding of one event of a watch.
func (vw view) event(typ watch.EventType, object []byte) []byte {
	if vw.proto {
		return protoEvent(typ, object)
	}
	var b bytes.Buffer
	b.Grow(len(object) + 40)
	b.WriteString(`{"type":"`)
	b.WriteString(string(typ))
	b.WriteString(`","object":`)
	b.Write(object)
	b.WriteString("}\n")
	return b.Bytes()
}

// status is the encoding of the object of an ERROR event.
func (vw view) status(err error) ([]byte, error) {
	status := statusOf(err)
	if !vw.proto {
		return json.Marshal(status)
	}
	message, err := status.Marshal()
	return envelope(status.TypeMeta, message), err
}

// bookmark is the encoding of the object of a BOOKMARK event: an object of the kind
// with nothing but a version, and the mark of the end of initial events.
func (vw view) bookmark(rv uint64, initialEventsEnd bool) ([]byte, error) {
	meta := map[string]any{"resourceVersion": formatRV(rv), "creationTimestamp": nil}
	if initialEventsEnd {
		meta["annotations"] = map[string]any{metav1.InitialEventsAnnotationKey: "true"}
	}
	bare, _ := json.Marshal(map[string]any{"metadata": meta}) // maps of strings always have a JSON form
	object := withTypes(vw.typeMeta(), bare)
	if !vw.proto {
		return object, nil
	}
	message, err := vw.message(object)
	return envelope(vw.typeMeta(), message), err
}
