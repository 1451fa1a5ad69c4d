package intern

import (
	"hash/maphash"
	"reflect"
	"sync"
)

// Pool holds the parts that objects share. One pool serves any number of transforms, also
// of different types: the labels, templates and containers of Deployments, their
// ReplicaSets and their Pods are mostly equal.
//
// All methods may be called from any goroutine. One object is interned at a time, which
// takes some microseconds, so one mutex is enough: what is slow, the decoding, has come
// before.
type Pool struct {
	mu sync.Mutex // guards all that follows
	// A random seed per pool: otherwise objects could be written whose parts all have
	// one hash, and each would displace the others.
	seed  maphash.Seed
	parts parts
	// types numbers the types of parts. A number is smaller than a reflect.Type in each
	// entry, and begins the hash, so that equal memory of different types is not taken for
	// a candidate.
	types map[typeKey]uint32
	plans map[reflect.Type]*node // of types whose plan says all about their objects
	walk  walk
	total Stats
}

// typeKey is a type of parts. Memory of one Go type can be used in two ways: a string in
// a field, and a string in an interface, which is a part with a header of its own.
type typeKey struct {
	kind kind
	typ  reflect.Type
}

// NewPool returns an empty pool.
func NewPool() *Pool {
	p := &Pool{seed: maphash.MakeSeed(), parts: newParts(), types: map[typeKey]uint32{}, plans: map[reflect.Type]*node{}}
	p.walk.pool = p
	p.afterGC()
	return p
}

// Transform returns a function for the Transform of an informer, or of package reflector,
// that replaces the parts of each object by equal ones of the pool. The functions in
// before are applied first, one after the other, as what they return is what is stored;
// the first error is returned.
//
// The object must not be used by another goroutine yet, and nobody may modify it
// afterwards. So the functions in before must not return memory that is used elsewhere, and
// no other transform may follow.
//
// Objects are pointers to structs, of generated types, unstructured, or of your own. If T is
// an interface, each object is taken for what it is; what is not a pointer to a struct is
// left alone. Functions that are nil are skipped. Without a pool nothing is shared.
//
// The returned function may be called from any goroutine. Call Transform once for each
// resource: what is learned about unstructured objects belongs to the function.
func Transform[T any](pool *Pool, before ...func(T) (T, error)) func(T) (T, error) {
	s := sharer{pool: pool, plans: map[reflect.Type]*node{}}
	return func(obj T) (T, error) {
		for _, fn := range before {
			if fn == nil {
				continue
			}
			var err error
			if obj, err = fn(obj); err != nil {
				return obj, err
			}
		}
		s.share(reflect.ValueOf(obj))
		return obj, nil
	}
}

// sharer interns the objects of one resource.
type sharer struct {
	pool  *Pool
	plans map[reflect.Type]*node // guarded by the pool's mutex
}

// share interns the object to which v points.
func (s *sharer) share(v reflect.Value) {
	if s.pool == nil || v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem().Kind() != reflect.Struct {
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := s.plans[v.Type()]
	if plan == nil {
		plan = p.plan(v.Type().Elem())
		s.plans[v.Type()] = plan
	}
	p.walk.begin()
	p.walk.share(plan, v.UnsafePointer())
}

// plan returns the plan of a struct. Those of one Go type have the same one, so that what
// repeats is learned once, however many namespaces are read one by one. Types with fields
// for anything, such as unstructured objects, say nothing about what is in them: each call
// makes another.
func (p *Pool) plan(t reflect.Type) *node {
	if n := p.plans[t]; n != nil {
		return n
	}
	pl := &planner{pool: p, tree: newTree(p), known: map[reflect.Type]*node{}}
	n := pl.plan(t, false)
	if !pl.dynamic {
		p.plans[t] = n
	}
	return n
}

// typeID returns the number of a type of parts, and where hashes of such parts begin.
func (p *Pool) typeID(k kind, t reflect.Type) partID {
	key := typeKey{k, t}
	id, ok := p.types[key]
	if !ok {
		id = uint32(len(p.types)) + 1
		p.types[key] = id
	}
	return partID{id, maphash.Comparable(p.seed, id)}
}

// partID is what marks the parts of one type: their number in the pool, and what
// their hashes begin with.
type partID struct {
	id   uint32
	salt uint64
}

// Stats are figures of a [Pool].
type Stats struct {
	// Parts is the number of parts that objects share or can share; Seen is that of hashes
	// of which one part was seen recently.
	Parts, Seen int
	// Bytes estimates the memory of the pool itself. The parts belong to the objects.
	Bytes int
	// Found and Missed are how many parts were replaced by one of the pool, and how many
	// were looked up and kept, since the pool was made.
	Found, Missed uint64
	// Saved estimates the bytes of the copies that were replaced since then, also for
	// objects that are gone by now.
	Saved uint64
}

// Stats returns present figures, in a time proportional to the number of parts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.total
	st.Parts, st.Seen = p.parts.size()
	st.Bytes = p.parts.peak * entryCost
	return st
}
