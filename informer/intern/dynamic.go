package intern

import (
	"reflect"
	"strings"
	"unique"
	"unsafe"
)

// Unstructured objects have no type that says which parts they have. The names of
// fields do: a schema grows as objects are seen.

const (
	// maxFields is the number of names in one map, and maxPaths that of all, that
	// a schema learns. Maps with more, whose keys are data rather than names, are
	// one site for all the keys beyond.
	maxFields = 128
	maxPaths  = 4096
)

// tree is all schemas of one type. A schema is never removed: maxPaths bounds what a
// server can make a client learn, for example with a field per object.
type tree struct {
	paths int   // schemas that were learned, of all maps and slices
	key   *node // of keys that are not learned
	// Of what is beyond the limits: one site for all of it, whose parts are judged
	// together.
	rest *schema
	// The types that JSON decodes to and that have memory of their own.
	text, list, table partID
}

// schema is the plan of the values at one path. One schema serves values of any type,
// since a field may hold a string in one object and a map in another.
type schema struct {
	site   site
	tree   *tree
	fields map[string]learned // of maps
	elems  *schema            // of slices
}

// learned is a field that is known, with its name in the memory that all objects share:
// a decoder may allocate the names of each object again. They are those of package unique,
// which decoders use as well, so that most names need not be replaced.
type learned struct {
	name   unique.Handle[string]
	schema *schema
}

// newTree returns a tree without any schema but the one for all that is beyond the
// limits.
func newTree(pool *Pool) *tree {
	t := &tree{
		text: pool.typeID(boxed, reflect.TypeFor[string]()),
		list: pool.typeID(boxed, reflect.TypeFor[[]any]()),
		// The same as those of a field of the type.
		table: pool.typeID(anyMap, reflect.TypeFor[map[string]any]()),
	}
	t.key = (&planner{pool: pool, known: map[reflect.Type]*node{}}).plan(reflect.TypeFor[string](), false)
	t.rest = &schema{tree: t}
	return t
}

// field returns the schema of the field k of a map, and its name in shared memory. The
// field is learned unless there are too many.
func (s *schema) field(w *walk, k string) (name string, of *schema) {
	if f, ok := s.fields[k]; ok {
		return f.name.Value(), f.schema
	}
	t := s.tree
	// A map with so many keys has data for keys, such as the entries of a large
	// ConfigMap.
	if s == t.rest || len(s.fields) >= maxFields || t.paths >= maxPaths {
		return w.shared(t.key, k), t.rest
	}
	t.paths++
	if s.fields == nil {
		s.fields = map[string]learned{}
	}
	f := learned{unique.Make(k), &schema{tree: t}}
	s.fields[f.name.Value()] = f
	return f.name.Value(), f.schema
}

// elem returns the schema of the elements of a slice. All elements have one: what
// repeats in a list is rarely a matter of the position.
func (s *schema) elem() *schema {
	t := s.tree
	if s.elems == nil {
		if s == t.rest || t.paths >= maxPaths {
			return t.rest
		}
		t.paths++
		s.elems = &schema{tree: t}
	}
	return s.elems
}

// words is the memory of an interface.
//
// The pool knows a value by its address. Writing that into the data word makes an
// interface of it without an allocation.
type words struct{ typ, data unsafe.Pointer }

// any returns v or an equal value, and whether that is another one.
//
// It does for a value in an interface what part does.
func (w *walk) any(s *schema, v any) (any, bool) {
	id, size := s.tree.partOf(v)
	if size == 0 {
		return v, false
	}
	if s.site.leave(1) {
		w.insideAny(s, v)
		return v, false
	}
	if shared, ok := sharedAny(v, s.site.recent(w.at), id.id); ok {
		w.hit(&s.site, size)
		return shared, true
	}
	w.bad = false
	h := w.hashAny(v, id.salt) // sets bad if it meets something that must not be shared
	if w.bad {
		s.site.count()
		w.insideAny(s, v)
		return v, false
	}
	e := w.pool.parts.find(h, id.id)
	if shared, ok := sharedAny(v, e, id.id); ok {
		s.site.remember(w.at, e)
		w.hit(&s.site, size)
		return shared, true
	}
	w.miss(&s.site)
	w.insideAny(s, v)
	// The first time its hash was seen. The pool has noted that, and takes the next one.
	if e.typ == 0 && size < worthAtOnce {
		return v, false
	}
	// After its own parts were replaced, so that the pool does not keep copies of those
	// alive.
	v, replaced := settleAny(v)
	w.pool.parts.add(h, id.id, (*words)(unsafe.Pointer(&v)).data, 0)
	return v, replaced
}

// partOf returns the type of a value as a part, and the size of its own memory. That is 0
// for numbers and booleans, and for what is empty: what takes less memory than an entry
// of the pool is not worth one.
func (t *tree) partOf(v any) (id partID, size int) {
	const header = int(unsafe.Sizeof(v))
	switch x := v.(type) {
	case string:
		if x != "" {
			return t.text, header + len(x)
		}
	case []any:
		if len(x) != 0 {
			return t.list, 24 + len(x)*header
		}
	case map[string]any:
		if len(x) != 0 {
			return t.table, mapBytes(len(x), 32)
		}
	}
	return partID{}, 0
}

// sharedAny returns the value of an entry, and whether it equals v. It writes an address
// into a copy of the interface. The garbage collector sees a pointer all the time, since
// the part is held as one.
func sharedAny(v any, e entry, id uint32) (any, bool) {
	part := e.get(id)
	if part == nil {
		return v, false
	}
	// Same type word as v: the number of the entry's type says that the memory is of
	// that type.
	shared := v
	(*words)(unsafe.Pointer(&shared)).data = part
	return shared, equalAny(v, shared)
}

// settleAny returns v in memory that is all its own.
//
// What enters the pool is kept for as long as any object refers to it. It must not keep
// memory beyond its own: a larger string, or the unused end of an array.
func settleAny(v any) (any, bool) {
	switch x := v.(type) {
	case string:
		return strings.Clone(x), true
	case []any:
		if cap(x) > len(x) {
			return append(make([]any, 0, len(x)), x...), true
		}
	}
	return v, false
}

// insideAny replaces the parts in a value, in place.
func (w *walk) insideAny(s *schema, v any) {
	if !w.enter() {
		return
	}
	switch x := v.(type) {
	case []any:
		elem, outer := s.elem(), w.at
		for w.at = range x {
			if shared, replaced := w.any(elem, x[w.at]); replaced {
				x[w.at] = shared
			}
		}
		w.at = outer
	case map[string]any:
		w.insideAnyMap(s, x)
	}
	w.depth--
}

// insideAnyMap replaces the values and the names in a map. Assigning to existing keys
// during the iteration is allowed, and adds no entry.
func (w *walk) insideAnyMap(s *schema, m map[string]any) {
	for k, v := range m {
		name, of := s.field(w, k)
		shared, replaced := w.any(of, v)
		// The common case assigns nothing: an assignment to a map hashes the key again.
		if replaced || unsafe.StringData(name) != unsafe.StringData(k) {
			m[name] = shared
		}
	}
}
