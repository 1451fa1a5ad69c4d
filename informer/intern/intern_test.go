package intern

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unique"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/internal/verify/population"
)

func sameMap[K comparable, V any](a, b map[K]V) bool {
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
}

func TestEqualPartsOfPodsAreStoredOnce(t *testing.T) {
	r := newRig[corev1.Pod]()
	pods := make([]*corev1.Pod, 2*population.PerReplicaSet)
	for i := range pods {
		pods[i] = r.intern(*population.Pod(i))
		require.Equal(t, population.Pod(i), pods[i])
	}
	a, b, other := pods[50], pods[51], pods[150]
	assert.True(t, sameMap(a.Labels, b.Labels))
	assert.False(t, sameMap(a.Labels, other.Labels))
	assert.Same(t, &a.OwnerReferences[0], &b.OwnerReferences[0])
	ac, bc, oc := &a.Spec.Containers[0], &b.Spec.Containers[0], &other.Spec.Containers[0]
	assert.NotSame(t, ac, bc, "the name of the token differs")
	assert.Same(t, &ac.Env[0], &bc.Env[0])
	assert.Same(t, ac.LivenessProbe, bc.LivenessProbe)
	assert.Same(t, ac.LivenessProbe, oc.LivenessProbe, "those of all Deployments are equal")
	assert.True(t, sameMap(ac.Resources.Limits, oc.Resources.Limits))
	assert.Same(t, unsafe.StringData(ac.Image), unsafe.StringData(bc.Image))
	assert.Equal(t, len(ac.Env), cap(ac.Env), "shared arrays have no room for more")
}

func TestEqualPartsOfUnstructuredObjectsAreStoredOnce(t *testing.T) {
	create := func() unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"list": []any{"one", int64(2), 3.5, true, nil, map[string]any{"k": "value"}}},
		}}
	}
	a, b := newRig[unstructured.Unstructured]().three(t, create)
	assert.True(t, sameMap(a.Object, b.Object))

	// A name that differs leaves the rest equal.
	r, n := newRig[unstructured.Unstructured](), 0
	named := func() unstructured.Unstructured {
		u := create()
		n++
		u.SetName(fmt.Sprint("object-", n))
		return u
	}
	r.intern(named())
	a, b = r.intern(named()), r.intern(named())
	assert.False(t, sameMap(a.Object, b.Object))
	assert.True(t, sameMap(a.Object["spec"].(map[string]any), b.Object["spec"].(map[string]any)))
	assert.Equal(t, "object-2", a.GetName())
	assert.Equal(t, "object-3", b.GetName())
	for k := range a.Object {
		for l := range b.Object {
			if k == l {
				assert.Same(t, unsafe.StringData(k), unsafe.StringData(l), k)
			}
		}
	}
}

// Promise informer/intern/1
func TestValuesThatDifferInAnyBitAreKept(t *testing.T) {
	type value struct {
		Floats []float64
		Any    map[string]any
		Lists  [][]string
		Map    map[string][]byte
		Ints   map[int]string
		Small  *int8
	}
	negative := math.Copysign(0, -1)
	values := []value{
		{Floats: []float64{0}}, {Floats: []float64{negative}}, {Floats: []float64{math.NaN()}}, {Floats: []float64{}}, {},
		{Any: map[string]any{"k": 0.0}}, {Any: map[string]any{"k": negative}}, {Any: map[string]any{"k": math.NaN()}}, {Any: map[string]any{"k": int64(1)}}, {Any: map[string]any{"k": 1.0}}, {Any: map[string]any{"k": "1"}}, {Any: map[string]any{"k": true}}, {Any: map[string]any{"k": false}},
		{Any: map[string]any{"k": []any{}}}, {Any: map[string]any{"k": []any(nil)}}, {Any: map[string]any{"k": map[string]any{}}}, {Any: map[string]any{"k": map[string]any(nil)}}, {Any: map[string]any{"k": []any{nil}}}, {Any: map[string]any{"k": []any{[]any{}}}},
		{Any: map[string]any{"k": map[string]any{"a": nil}}}, {Any: map[string]any{"k": map[string]any{"b": nil}}}, {Any: map[string]any{"k": ""}},
		{Lists: [][]string{{}}}, {Lists: [][]string{nil}}, {Lists: [][]string{{"a", "b"}}}, {Lists: [][]string{{"a"}, {"b"}}}, {Lists: [][]string{{"ab"}}},
		{Map: map[string][]byte{"k": nil}}, {Map: map[string][]byte{"k": {}}}, {Map: map[string][]byte{}}, {Map: map[string][]byte{"k": {0}}},
		{Ints: map[int]string{0: "zero"}}, {Ints: map[int]string{1: "zero"}}, {Small: new(int8)},
	}
	text := func(v value) string { return fmt.Sprintf("%#v %v", v, v.Small != nil && *v.Small == 0) }
	hide := func(s string) string { // addresses
		if i := strings.Index(s, "Small:(*int8)"); i >= 0 {
			return s[:i] + s[strings.LastIndex(s, "}"):]
		}
		return s
	}
	r := newRig[value]()
	for range 4 {
		for _, v := range values {
			c := v
			c.Floats, c.Lists, c.Map, c.Ints, c.Any = slices.Clone(v.Floats), slices.Clone(v.Lists), maps.Clone(v.Map), maps.Clone(v.Ints), maps.Clone(v.Any)
			assert.Equal(t, hide(text(v)), hide(text(*r.intern(c))))
		}
	}
}

// What is between the fields of a struct is no part of its value.
func TestPaddingIsNotCompared(t *testing.T) {
	type padded struct {
		A bool
		B int64
		C bool
	}
	type value struct{ List []padded }
	create := func(dirt byte) value {
		list := make([]padded, 20)
		for i := range list {
			memory := unsafe.Slice((*byte)(unsafe.Pointer(&list[i])), unsafe.Sizeof(list[i]))
			for j := range memory {
				memory[j] = dirt
			}
			list[i].A, list[i].B, list[i].C = true, int64(i), false
		}
		return value{list}
	}
	r := newRig[value]()
	r.intern(create(0))
	a, b := r.intern(create(1)), r.intern(create(2))
	assert.Same(t, &a.List[0], &b.List[0])
}

// Promise informer/intern/3
func TestExoticValuesAreLeftAlone(t *testing.T) {
	type hidden struct {
		Exported []string
		_        sync.Mutex
	}
	type named interface{ String() string }
	type exotic struct {
		Hidden  *hidden
		Func    *struct{ F func() }
		Chan    []chan int
		Named   []named
		Pointer []unsafe.Pointer
		Number  []uintptr
		Any     []any
		Floats  map[float64]string
		Keys    map[any]string
		Fine    []string
	}
	var at int
	c := make(chan int)
	create := func() exotic {
		return exotic{
			Hidden: &hidden{Exported: []string{"text"}}, Func: &struct{ F func() }{}, Chan: []chan int{c}, Named: []named{reflect.ValueOf(1)},
			Pointer: []unsafe.Pointer{unsafe.Pointer(&at)}, Number: []uintptr{1}, Any: []any{struct{ A string }{"text"}, "text"},
			Floats: map[float64]string{1: "text"}, Keys: map[any]string{1: "text"}, Fine: []string{"text"},
		}
	}
	a, b := newRig[exotic]().three(t, create)
	assert.NotSame(t, a.Hidden, b.Hidden)
	assert.NotSame(t, &a.Hidden.Exported[0], &b.Hidden.Exported[0])
	assert.NotSame(t, a.Func, b.Func)
	assert.NotSame(t, &a.Chan[0], &b.Chan[0])
	assert.NotSame(t, &a.Named[0], &b.Named[0])
	assert.NotSame(t, &a.Pointer[0], &b.Pointer[0])
	assert.NotSame(t, &a.Number[0], &b.Number[0])
	assert.NotSame(t, &a.Any[0], &b.Any[0])
	assert.False(t, sameMap(a.Floats, b.Floats))
	assert.False(t, sameMap(a.Keys, b.Keys))
	assert.Same(t, &a.Fine[0], &b.Fine[0])
}

func TestTypesOtherThanPointersToStructsAreLeftAlone(t *testing.T) {
	p := NewPool()
	s := "text"
	for range 3 {
		for _, v := range []any{nil, s, &s, map[string]string{s: s}, (*corev1.Pod)(nil), []string{s}, struct{ S []string }{[]string{s}}} {
			p.share(v)
		}
	}
	assert.Equal(t, "text", s)
	assert.Zero(t, p.Stats().Found+p.Stats().Missed)
}

type recursive struct {
	Name     string
	Children []recursive
	Left     *recursive
	ByName   map[string]recursive
	Rest     recursiveList
}

type recursiveList []recursiveList

func TestTypesThatContainThemselves(t *testing.T) {
	create := func() recursive {
		leaf := recursive{Name: "leaf", Rest: recursiveList{nil, {}, {nil}}}
		node := recursive{Name: "node", Children: []recursive{leaf, leaf}, ByName: map[string]recursive{"a": leaf}}
		return recursive{Name: "root", Children: []recursive{node}, Left: &node}
	}
	a, b := newRig[recursive]().three(t, create)
	assert.Same(t, a.Left, b.Left)
	assert.Same(t, &a.Children[0], &b.Children[0])
}

// Values in a circle have no end; they are given up after some time.
//
// Promise informer/intern/3
func TestValuesThatContainThemselvesAreLeftAlone(t *testing.T) {
	r := newRig[recursive]()
	c := &recursive{Name: "circle"}
	c.Left = c
	c.Children = []recursive{{Left: c}, {Left: c}}
	r.pool.share(c)
	assert.Same(t, c, c.Left)
	assert.Same(t, c, c.Children[1].Left)
	m := map[string]any{}
	m["self"], m["list"] = m, []any{m, m}
	r.pool.share(&unstructured.Unstructured{Object: m})
	assert.True(t, sameMap(m, m["self"].(map[string]any)))
}

// Parts with equal hashes are compared, and only one of them is in the pool.
//
// Promise informer/intern/1
func TestPartsWithEqualHashesAreCompared(t *testing.T) {
	for _, mask := range []uint64{0, 1, 15} {
		pool := NewPool()
		pool.parts.mask = mask
		typed, dynamic := rigOf[corev1.Pod](pool), rigOf[unstructured.Unstructured](pool)
		var kept []any
		for i := range 300 {
			p := typed.intern(*population.Pod(i % 150))
			u := dynamic.intern(*asUnstructured(t, population.Pod(i%150)))
			require.Equal(t, population.Pod(i%150), p)
			require.Equal(t, asUnstructured(t, population.Pod(i%150)), u)
			kept = append(kept, p, u)
		}
		st := pool.Stats()
		assert.LessOrEqual(t, st.Parts+st.Seen, int(mask)+1)
		assert.NotZero(t, st.Found)
		runtime.KeepAlive(kept)
	}
}

func TestPartsThatWereSeenOnceAreForgotten(t *testing.T) {
	const typ = 7
	p := newParts()
	assert.Zero(t, p.find(1, typ), "new")
	assert.EqualValues(t, typ, p.find(1, typ).typ, "seen")
	assert.Zero(t, p.find(1, typ+1), "of another type")
	p.sweep()
	assert.EqualValues(t, typ, p.find(1, typ).typ, "there is a full interval in which a part may be seen again")
	p.find(5, typ)
	p.sweep()
	assert.Zero(t, p.find(1, typ), "forgotten")
	assert.EqualValues(t, typ, p.find(5, typ).typ)
}

// The objects that were interned first are those to whose parts others refer.
//
// Promise informer/intern/2
func TestSharedPartsAreNotModified(t *testing.T) {
	r, u := newRig[corev1.Pod](), newRig[unstructured.Unstructured]()
	const n = 2 * population.PerReplicaSet
	var pods []*corev1.Pod
	var objects []*unstructured.Unstructured
	for i := range n {
		pods = append(pods, r.intern(*population.Pod(i)))
		objects = append(objects, u.intern(*asUnstructured(t, population.Pod(i))))
	}
	for i := range n {
		require.Equal(t, population.Pod(i), pods[i])
		require.Equal(t, asUnstructured(t, population.Pod(i)), objects[i])
	}
}

// Promise informer/intern/5
func TestFieldsWithoutEndAreNotLearned(t *testing.T) {
	pool := NewPool()
	s := sharer{pool, map[reflect.Type]*node{}}
	for i := range maxPaths + 1000 {
		name := fmt.Sprint("field-", i)
		u := &unstructured.Unstructured{Object: map[string]any{fmt.Sprint("part-", i%100): map[string]any{name: []any{name}}}}
		s.share(reflect.ValueOf(u))
		require.Equal(t, map[string]any{name: []any{name}}, u.Object[fmt.Sprint("part-", i%100)])
	}
	tree := s.plans[reflect.TypeFor[*unstructured.Unstructured]()].parts[0].node.schema.tree
	assert.Equal(t, maxPaths, tree.paths)
	pool.collect()
	assert.Zero(t, pool.Stats().Seen)
}

// Promise informer/intern/4
func TestPoolIsEmptyWhenObjectsAreGone(t *testing.T) {
	typed, dynamic := newRig[corev1.Pod](), newRig[unstructured.Unstructured]()
	pods := make([]*corev1.Pod, 300)
	objects := make([]*unstructured.Unstructured, 300)
	for i := range pods {
		pods[i] = typed.intern(*population.Pod(i))
		objects[i] = dynamic.intern(*asUnstructured(t, population.Pod(i)))
	}
	full := typed.pool.Stats()
	assert.Greater(t, full.Parts, 100)
	typed.pool.collect()
	left := typed.pool.Stats()
	assert.Greater(t, left.Parts, 100)
	assert.Zero(t, left.Seen, "what was seen once is forgotten")
	runtime.KeepAlive(pods)
	runtime.KeepAlive(objects)
	clear(pods)
	clear(objects)
	for _, p := range []*Pool{typed.pool, dynamic.pool} {
		p.collect()
		st := p.Stats()
		assert.Zero(t, st.Parts)
		assert.Zero(t, st.Seen)
		assert.Less(t, st.Bytes, 20_000, "its memory is released")
	}
	assert.Greater(t, full.Bytes, 20_000)
}

func TestPoolIsSweptAfterGarbageCollections(t *testing.T) {
	r := newRig[corev1.Pod]()
	for i := range 3 {
		r.intern(*population.Pod(i))
	}
	for r.pool.Stats().Parts+r.pool.Stats().Seen > 0 {
		runtime.GC()
	}
}

// A pool without users is garbage itself.
func TestPoolIsCollected(t *testing.T) {
	gone := make(chan struct{})
	func() {
		pool := NewPool()
		runtime.AddCleanup(pool, func(c chan struct{}) { close(c) }, gone)
	}()
	for {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
		}
	}
}

func TestPartsAreSharedBetweenTypes(t *testing.T) {
	pool := NewPool()
	pods, services := rigOf[corev1.Pod](pool), rigOf[corev1.Service](pool)
	labels := func() map[string]string { return map[string]string{"app.kubernetes.io/name": "web"} }
	pod := func() (p corev1.Pod) { p.Labels = labels(); return p }
	_, p := pods.three(t, pod)
	s := corev1.Service{}
	s.Spec.Selector = labels()
	assert.True(t, sameMap(p.Labels, services.intern(s).Spec.Selector))
}

func TestSeveralGoroutinesInternAtOnce(t *testing.T) {
	pool := NewPool()
	typed, dynamic := rigOf[corev1.Pod](pool), rigOf[unstructured.Unstructured](pool)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 60 {
				p := typed.intern(*population.Pod(i))
				assert.Equal(t, population.Pod(i), p)
				u := dynamic.intern(*asUnstructured(t, p))
				assert.Equal(t, asUnstructured(t, p), u)
				if i%20 == 0 {
					pool.sweep()
				}
				pool.Stats()
			}
		})
	}
	group.Wait()
}

// A decoder that makes names by unique, as that of the reflector does, shares them with the
// interner: replacing each would be an assignment to a map for each field of each object.
func TestNamesThatUniqueKnowsAreNotReplaced(t *testing.T) {
	r := newRig[unstructured.Unstructured]()
	known := unique.Make("aFieldOfThisTest")
	at := unsafe.StringData(known.Value())
	r.intern(unstructured.Unstructured{Object: map[string]any{strings.Clone(known.Value()): "of another decoder"}})
	for range 3 {
		for _, name := range []string{known.Value(), strings.Clone(known.Value())} {
			u := r.intern(unstructured.Unstructured{Object: map[string]any{name: int64(1)}})
			for k := range u.Object {
				require.Same(t, at, unsafe.StringData(k))
			}
		}
	}
	runtime.KeepAlive(known)
}
