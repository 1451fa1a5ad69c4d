package intern

import (
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
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

// tree is all schemas of one type.
//
// mu is taken only to learn something new. What is known is read through atomic pointers
// by all goroutines that decode.
//
// A schema is never removed. maxPaths bounds what a server can make a client learn, for
// example with a field per object.
type tree struct {
	sites atomic.Int64 // of the type, those of plans included
	mu    sync.Mutex
	// How many schemas were learned, of all maps and slices. mu is held to change it.
	paths int
	key   *node // of keys that are not learned
	// Of what is beyond the limits: one site for all of it, whose parts are judged
	// together.
	rest *schema
	// The types that JSON decodes to and that have memory of their own.
	ids struct{ text, list, table partID }
}

// partID is what marks the parts of one type: their number in the pool, and what
// their hashes begin with.
type partID struct {
	id   uint32
	salt uint64
}

// schema is the plan of the values at one path. One schema serves values of any type,
// since a field may hold a string in one object and a map in another.
type schema struct {
	site *site
	tree *tree
	// Copied for each new name and never changed, so that look-ups need no lock. Names
	// are learned from the first objects, and then almost never.
	fields atomic.Pointer[map[string]learned] // of maps
	elems  atomic.Pointer[schema]             // of slices
}

// learned is the name of a field, in the memory that all objects share.
type learned struct {
	// A decoder may allocate the keys of each object again; this one replaces them.
	name   string
	schema *schema
	// Keeps name the one that unique makes of its text, also for the decoder of
	// unstructured objects: what it has made of a name need not be replaced.
	handle unique.Handle[string]
}

// newTree returns a tree without any schema but the one for all that is beyond the
// limits. No lock is needed: nobody else has it yet.
func newTree(pool *Pool) *tree {
	t := &tree{}
	t.key = (&planner{pool: pool, tree: t}).keyNode()
	t.ids.text.id, t.ids.text.salt = pool.typeID(dynamic, reflect.TypeFor[string]())
	t.ids.list.id, t.ids.list.salt = pool.typeID(dynamic, reflect.TypeFor[[]any]())
	// The same as those of a field of the type.
	t.ids.table.id, t.ids.table.salt = pool.typeID(anyMap, reflect.TypeFor[map[string]any]())
	t.rest = t.add()
	return t
}

// keyNode is the plan of the keys of maps that have too many of them to be learned.
// They have one site: what such keys are is data, in which little repeats.
func (pl *planner) keyNode() *node {
	n := &node{typ: reflect.TypeFor[string](), size: unsafe.Sizeof("")}
	pl.part(n, text, n.typ)
	return n
}

// add returns a new schema. It takes no lock: the number of sites is atomic, and no
// other goroutine has the schema yet.
func (t *tree) add() *schema { return &schema{site: t.newSite(), tree: t} }

// newSite returns a site with a number of its own.
func (t *tree) newSite() *site { return &site{index: int(t.sites.Add(1)) - 1} }

// field returns what is known of the field k of a map, and its name in shared
// memory. The name is empty if it is not learned.
func (s *schema) field(k string) learned {
	known := s.fields.Load()
	if known != nil {
		if f, ok := (*known)[k]; ok {
			return f
		}
		// A map with so many keys has data for keys, such as the entries of a large
		// ConfigMap.
		if len(*known) >= maxFields {
			return learned{schema: s.tree.rest}
		}
	}
	return s.learn(k)
}

// learn adds the field k of a map, with a schema of its own, unless there are too many.
func (s *schema) learn(k string) learned {
	t := s.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == t.rest || t.paths >= maxPaths {
		return learned{schema: t.rest}
	}
	// Looked up again: another goroutine may have learned it between the look without
	// the lock and this one.
	fields := map[string]learned{}
	if known := s.fields.Load(); known != nil {
		if f, ok := (*known)[k]; ok {
			return f
		}
		fields = maps.Clone(*known)
	}
	t.paths++
	// A clone, as a key may be a slice of the whole object's text.
	shared := unique.Make(k)
	f := learned{shared.Value(), t.add(), shared}
	fields[f.name] = f
	s.fields.Store(&fields)
	return f
}

// elem returns the schema of the elements of a slice. All elements have one: what
// repeats in a list is rarely a matter of the position.
func (s *schema) elem() *schema {
	if e := s.elems.Load(); e != nil {
		return e
	}
	t := s.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == t.rest || t.paths >= maxPaths {
		return t.rest
	}
	if s.elems.Load() == nil {
		t.paths++
		s.elems.Store(t.add())
	}
	return s.elems.Load()
}

// words is the memory of an interface.
//
// The pool knows a value by its address. Writing that into the data word makes an
// interface of it without an allocation.
type words struct{ typ, data unsafe.Pointer }

// any returns v or an equal value, and whether that is another one.
//
// It does for a value in an interface what part does, in the same order: compare with
// the last one found, then hash and look up, then look inside.
func (w *walk) any(s *schema, v any) (any, bool) {
	id, size := s.tree.partOf(v)
	if size == 0 {
		return v, false
	}
	l := w.local(s.site)
	if !l.enabled(s.site) {
		l.leave(1)
		// The part is left alone, but those in it may repeat.
		w.insideAny(s, v)
		return v, false
	}
	shared, e, h := w.lookUp(s, l, v, id, size)
	if shared != nil {
		return shared, true
	}
	bad := w.bad // of this value, not of those in it
	w.insideAny(s, v)
	// The first time its hash was seen. The pool has noted that, and takes the next one.
	if bad || e == nil && size < worthAtOnce {
		return v, false
	}
	// After its own parts were replaced, so that the pool does not keep copies of those
	// alive.
	settled, replaced := settleAny(v)
	w.pool.add(h, id.id, (*words)(unsafe.Pointer(&settled)).data, 0)
	return settled, replaced
}

// partOf returns the type of a value as a part, and the size of its own memory. That is 0
// for numbers and booleans, and for what is empty: what takes less memory than an entry
// of the pool is not worth one.
func (t *tree) partOf(v any) (id partID, size uintptr) {
	switch x := v.(type) {
	case string:
		if x != "" {
			return t.ids.text, unsafe.Sizeof(x) + uintptr(len(x))
		}
	case []any:
		if len(x) != 0 {
			return t.ids.list, unsafe.Sizeof(x) + uintptr(len(x))*unsafe.Sizeof(v)
		}
	case map[string]any:
		if len(x) != 0 {
			return t.ids.table, uintptr(mapBytes(len(x), 32))
		}
	}
	return partID{}, 0
}

// lookUp returns the value of the pool that equals v, with its entry. If there is none it
// returns nil, the hash of v, and what is known of that hash. It sets bad if v cannot be
// shared.
func (w *walk) lookUp(s *schema, l *local, v any, id partID, size uintptr) (shared any, e *entry, h uint64) {
	w.bad = false
	last := l.recent(w.at)
	// First without a hash: one comparison is about as much work, and it often is the
	// same.
	if shared, ok := sharedAny(v, *last, id.id); ok {
		w.found++
		l.found(s.site, size)
		return shared, *last, 0
	}
	// It sets bad if it meets something that must not be shared, at any depth.
	h = w.hashAny(v, id.salt)
	if w.bad {
		l.missed(s.site)
		return nil, nil, 0
	}
	e = w.pool.find(h, id.id)
	if shared, ok := sharedAny(v, e, id.id); ok {
		// Remembered by position, so that the next object compares with it first.
		*last = e
		w.found++
		l.found(s.site, size)
		return shared, e, h
	}
	w.missed++
	l.missed(s.site)
	return nil, e, h
}

// sharedAny returns the value of the pool if it equals v. It writes an address into a
// copy of the interface. The garbage collector sees a pointer all the time, since q is
// held as one.
func sharedAny(v any, e *entry, id uint32) (any, bool) {
	q := e.get(id)
	if q == nil {
		return v, false
	}
	// Same type word as v: the number of the entry's type says that the memory is of
	// that type.
	shared := v
	(*words)(unsafe.Pointer(&shared)).data = q
	return shared, equalAny(v, shared)
}

// settleAny returns v in memory that is all its own.
//
// What enters the pool is kept for as long as any object refers to it. It must not keep
// memory beside it: a larger string, or the unused end of an array.
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

// insideAny replaces the parts in a value. Elements are stored in place: no other
// goroutine has the object yet, see Intern.
func (w *walk) insideAny(s *schema, v any) {
	switch x := v.(type) {
	case []any:
		if w.enter() {
			elem, outer := s.elem(), w.at
			for w.at = range x {
				if shared, replaced := w.any(elem, x[w.at]); replaced {
					x[w.at] = shared
				}
			}
			w.at = outer
			w.depth--
		}
	case map[string]any:
		if w.enter() {
			w.insideAnyMap(s, x)
			w.depth--
		}
	}
}

// insideAnyMap replaces the values and the names in a map. Assigning to existing keys
// during the iteration is allowed, and adds no entry.
func (w *walk) insideAnyMap(s *schema, m map[string]any) {
	for k, v := range m {
		// The names of fields repeat in every object, and the decoder allocates each of
		// them again.
		f := s.field(k)
		if f.name == "" && k != "" {
			f.name = w.text(s.tree.key, k)
		}
		shared, replaced := w.any(f.schema, v)
		// The common case assigns nothing: an assignment to a map hashes the key again.
		if replaced || unsafe.StringData(f.name) != unsafe.StringData(k) {
			m[f.name] = shared
		}
	}
}
