package wire

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// identity is what can be read of an object that cannot be decoded.
//
// Each part may be empty: an object that is broken may still have a readable name.
//
// A cache needs the key to know which object of its own is not up to date, and the
// version to see that a later one can be read again.
type identity struct {
	types.NamespacedName
	uid types.UID
	rv  string
}

// identifyJSON reads metadata field by field, so that one of a wrong type hides
// only itself, and without recursion.
//
// Errors are ignored: the object is known to be broken, and what was read before the
// error is still right. Of a field that comes twice the last one counts, as in a
// decoder.
func identifyJSON(raw []byte) (id identity) {
	str := map[string]string{}
	l := lexBytes(raw)
	_ = l.fields(func(name string) error {
		// Whatever is not the metadata is consumed and not looked at, and so is
		// metadata that is no object: its value says nothing about a name.
		if c, err := l.peek(); name != "metadata" || err != nil || c != '{' {
			_, err := l.value()
			return err
		}
		return l.fields(func(name string) error {
			raw, err := l.value()
			if err != nil {
				return err
			}
			// The value is consumed in any case, or the lexer would lose its place.
			switch name {
			case "name", "namespace", "uid", "resourceVersion":
				var s string
				_ = json.Unmarshal(raw, &s)
				str[name] = identifier(s)
			}
			return nil
		})
	})
	return named(str["namespace"], str["name"], str["uid"], str["resourceVersion"])
}

// identifyProto reads field 1, metadata in all API types: its fields 1 name, 3
// namespace, 5 uid, 6 resourceVersion. The numbers are those of ObjectMeta in
// k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, which cannot change.
func identifyProto(raw []byte) identity {
	// With an error comes what was found before it, which is as good as it gets.
	meta, _ := bytesField(raw, 1)
	str := func(field int) string {
		b, _ := bytesField(meta, field)
		return identifier(b)
	}
	return named(str(3), str(1), str(5), str(6))
}

// named returns the identity of an object as far as it can be kept.
func named(namespace, name, uid, rv string) identity {
	return identity{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: name},
		uid:            types.UID(uid),
		rv:             rv,
	}
}
