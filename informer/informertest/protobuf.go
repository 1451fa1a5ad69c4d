package informertest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// protoMagic begins every protobuf object; an envelope (runtime.Unknown) with
// the kind and the object's own message follows.
const protoMagic = "k8s\x00"

// protoMessage is what generated API types implement.
type protoMessage interface{ Marshal() ([]byte, error) }

// message is the protobuf message of an object that is given as JSON.
func (vw view) message(object []byte) ([]byte, error) {
	var into runtime.Object = &metav1.PartialObjectMetadata{}
	if !vw.partial {
		var ok bool
		if into, ok = vw.types.new(vw.res.gvk(vw.version)); !ok {
			return nil, fmt.Errorf("informertest: no Go type is known for %s", vw.res.gvk(vw.version))
		}
	}
	if err := json.Unmarshal(object, into); err != nil {
		return nil, fmt.Errorf("informertest: a stored %s does not fit its Go type %T: %w", vw.res.Kind, into, err)
	}
	m, ok := into.(protoMessage)
	if !ok {
		return nil, fmt.Errorf("informertest: %T has no protobuf form", into)
	}
	return m.Marshal()
}

// protoOf is the protobuf message of a stored version, without an envelope.
// That of a whole object in its first version is remembered: making it costs
// far more than sending it.
func (vw view) protoOf(v *version) ([]byte, error) {
	remember := !vw.partial && vw.version == vw.res.Versions[0] && !vw.res.converted(vw.version)
	if p := v.proto.Load(); p != nil && remember {
		return *p, nil
	}
	object, err := vw.jsonOf(v)
	if err != nil {
		return nil, err
	}
	message, err := vw.message(object)
	if err == nil && remember {
		v.proto.Store(&message)
	}
	return message, err
}

// envelope wraps a message.
func envelope(t metav1.TypeMeta, message []byte) []byte {
	types := appendField(nil, 1, []byte(t.APIVersion))
	types = appendField(types, 2, []byte(t.Kind))
	return appendField(appendField([]byte(protoMagic), 1, types), 2, message)
}

// appendField appends a length-delimited field.
func appendField(b []byte, number int, content []byte) []byte {
	return append(appendHead(b, number, len(content)), content...)
}

// appendHead appends the tag and length of a length-delimited field.
func appendHead(b []byte, number, length int) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	return binary.AppendUvarint(b, uint64(length))
}

// protoEvent is a frame with one event of a watch.
func protoEvent(typ watch.EventType, object []byte) []byte {
	ev := appendField(make([]byte, 4), 1, []byte(typ))
	ev = appendField(ev, 2, appendField(nil, 1, object))
	binary.BigEndian.PutUint32(ev, uint32(len(ev)-4))
	return ev
}

// writeProtoList sends a list item by item: all lists of the API are a
// metadata field, 1, and repeated items, 2.
func (vw view) writeProtoList(w http.ResponseWriter, meta metav1.ListMeta, items []*version) error {
	head, err := meta.Marshal()
	if err != nil {
		return err
	}
	list := appendField(nil, 1, head)
	size := len(list)
	messages := make([][]byte, len(items))
	for i, v := range items {
		if messages[i], err = vw.protoOf(v); err != nil {
			return err
		}
		size += len(appendHead(nil, 2, len(messages[i]))) + len(messages[i])
	}
	t := vw.listTypes()
	types := appendField(appendField(nil, 1, []byte(t.APIVersion)), 2, []byte(t.Kind))
	out := append(appendHead(appendField([]byte(protoMagic), 1, types), 2, size), list...)
	w.Header().Set("Content-Type", mediaProtobuf)
	if _, err := w.Write(out); err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := w.Write(appendHead(nil, 2, len(m))); err != nil {
			return err
		}
		if _, err := w.Write(m); err != nil {
			return err
		}
	}
	return nil
}

// decodeProto reads a protobuf body into the Go type of its kind. The kind of the
// options of a deletion is always known.
func decodeProto(types goTypes, body []byte) (runtime.Object, error) {
	var unknown runtime.Unknown
	if len(body) < len(protoMagic) || string(body[:len(protoMagic)]) != protoMagic {
		return nil, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", []byte(protoMagic))
	}
	if err := unknown.Unmarshal(body[len(protoMagic):]); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind)
	var into runtime.Object = &metav1.DeleteOptions{}
	if gvk.Kind != "DeleteOptions" {
		var ok bool
		if into, ok = types.new(gvk); !ok && typed(gvk) {
			return nil, errNoProtobuf(gvk)
		} else if !ok {
			return nil, fmt.Errorf("no kind %q is registered for version %q", gvk.Kind, gvk.GroupVersion())
		}
	}
	message, ok := into.(interface{ Unmarshal([]byte) error })
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf form", into)
	}
	if err := message.Unmarshal(unknown.Raw); err != nil {
		return nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(gvk)
	return into, nil
}
