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

	"github.com/informerkit/informerkit/internal/object"
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

// queue is what both queues, and the reference models, have in common.
type queue interface {
	producer
	pop(ctx context.Context, process func([]delta) error) error
	Len() int
	Close()
}

// fullQueue is what a DeltaFIFO and its model have in addition.
type fullQueue interface {
	queue
	DeleteFinalStateUnknown(ctx context.Context, tombstone DeletedFinalStateUnknown[thing]) error
	HasSynced() bool
	Synced() <-chan struct{}
	AddIfNotPresent(deltas Deltas[thing]) error
	Resync(ctx context.Context) error
	GetByKey(key types.NamespacedName) (Deltas[thing], bool)
	List() []Deltas[thing]
	ListKeys() []types.NamespacedName
	Known(key types.NamespacedName) (thing, bool)
}

// delta is what both queues deliver, in one type: a Delta of an object, or a Change
// of a collection.
type delta struct {
	Type              DeltaType
	FinalStateUnknown bool
	Object            thing
	Objects           []thing
	Key               types.NamespacedName
	ResourceVersion   string
}

func ofDelta(d Delta[thing]) delta {
	return delta{Type: d.Type, FinalStateUnknown: d.FinalStateUnknown, Object: d.Object, Key: d.Key, ResourceVersion: d.ResourceVersion}
}

func ofChange(c Change[thing]) delta {
	if c.Collection != nil {
		return delta{Type: c.Type, Object: c.Object, Objects: c.Collection.Objects, ResourceVersion: c.Collection.ResourceVersion}
	}
	return delta{Type: c.Type, Object: c.Object, Key: object.KeyOf(c.Object)}
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

// deltasOf is what the history of an object in a DeltaFIFO looks like.
func deltasOf(ds []delta) (deltas Deltas[thing]) {
	for _, d := range ds {
		deltas = append(deltas, Delta[thing]{Type: d.Type, FinalStateUnknown: d.FinalStateUnknown, Object: d.Object, Key: d.Key, ResourceVersion: d.ResourceVersion})
	}
	return deltas
}

type batchQueue struct{ *BatchFIFO[thing] }

func (f batchQueue) pop(ctx context.Context, process func([]delta) error) error {
	if process == nil {
		return f.PopBatch(ctx, nil)
	}
	return f.PopBatch(ctx, func(batch []Change[thing]) error { return process(all(ofChange, batch)) })
}

type deltaQueue struct{ *DeltaFIFO[thing] }

func (f deltaQueue) pop(ctx context.Context, process func([]delta) error) error {
	if process == nil {
		return f.Pop(ctx, nil)
	}
	return f.Pop(ctx, func(deltas Deltas[thing]) error { return process(all(ofDelta, deltas)) })
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
		case d.Type != Bookmark:
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
		if obj == nil {
			return "nil"
		}
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
		case d.FinalStateUnknown && d.Object == nil:
			out = append(out, fmt.Sprintf("%s(tombstone) %s nil", d.Type, strings.TrimPrefix(d.Key.String(), "/")))
		case d.FinalStateUnknown:
			out = append(out, fmt.Sprintf("%s(tombstone) %s", d.Type, name(d.Object)))
		default:
			out = append(out, fmt.Sprintf("%s %s", d.Type, name(d.Object)))
		}
	}
	return strings.Join(out, ", ")
}
