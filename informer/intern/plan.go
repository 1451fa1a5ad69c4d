package intern

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kind says how values of a type are hashed, compared and visited.
type kind uint8

const (
	opaque   kind = iota // left alone, with all that contains it
	plain                // memory that says all
	text                 // a string
	list                 // a slice
	pointer              // to a value of elem
	record               // a struct
	textMap              // map[string]string
	anyMap               // map[string]any, with what JSON decodes to
	otherMap             // any other map, through reflection
	boxed                // a value in an interface: of an anyMap
)

// node is the plan of a type in one place.
//
// A plan is made once per type, so that walking an object needs hardly any reflection,
// only offsets. The exception is maps other than the two common kinds.
type node struct {
	kind kind
	typ  reflect.Type
	size uintptr
	partID
	elem *node // list, pointer, maps
	key  *node // maps
	// fields are all of a record; neighbours that are plain memory are one.
	fields []field
	// parts are those of the fields that may hold parts.
	parts []field
	// flat is whether the memory of a value says all, from its first byte to
	// its last one.
	flat   bool
	site   *site      // parts
	schema *schema    // anyMap
	free   []*entries // otherMap
}

// field is where in a struct a value is, and how it is handled.
type field struct {
	offset uintptr
	node   *node
}

// slice is the memory of a slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// trusted reports whether a struct is safe to look into although it has unexported
// fields: equal memory is an equal value, and values can stand for each other. API
// objects are full of both: quantities in resources, FieldsV1 in managedFields.
func trusted(t reflect.Type) bool {
	return t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[metav1.FieldsV1]()
}

// isMemory reports whether values of a struct are equal if their memory is,
// pointers included, and whether that is all that there is to share.
//
// A time.Time is compared with its location pointer, so two equal instants in different
// zones are different here. unique.Handle promises that equal handles are equal values.
func isMemory(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t.PkgPath() == "unique"
}

// planner makes the plan of one type and of all that it consists of.
type planner struct {
	pool *Pool
	tree *tree
	// known holds structs, which have one plan wherever they are, and the other types that
	// are being planned. So the plan of a type that contains itself has an end.
	known map[reflect.Type]*node
	// dynamic is whether a field can hold anything.
	dynamic bool
}

// plan returns the plan of t. It may not be complete yet if t contains itself. trust is
// whether it may have unexported fields.
func (pl *planner) plan(t reflect.Type, trust bool) *node {
	if n, ok := pl.known[t]; ok {
		return n
	}
	n := &node{typ: t, size: t.Size()}
	pl.known[t] = n
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		n.kind, n.flat = plain, true
	case reflect.String:
		pl.part(n, text, reflect.TypeFor[string]())
	case reflect.Slice:
		pl.part(n, list, t.Elem())
		n.elem = pl.plan(t.Elem(), false)
	case reflect.Pointer:
		pl.part(n, pointer, t.Elem())
		n.elem = pl.plan(t.Elem(), false)
	case reflect.Map:
		pl.mapping(n)
	case reflect.Struct:
		pl.record(n, trust || trusted(t))
		return n
	default: // interfaces, functions, channels, arrays, addresses as numbers
	}
	// Each place has its own: what repeats in one may not in another.
	delete(pl.known, t)
	return n
}

// part makes n the plan of a part whose memory is of the type memory. Each place gets a
// site of its own, but parts of one type have one number, so that equal parts of
// different places are one.
func (pl *planner) part(n *node, k kind, memory reflect.Type) {
	n.kind, n.site = k, &site{}
	n.partID = pl.pool.typeID(k, memory)
}

// mapping plans a map. Keys that can be NaN, or contain anything but plain values, make
// it opaque: an entry with such a key cannot be found again.
func (pl *planner) mapping(n *node) {
	key, elem := n.typ.Key(), n.typ.Elem()
	// The unnamed type: labels and annotations share what is equal in both, whatever
	// their types are called.
	memory := reflect.MapOf(key, elem)
	switch {
	case memory == reflect.TypeFor[map[string]any]():
		pl.part(n, anyMap, memory)
		n.schema = &schema{tree: pl.tree}
		n.site = &n.schema.site
		pl.dynamic = true
		return
	case memory == reflect.TypeFor[map[string]string]():
		pl.part(n, textMap, memory)
	case key.Kind() == reflect.String, key.Kind() >= reflect.Bool && key.Kind() <= reflect.Uint64:
		pl.part(n, otherMap, memory)
	default:
		return // opaque
	}
	n.key, n.elem = pl.plan(key, false), pl.plan(elem, false)
}

// record plans a struct. A struct that is trusted vouches for all that is in it.
func (pl *planner) record(n *node, trust bool) {
	if isMemory(n.typ) {
		n.kind, n.flat = plain, true
		return
	}
	n.kind = record
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct
		// What unexported fields mean is known to their package only: one may be a lock,
		// a cache, or an address that must stay unique.
		if !f.IsExported() && !embedded && !trust {
			n.kind, n.fields, n.parts = opaque, nil, nil
			return
		}
		n.add(f.Offset, pl.plan(f.Type, trust))
	}
	// A single field that covers all bytes: no padding, whose content is arbitrary.
	n.flat = n.size == 0 || len(n.fields) == 1 && n.fields[0].node.flat && n.fields[0].node.size == n.size
}

// add appends a field. Called in the order of the offsets, which the merging of
// neighbours relies on.
func (n *node) add(offset uintptr, c *node) {
	if last := len(n.fields) - 1; c.flat && last >= 0 {
		// Adjacent plain fields are hashed and compared in one go. Padding in between
		// has another offset, and keeps them apart.
		if f := n.fields[last]; f.node.flat && f.offset+f.node.size == offset {
			n.fields[last].node = &node{kind: plain, size: f.node.size + c.size, flat: true}
			return
		}
	}
	n.fields = append(n.fields, field{offset, c})
	// Hashing looks at all fields. Sharing needs only those that may lead to a part.
	if !c.flat && c.kind != opaque {
		n.parts = append(n.parts, field{offset, c})
	}
}
