// Package intern stores equal parts of objects once.
//
// Objects of one collection differ in little: the pods of a Deployment have the
// same environment, probes, resources and labels, and each holds a copy of its
// own. A [Pool] knows parts that cached objects consist of. An [Interner] goes
// over an object that was just decoded and replaces each part that equals one of
// the pool by that one; the copy becomes garbage.
//
//	          ┌ metadata ─ name, uid               differ: left alone
//	object ───┤            labels ────────────────▶ pool
//	          └ spec ───── containers (differ) ──── env, probes, image ───▶ pool
//
// A part is what has an allocation of its own: a string, a map, the array of a
// slice, what a pointer points to, a value in an interface. The largest equal
// parts are found first: a part is hashed with all that it contains; if the pool
// has an equal one, nothing below it needs a look; if not, the parts in it follow.
//
// # What is compared
//
// A plan is made of each type once, by reflection: which bytes of a struct are
// plain memory, and where the parts are. Two parts are equal if everything in
// them is, bit by bit: NaN equals NaN, 0 differs from -0, nil from empty. Padding
// is not compared. A hash only selects the candidate; equality is always checked.
//
// Left alone, together with all that contains them, are values of which a
// comparison of memory does not say that they can stand for each other: structs
// with unexported fields (but for a few known ones, such as time.Time), functions,
// channels, interfaces with methods, and what is nested too deeply or in a circle.
//
// # Before an object is decoded
//
// A parser of unstructured objects can ask sooner. A [Decoding] knows, for each place,
// the text that the last shared value was made of. If the text that comes next is the
// same, so is the value: it is the part of the pool, and nothing is parsed, allocated or
// compared. That is most of what a walk through the object would find, and costs less
// than not to intern at all. Text that differs is parsed, and the value looked up as in
// a walk.
//
// What is kept of texts is bounded for each goroutine, and counted by [Pool.Stats].
//
// # What it costs
//
// Each place in a type (a field, the elements of a field, a path in an
// unstructured object) counts how much it saves. One that saves less than the
// pool spends on it is left alone for some time, and longer each time; so are
// names, UIDs, addresses and timestamps. A part enters the pool when it is seen
// for the second time.
//
// # How long parts live
//
// The pool holds parts by weak pointers, so none outlives the objects that
// contain it. Entries of parts that are gone are removed after each garbage
// collection.
//
// Read plan.go, walk.go, hash.go, equal.go, dynamic.go, decode.go, site.go, pool.go.
package intern
