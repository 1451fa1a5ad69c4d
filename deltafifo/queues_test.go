package deltafifo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// thing is the object of most tests: metadata and nothing else.
type thing = *thingValue

type thingValue = metav1.PartialObjectMetadata

// newThing returns a version of an object: "ns/name" or "name", and what makes
// this state of it different from others.
func newThing(key, version string) thing {
	ns, name, ok := strings.Cut(key, "/")
	if !ok {
		ns, name = "", key
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, ResourceVersion: version}}
}

func keyNamed(key string) types.NamespacedName {
	obj := newThing(key, "")
	return types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
}

// producer is what a reflector writes into.
type producer interface {
	Add(ctx context.Context, obj thing) error
	Update(ctx context.Context, obj thing) error
	Delete(ctx context.Context, obj thing) error
	Replace(ctx context.Context, objs []thing, rv string) error
	Bookmark(ctx context.Context, rv string) error
}

// queue is the queue, read in one of two ways, or the model of it.
type queue interface {
	producer
	pop(ctx context.Context, process func([]delta) error) error
	HasSynced() bool
	AddIfNotPresent(deltas Deltas[thing]) error
	Resync(ctx context.Context) error
	Known(key types.NamespacedName) (thing, bool)
	Len() int
	Close()
}

// delta is a Delta with everything in it that can be compared.
type delta struct {
	Type              DeltaType
	FinalStateUnknown bool
	Object            thing
	Objects           []thing
	Key               types.NamespacedName
	ResourceVersion   string
}

func ofDelta(d Delta[thing]) delta {
	of := delta{Type: d.Type, FinalStateUnknown: d.FinalStateUnknown, Object: d.Object}
	if d.Object != nil {
		of.Key = d.Key()
	}
	if d.List != nil {
		of.ResourceVersion = d.List.ResourceVersion
		if d.Object == nil {
			of.Objects = d.List.Objects
		}
	}
	return of
}

func ofAny[D delta | Delta[thing]](d D) delta {
	if d, ok := any(d).(Delta[thing]); ok {
		return ofDelta(d)
	}
	return any(d).(delta)
}

// all converts what is delivered.
func all[A any](of func(A) delta, as []A) []delta {
	var ds []delta
	for _, a := range as {
		ds = append(ds, of(a))
	}
	return ds
}

// deltasOf is the reverse.
func deltasOf(ds []delta) (deltas Deltas[thing]) {
	for _, d := range ds {
		of := Delta[thing]{Type: d.Type, FinalStateUnknown: d.FinalStateUnknown, Object: d.Object}
		if d.ResourceVersion != "" {
			of.List = &List[thing]{Objects: d.Objects, ResourceVersion: d.ResourceVersion}
		}
		deltas = append(deltas, of)
	}
	return deltas
}

// inOrder reads the batches of a queue in the order of arrival.
type inOrder struct{ *DeltaFIFO[thing] }

func (f inOrder) pop(ctx context.Context, process func([]delta) error) error {
	if process == nil {
		return f.Pop(ctx, nil)
	}
	return f.Pop(ctx, func(batch Batch[thing]) error { return process(all(ofDelta, batch.Deltas)) })
}

// byObject reads the batches of a queue by object, one object after the other.
type byObject struct{ *DeltaFIFO[thing] }

func (f byObject) pop(ctx context.Context, process func([]delta) error) error {
	if process == nil {
		return f.Pop(ctx, nil)
	}
	return f.Pop(ctx, func(batch Batch[thing]) error {
		return process(all(ofDelta, slices.Concat(batch.ByObject()...)))
	})
}

// store is a consumer's store that can be looked into while it is written.
type store struct {
	mu   sync.Mutex
	objs map[types.NamespacedName]thing
}

func newStore(objs ...thing) *store {
	s := &store{objs: map[types.NamespacedName]thing{}}
	s.set(objs...)
	return s
}

func (s *store) set(objs ...thing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, obj := range objs {
		s.objs[keyNamed(obj.Namespace+"/"+obj.Name)] = obj
	}
}

func (s *store) Get(key types.NamespacedName) (thing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj, ok := s.objs[key]
	return obj, ok
}

// All yields in key order, so that the outcome of a test does not depend on
// the order of a map.
func (s *store) All() iter.Seq[thing] {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(s.objs), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	})
	objs := make([]thing, len(keys))
	for i, key := range keys {
		objs[i] = s.objs[key]
	}
	return slices.Values(objs)
}

// apply does what an informer does with deltas.
func (s *store) apply(deltas []delta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deltas {
		switch {
		case d.Type == Deleted:
			delete(s.objs, d.Key)
		case d.Type == Replaced && d.Object == nil:
			clear(s.objs)
			for _, obj := range d.Objects {
				s.objs[types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}] = obj
			}
		case d.Object != nil:
			s.objs[d.Key] = d.Object
		}
	}
	return nil
}

// versions returns what is stored, as key → version.
func (s *store) versions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[string]string{}
	for key, obj := range s.objs {
		m[key.String()] = obj.ResourceVersion
	}
	return m
}

// describe writes deltas the way the tests state them:
// "Added web@1, Deleted(tombstone) db@2, Replaced [a@1 b@2]@7, Bookmark @8".
func describe[D delta | Delta[thing]](deltas []D) string {
	name := func(obj thing) string {
		return strings.TrimPrefix(obj.Namespace+"/"+obj.Name, "/") + "@" + obj.ResourceVersion
	}
	var out []string
	for _, d := range all(ofAny[D], deltas) {
		switch {
		case d.Type == Bookmark:
			out = append(out, "Bookmark @"+d.ResourceVersion)
		case d.Type == Replaced && d.Object == nil:
			var objs []string
			for _, obj := range d.Objects {
				objs = append(objs, name(obj))
			}
			out = append(out, fmt.Sprintf("Replaced %v@%s", objs, d.ResourceVersion))
		case d.Object == nil:
			out = append(out, d.Type.String())
		case d.FinalStateUnknown:
			out = append(out, fmt.Sprintf("%s(tombstone) %s", d.Type, name(d.Object)))
		default:
			out = append(out, fmt.Sprintf("%s %s", d.Type, name(d.Object)))
		}
	}
	return strings.Join(out, ", ")
}
