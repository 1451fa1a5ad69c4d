// Package intern stores equal parts of objects once.
//
// Objects of one collection differ in little: the pods of a Deployment have the
// same environment, probes, resources and labels, and each holds a copy of its
// own. [Transform] makes a transform that goes over an object that was just decoded and
// replaces each part that equals one of a [Pool] by that one; the copy becomes garbage.
//
//	          ┌ metadata ─ name, uid               differ: left alone
//	object ───┤            labels ────────────────▶ pool
//	          └ spec ───── containers (differ) ──── env, probes, image ───▶ pool
//
//	pool := intern.NewPool()
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{
//		Transform: intern.Transform(pool, reflector.StripManagedFields[*corev1.Pod]),
//	})
//
// A part is what has an allocation of its own: a string, a map, the array of a slice, what
// a pointer points to, a value in an unstructured object. The largest equal parts are found
// first: a part is hashed with all that it contains; if the pool has an equal one, nothing
// below it needs a look; if not, the parts in it follow.
//
// # Promises
//
//  1. An object is deeply equal to what it was: equality decides, a hash only selects the
//     candidate. NaN equals NaN, 0 differs from -0, nil from empty. Padding is not compared.
//  2. A part of the pool is never modified. As for all objects of a cache, nobody else may:
//     a program that modifies one in place modifies all that share the part. DeepCopy
//     separates them, and the mutation detector of package indexer finds it.
//  3. What cannot be compared by its memory is left alone, with all that contains it: structs
//     with unexported fields (but for metav1.Time, resource.Quantity and the like), functions,
//     channels, interfaces other than the values of unstructured objects, and circles.
//  4. No part outlives the objects that contain it: the pool holds them by weak pointers, and
//     its entries are removed after the next garbage collections.
//  5. The memory of the pool is bounded by the parts that objects contain, and those seen
//     between two garbage collections. A server cannot make it learn fields without end.
//
// # Where to read on
//
// README.md: when to use it, what it costs and saves. The code: intern.go (what users
// call), plan.go (how a type is hashed, compared and visited), walk.go (the way through an
// object) with hash.go, equal.go and entries.go, dynamic.go (unstructured objects), pool.go
// (the parts, and when they go), site.go (what is worth a look).
package intern
