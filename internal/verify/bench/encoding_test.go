package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// encoding is how objects travel.
type encoding struct {
	contentType, watchType string
	// object encodes an object as an item of a list.
	object func(runtime.Object) []byte
	// event is a frame of a watch, with an encoded object of a kind.
	event func(eventType, kind string, object []byte) []byte
	// list is the body of a list of encoded objects, of the kind of the first.
	list func(first runtime.Object, items [][]byte) []byte
}

// encodingOf returns one of the two.
func encodingOf(protobuf bool) encoding {
	if protobuf {
		return protobufEncoding
	}
	return jsonEncoding
}

var jsonEncoding = encoding{
	contentType: "application/json", watchType: "application/json",
	object: func(obj runtime.Object) []byte { return must(json.Marshal(obj)) },
	event: func(eventType, _ string, object []byte) []byte {
		return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", eventType, object)
	},
	list: func(first runtime.Object, items [][]byte) []byte {
		gvk := first.GetObjectKind().GroupVersionKind()
		body := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":%q},"items":[`, gvk.Kind, gvk.GroupVersion(), listVersion)
		return append(append(body, bytes.Join(items, []byte{','})...), "]}\n"...)
	},
}

var protobufEncoding = encoding{
	contentType: "application/vnd.kubernetes.protobuf", watchType: "application/vnd.kubernetes.protobuf;stream=watch",
	object: func(obj runtime.Object) []byte { return must(obj.(interface{ Marshal() ([]byte, error) }).Marshal()) },
	event: func(eventType, kind string, object []byte) []byte {
		event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: envelope(kind, object)}}
		body := must(event.Marshal())
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	},
	list: func(first runtime.Object, items [][]byte) []byte {
		list := must((&metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: listVersion}}).Marshal())
		for _, item := range items {
			list = append(list, 2<<3|2) // the field of the items, in every list
			list = binary.AppendUvarint(list, uint64(len(item)))
			list = append(list, item...)
		}
		return envelope(first.GetObjectKind().GroupVersionKind().Kind+"List", list)
	},
}

// envelope is an object of the core group in the protobuf form of Kubernetes.
func envelope(kind string, object []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: object}
	return append([]byte("k8s\x00"), must(u.Marshal())...)
}
