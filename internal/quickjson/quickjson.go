// Package quickjson decodes the JSON of API objects, in one pass.
//
// The decoder that Kubernetes uses, k8s.io/apimachinery/pkg/util/json, reads
// every object twice: once to see that it is JSON at all, and once, with a good
// deal of care, to make something of it. Most of that care is for what hardly
// ever comes: names in other cases, values of a wrong type, keys that come twice.
// This decoder does what is usual, quickly, and gives up on the rest:
//
//	if !quickjson.Unmarshal(data, obj) {
//		*obj = T{}
//		err = json.Unmarshal(data, obj) // of k8s.io/apimachinery/pkg/util/json
//	}
//
// So whatever is unusual, and every error, is the other decoder's.
//
// # Promises
//
//  1. When it does not give up, the result is that of the other decoder, and the
//     other one would have found no error. (FuzzUnmarshal)
//  2. It neither panics nor recurses without bounds, whatever the data, unless a
//     method UnmarshalJSON does. (FuzzUnmarshal, TestGivesUp)
//  3. The result does not alias the data. (TestTheResultDoesNotAliasTheData)
//
// # How
//
// For each Go type there is a plan, made of the plans of its parts, that reads a
// value and stores it. Types with a method UnmarshalJSON get the bytes of their
// value. A type that asks for more, such as a field with the option "string" or
// an embedded pointer, has no plan, and neither has a type with such a part.
//
// Short strings that come again and again, such as the names of namespaces,
// images and conditions and the keys of maps, are kept in a small cache, so that
// many objects share one copy.
package quickjson

import (
	"reflect"
	"sync"
)

// Unmarshal decodes data into the zero value that into points to, and reports
// whether it has done so. If not, there may be anything. It is safe for
// concurrent use.
func Unmarshal(data []byte, into any) bool {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return false
	}
	p := planOf(v.Type().Elem())
	if p == nil {
		return false
	}
	r := readers.Get().(*reader)
	r.data, r.pos, r.depth = data, 0, 0
	ok := p(r, v.Elem()) && r.atEnd()
	r.data = nil
	readers.Put(r)
	return ok
}

// readers are kept for their strings.
var readers = sync.Pool{New: func() any { return new(reader) }}
