package intern

import (
	"reflect"
	"sync"
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
	array                // count values of elem
	textMap              // map[string]string
	anyMap               // map[string]any
	otherMap             // any other map, through reflection
	dynamic              // any, with what JSON decodes to
	absent               // an interface with methods, which has to be nil
)

// node is the plan of a type in one place.
//
// A plan is made once per type, so that walking an object needs hardly any reflection,
// only offsets. The exception is maps other than the two common kinds.
type node struct {
	kind  kind
	typ   reflect.Type
	size  uintptr
	id    uint32 // of the type of the part, in the pool
	salt  uint64 // begins the hash of a part
	count int    // array
	elem  *node  // list, pointer, array, maps
	key   *node  // maps
	// fields are all of a record; neighbours that are plain memory are one.
	fields []field
	// parts are those of the fields that may hold parts.
	parts []field
	// flat is whether the memory of a value says all, from its first byte to
	// its last one.
	flat    bool
	site    *site      // parts
	schema  *schema    // anyMap, dynamic
	scratch *sync.Pool // otherMap
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

// planner makes the plan of one type and of all that it consists of. It is used by one
// goroutine, and thrown away when the plan is complete.
type planner struct {
	pool *Pool
	tree *tree
	// open holds structs, and the other types that are being planned: those that
	// can contain themselves.
	open map[reflect.Type]*node
	// later are structs in a memory of their own. Those that contain structs as
	// part of their own memory are finished first.
	later []*node
	// dynamic is whether a field can hold anything.
	dynamic bool
}

// plan returns the complete plan of t. A queue instead of recursion: structs that are
// reached through a pointer, slice or map are completed after the one that refers to
// them, so that a cycle of types ends.
func (pl *planner) plan(t reflect.Type) *node {
	n := pl.node(t)
	for len(pl.later) > 0 {
		next := pl.later[0]
		pl.later = pl.later[1:]
		pl.complete(next, false)
	}
	return n
}

// node returns the plan of t. It may not be complete yet.
func (pl *planner) node(t reflect.Type) *node {
	// A type within itself, such as JSONSchemaProps, has the plan that is being made.
	if n, ok := pl.open[t]; ok {
		return n
	}
	n := &node{typ: t, size: t.Size()}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		n.kind, n.flat = plain, true
	case reflect.String:
		pl.part(n, text, reflect.TypeFor[string]())
	case reflect.Slice:
		pl.open[t] = n
		pl.part(n, list, t.Elem())
		n.elem = pl.node(t.Elem())
	case reflect.Pointer:
		pl.open[t] = n
		pl.part(n, pointer, t.Elem())
		n.elem = pl.node(t.Elem())
	case reflect.Map:
		pl.open[t] = n
		pl.mapNode(n)
	case reflect.Array:
		n.kind, n.count, n.elem = array, t.Len(), pl.node(t.Elem())
		pl.complete(n.elem, false)
		if n.flat = n.elem.flat; n.flat {
			n.kind = plain
		}
	case reflect.Struct:
		pl.open[t] = n
		n.kind = record
		pl.later = append(pl.later, n)
	// An empty interface holds what JSON decodes to. One with methods may hold
	// anything, and cannot be compared by memory.
	case reflect.Interface:
		n.kind = absent
		if t.NumMethod() == 0 {
			n.kind, n.schema = dynamic, pl.tree.add()
			pl.dynamic = true
		}
	default: // functions, channels, unsafe pointers, addresses as numbers
	}
	if n.kind != record {
		// Each place has its own: what repeats in one may not in another.
		delete(pl.open, t)
	}
	return n
}

// part makes n the plan of a part whose memory is of the type memory. Each place gets a
// site of its own, but parts of one type have one number, so that equal parts of
// different places are one.
func (pl *planner) part(n *node, k kind, memory reflect.Type) {
	n.kind, n.site = k, pl.tree.newSite()
	n.id, n.salt = pl.pool.typeID(k, memory)
}

// mapNode plans a map. Keys that can be NaN, or contain anything but plain values, make
// it opaque: an entry with such a key cannot be found again.
func (pl *planner) mapNode(n *node) {
	key, elem := n.typ.Key(), n.typ.Elem()
	switch {
	case key == reflect.TypeFor[string]() && elem == reflect.TypeFor[string]():
		// The unnamed type: labels and annotations share what is equal in both,
		// whatever their types are called.
		pl.part(n, textMap, reflect.MapOf(key, elem))
	case key == reflect.TypeFor[string]() && elem == reflect.TypeFor[any]():
		pl.part(n, anyMap, reflect.MapOf(key, elem))
		n.schema = pl.tree.add()
		n.site = n.schema.site
		pl.dynamic = true
		return
	case key.Kind() == reflect.String, key.Kind() >= reflect.Bool && key.Kind() <= reflect.Uint64:
		pl.part(n, otherMap, reflect.MapOf(key, elem))
		n.scratch = newScratch(n.typ)
	default:
		return // opaque
	}
	n.key, n.elem = pl.node(key), pl.node(elem)
}

// complete finishes the plan of a struct. trust is inherited: a trusted struct vouches
// for all that is in it.
func (pl *planner) complete(n *node, trust bool) {
	if n.kind != record || n.fields != nil {
		return
	}
	if isMemory(n.typ) {
		n.kind, n.flat = plain, true
		return
	}
	// Not nil any more, so that a struct that contains itself is not completed a second
	// time.
	n.fields = []field{}
	trust = trust || trusted(n.typ)
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct
		// What unexported fields mean is known to their package only: one may be a lock,
		// a cache, or an address that must stay unique.
		if !f.IsExported() && !embedded && !trust {
			n.kind, n.fields, n.parts = opaque, nil, nil
			return
		}
		// Completed at once: its fields become those of n, which can be flat only if
		// they are.
		c := pl.node(f.Type)
		pl.complete(c, trust)
		n.add(f.Offset, c)
	}
	// A single field that covers all bytes: no padding, whose content is arbitrary.
	n.flat = n.size == 0 || len(n.fields) == 1 && n.fields[0].node.flat && n.fields[0].node.size == n.size
}

// add appends a field, or those of a struct. Called in the order of the offsets, which
// the merging of neighbours relies on.
func (n *node) add(offset uintptr, c *node) {
	if c.kind == record {
		// The fields of a struct within a struct are its own memory, so the levels are
		// merged.
		for _, f := range c.fields {
			n.add(offset+f.offset, f.node)
		}
		return
	}
	if last := len(n.fields) - 1; c.kind == plain && last >= 0 {
		// Adjacent plain fields are hashed and compared in one go. Padding in between
		// has another offset, and keeps them apart.
		if f := n.fields[last]; f.node.kind == plain && f.offset+f.node.size == offset {
			n.fields[last].node = &node{kind: plain, size: f.node.size + c.size, flat: true}
			return
		}
	}
	n.fields = append(n.fields, field{offset, c})
	// Hashing looks at all fields. Sharing needs only those that lead to a part.
	if c.kind != plain && c.kind != opaque && c.kind != absent {
		n.parts = append(n.parts, field{offset, c})
	}
}
