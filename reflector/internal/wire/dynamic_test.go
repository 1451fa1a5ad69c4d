package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/intern"
	"github.com/informerkit/informerkit/internal/intern/population"
)

// dynamicTexts are what FuzzDynamic starts from.
var dynamicTexts = []string{
	`{}`, `{"a":{}}`, `{"a":[]}`, `{"a":[[],{}]}`, ` { "a" : 1 , "b" : [ true , false , null ] } `,
	`{"a":0,"b":-0,"c":12,"d":-7,"e":9223372036854775807,"f":9223372036854775808,"g":-9223372036854775809}`,
	`{"a":1.0,"b":1e3,"c":1E+3,"d":1.5e-7,"e":0.1,"f":1e400}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":+1}`,
	`{"a":"x","a":"y"}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":1,"a":null}`,
	`{"a":"\n\t\"\\\/\u00e9\ud83d\ude00\ud83d"}`, `{"\u0061":1,"a":2}`, `{"a":"\x"}`, `{"a":"\u12"}`, "{\"a\":\"\x01\"}",
	"{\"a\":\"é€😀\"}", "{\"a\":\"\xff\xc3\"}", "{\"\xff\":1}", `{"a":"`, `{"a":"\`, `{"a`, `{`, `{"a":1,}`, `{,}`, `{"a":[1,]}`, `{"a":[,]}`,
	`{"a" 1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`, `{"a":tru}`, `{"a":nulll}`, `{1:2}`, `[]`, `null`, `"a"`, ``, ` `, `{"a":1}` + "\x00",
	`{"":""}`, `{"a":"` + strings.Repeat("x", maxRecent) + `","b":"` + strings.Repeat("x", maxRecent+1) + `"}`,
	manyFields(1), manyFields(2),
	`{"a":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `}`,
	`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`, // too deep
}

// manyFields is an object with more fields in one map than an interner learns.
func manyFields(n int) string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `,"key-%d":{"text":"value-%d"}`, i, n)
	}
	return `{"data":{"":"the empty one"` + b.String() + `}}`
}

// checkDynamic compares with the JSON package: the same texts are objects, and they are
// the same objects.
func checkDynamic(t *testing.T, raw []byte) {
	t.Helper()
	before := string(raw)
	var want map[string]any
	err := k8sjson.Unmarshal(raw, &want)
	p := &dynamicParser{}
	p.seed = dynamicParsers.Get().(*dynamicParser).seed
	for range 2 { // also with strings that were seen
		got, ok := p.parse(raw, intern.Place{})
		l := lexBytes(raw)
		if _, lexed := l.value(); lexed == nil && l.deep {
			require.False(t, ok, "a deep object is for the lexer to refuse")
			return
		}
		if err != nil || want == nil { // null
			require.False(t, ok, "%q is not an object: %v", raw, err)
			continue
		}
		require.True(t, ok, "%q is an object", raw)
		require.Equal(t, want, got)
	}
	require.Equal(t, before, string(raw), "the bytes are not written to")
	for _, m := range p.stack[:cap(p.stack)] {
		require.Equal(t, member{}, m, "the parser does not keep objects alive")
	}
}

func FuzzDynamic(f *testing.F) {
	for _, text := range dynamicTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(checkDynamic)
}

func TestAnUnstructuredObjectIsWhatTheJSONPackageMakesOfIt(t *testing.T) {
	t.Parallel()
	for _, text := range dynamicTexts {
		checkDynamic(t, []byte(text))
	}
	raw, err := json.Marshal(busyPods(3))
	require.NoError(t, err)
	checkDynamic(t, raw)
	// An error is that of the JSON package.
	for _, text := range []string{`{"a":1,}`, `[]`, `{"a":1e400}`} {
		var m map[string]any
		want := k8sjson.Unmarshal([]byte(text), &m)
		_, _, err := unmarshalDynamic([]byte(text), nil)
		require.Equal(t, want, err, text)
	}
}

// allocations are those of decoding one of the objects after the other, when their strings
// were seen. It is the least of some parsers: where strings are kept is a matter of their
// hashes, and of the parser's seed.
func allocations(t *testing.T, objects ...[]byte) float64 {
	t.Helper()
	least := math.Inf(1)
	for range 4 {
		p, next := dynamicParsers.New().(*dynamicParser), 0
		least = min(least, testing.AllocsPerRun(20*len(objects), func() {
			_, ok := p.parse(objects[next%len(objects)], intern.Place{})
			require.True(t, ok)
			next++
		}))
	}
	return least
}

func TestStringsThatComeAgainAreNotMadeAgain(t *testing.T) {
	// Not parallel: it counts allocations. Those that are left are the map and its entries.
	require.LessOrEqual(t, allocations(t, []byte(`{"status":"True","count":7,"type":"Ready"}`)), 2.0)
}

// What is left for a pod are its maps and slices, and what differs between pods.
func TestAnUnstructuredPodTakesAThirdOfTheAllocationsOfTheJSONPackage(t *testing.T) {
	// Not parallel: it counts allocations.
	var pods [][]byte
	for _, p := range busyPods(50).Items {
		raw, err := json.Marshal(&p)
		require.NoError(t, err)
		pods = append(pods, raw)
	}
	theirs := testing.AllocsPerRun(100, func() {
		var m map[string]any
		require.NoError(t, k8sjson.Unmarshal(pods[0], &m))
	})
	ours := allocations(t, pods...)
	t.Logf("%v allocations instead of %v", ours, theirs)
	require.LessOrEqual(t, ours, 80.0)
	require.Less(t, 3*ours, theirs)
}

// An interner keeps the names that it knows by unique, too, and would replace all others.
func TestNamesOfFieldsAreInOneMemoryForAllParsers(t *testing.T) {
	name := strings.Clone("aFieldOfThisTest")
	known := unique.Make(name)
	at := unsafe.StringData(known.Value())
	require.NotSame(t, unsafe.StringData(name), at)
	for range 2 {
		p := &dynamicParser{seed: maphash.MakeSeed()}
		for range 2 { // the first time, and as one that was seen
			m, ok := p.parse([]byte(`{"`+name+`":"`+name+`"}`), intern.Place{})
			require.True(t, ok)
			for k, v := range m {
				require.Same(t, at, unsafe.StringData(k))
				require.Equal(t, name, v)
			}
		}
	}
	runtime.KeepAlive(known)
}

// Values, most of which never come back, would take the places of names.
func TestValuesDoNotDisplaceNames(t *testing.T) {
	p := &dynamicParser{seed: maphash.MakeSeed()}
	_, ok := p.parse([]byte(`{"name":""}`), intern.Place{})
	require.True(t, ok)
	before := p.names
	for i := range 4 * recentStrings {
		_, ok := p.parse(fmt.Appendf(nil, `{"name":"value-%d"}`, i), intern.Place{})
		require.True(t, ok)
	}
	require.Equal(t, before, p.names)
}

func newDynamicInterner() (*intern.Pool, *intern.Interner) {
	pool := intern.NewPool()
	return pool, intern.NewInterner(pool, reflect.TypeFor[*unstructured.Unstructured]())
}

// checkInterned compares what is made of the texts, by turns and with one interner, with what
// the JSON package makes of them. It also interns them without a parser.
func checkInterned(t *testing.T, texts ...[]byte) {
	t.Helper()
	_, in := newDynamicInterner()
	type pair struct{ want, got map[string]any }
	var all []pair
	for round := range 4 {
		for i, raw := range texts {
			var want map[string]any
			wrong := k8sjson.Unmarshal(raw, &want)
			buffer := bytes.Clone(raw)
			got, shared, err := unmarshalDynamic(buffer, in)
			for i := range buffer {
				buffer[i] = 'x' // the next object is read into it
			}
			require.Equal(t, wrong, err, "%q", raw)
			if err != nil || got == nil { // null
				continue
			}
			if round == 2 && i%2 == 0 {
				shared = false // as if it had been decoded elsewhere
			}
			if u := (&unstructured.Unstructured{Object: got}); shared {
				got = in.Whole(got)
			} else {
				in.Intern(unsafe.Pointer(u))
				got = u.Object
			}
			all = append(all, pair{want, got})
		}
	}
	// At the end, as the later ones must not have changed the earlier ones.
	for _, p := range all {
		require.Equal(t, p.want, p.got)
	}
}

func FuzzDynamicInterned(f *testing.F) {
	for i, text := range dynamicTexts {
		f.Add([]byte(text), []byte(dynamicTexts[(i+7)%len(dynamicTexts)]), []byte(`,"a":"x"`), uint16(len(text)/2))
	}
	f.Add([]byte(`{"a":{"b":["text",1,{"c":[2.50,-0]}]}, "d" :"x\u0041"}`), []byte(`{"a":{"b":["text",1,{"c":[2.5,0]}]},"d":"xA"}`), []byte(`"`), uint16(9))
	f.Add([]byte(`{"a":"text"}`), []byte(`{"a":"text2"}`), []byte(`\`), uint16(6))
	f.Add([]byte(`{"a":["x","y"]}`), []byte(`{"a":["x","y"}`), []byte(`]`), uint16(13))
	f.Fuzz(func(t *testing.T, a, b, insert []byte, at uint16) {
		// Few random texts are alike. So one is the other with some bytes more.
		i := min(int(at), len(a))
		checkInterned(t, a, b, slices.Concat(a[:i], insert, a[i:]), a)
	})
}

func TestAnInternedObjectIsWhatTheJSONPackageMakesOfIt(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for _, text := range dynamicTexts {
		checkInterned(t, []byte(text))
		all = append(all, []byte(text))
	}
	checkInterned(t, all...)
	all = all[:0]
	for i := range 30 {
		raw, err := json.Marshal(population.Pod(90 + i)) // of two ReplicaSets
		require.NoError(t, err)
		all = append(all, raw)
	}
	checkInterned(t, all...)
}

// Each object is another one with a few bytes changed: of a value, a name or the syntax.
func TestInternedObjectsWithChangesAreWhatTheJSONPackageMakesOfThem(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const some = `"\{}[]:,01.-e truefalsn` + "\xff\n\t"
	var texts [][]byte
	for i := range 200 {
		raw, err := json.Marshal(population.Pod(90 + i%20))
		require.NoError(t, err)
		for range r.IntN(3) {
			at := r.IntN(len(raw))
			switch b := some[r.IntN(len(some))]; r.IntN(3) {
			case 0:
				raw[at] = b
			case 1:
				raw = slices.Insert(raw, at, b)
			default:
				raw = slices.Delete(raw, at, min(at+1+r.IntN(40), len(raw)))
			}
		}
		texts = append(texts, raw)
	}
	checkInterned(t, texts...)
}

// A parser that interns shares what a walk through the objects would share.
func TestInternedTextsShareAsMuchAsInternedObjects(t *testing.T) {
	const n = 500
	sizes := func(decode func(raw []byte, in *intern.Interner) map[string]any) (own, parts float64) {
		pool, in := newDynamicInterner()
		objs := make([]unstructured.Unstructured, n)
		for i := range objs {
			raw, err := json.Marshal(population.Pod(i))
			require.NoError(t, err)
			objs[i].Object = decode(raw, in)
		}
		sizer := intern.NewSizer(pool, reflect.TypeFor[*unstructured.Unstructured]())
		for i := range objs {
			_, bytes := sizer.Size(unsafe.Pointer(&objs[i]))
			own += float64(bytes)
		}
		t.Logf("%.0f bytes per object, and %+v", own/n, pool.Stats())
		return own, float64(pool.PartsBytes())
	}
	parsed, parsedParts := sizes(func(raw []byte, in *intern.Interner) map[string]any {
		m, shared, err := unmarshalDynamic(raw, in)
		require.NoError(t, err)
		require.True(t, shared)
		return in.Whole(m)
	})
	walked, walkedParts := sizes(func(raw []byte, in *intern.Interner) map[string]any {
		m, _, err := unmarshalDynamic(raw, nil)
		require.NoError(t, err)
		in.Intern(unsafe.Pointer(&unstructured.Unstructured{Object: m}))
		return m
	})
	require.LessOrEqual(t, parsed, 1.005*walked)
	require.LessOrEqual(t, parsedParts, 1.02*walkedParts)
}

// Items of a list may lack their kind, and get that of the list. Equal ones of two lists are
// not one object.
func TestItemsThatAreInternedGetTheKindOfTheirList(t *testing.T) {
	pool, in := newDynamicInterner()
	raw := []byte(`{"metadata":{"name":"a","labels":{"app":"web"}},"spec":{"text":"the same"}}`)
	var all []*unstructured.Unstructured
	for i := range 8 {
		kind := []string{"Widget", "Gadget"}[i%2]
		c, err := newCodec[*unstructured.Unstructured]("example.com/v1")
		require.NoError(t, err)
		c.interner, c.kind = in, kind
		u, err := c.decodeJSON(raw, c.expect(), 0)
		require.NoError(t, err)
		all = append(all, u)
	}
	for i, u := range all {
		require.Equal(t, []string{"Widget", "Gadget"}[i%2], u.GetKind())
		require.Equal(t, "web", u.GetLabels()["app"])
	}
	at := func(m any) uintptr { return reflect.ValueOf(m).Pointer() }
	require.Equal(t, at(all[5].Object["metadata"]), at(all[6].Object["metadata"]))
	require.Equal(t, at(all[5].Object), at(all[7].Object), "equal objects are one")
	require.NotZero(t, pool.Stats().Parts)
}

// What pods of a ReplicaSet have in common is not made again.
func TestAnInternedUnstructuredPodTakesHalfTheAllocations(t *testing.T) {
	// Not parallel: it counts allocations.
	var pods [][]byte
	for i := range population.PerReplicaSet {
		raw, err := json.Marshal(population.Pod(i))
		require.NoError(t, err)
		pods = append(pods, raw)
	}
	var kept []map[string]any
	run := func(in *intern.Interner) float64 {
		next := 0
		return testing.AllocsPerRun(20*len(pods), func() {
			m, _, err := unmarshalDynamic(pods[next%len(pods)], in)
			require.NoError(t, err)
			if next++; next < len(pods) { // parts live as long as objects have them
				kept = append(kept, m)
			}
		})
	}
	_, in := newDynamicInterner()
	plain, interned := run(nil), run(in)
	t.Logf("%v allocations instead of %v", interned, plain)
	require.Less(t, 2*interned, plain)
	runtime.KeepAlive(kept)
}

// A text is known at the depth at which it was decoded, and at no other.
func TestAKnownTextMakesNoObjectTooDeep(t *testing.T) {
	_, in := newDynamicInterner()
	nested := func(n int) string { return strings.Repeat("[", n) + `"text"` + strings.Repeat("]", n) }
	var kept []map[string]any
	for range 4 {
		for text, want := range map[string]bool{
			`{"a":` + nested(maxDepth-1) + `}`:           true,
			`{"a":` + nested(maxDepth) + `}`:             false,
			`{"b":{"a":` + nested(maxDepth-1) + `}}`:     false,
			`{"b":{"a":[1,` + nested(maxDepth-3) + `]}}`: true,
		} {
			p := &dynamicParser{seed: maphash.MakeSeed()}
			m, shared, ok := p.parseShared([]byte(text), in)
			require.Equal(t, want, ok)
			require.True(t, shared)
			kept = append(kept, m)
		}
	}
	runtime.KeepAlive(kept)
}

// Then the object is interned when it has been decoded.
func TestWithoutAFreeWorkerAnObjectIsNotSharedYet(t *testing.T) {
	_, in := newDynamicInterner()
	var busy []intern.Decoding
	for {
		d, root := in.Decode()
		if root.Nowhere() {
			break
		}
		busy = append(busy, d)
	}
	raw := []byte(`{"metadata":{"name":"a"}}`)
	m, shared, err := unmarshalDynamic(raw, in)
	require.NoError(t, err)
	require.False(t, shared)
	require.Equal(t, map[string]any{"metadata": map[string]any{"name": "a"}}, m)
	for _, d := range busy {
		d.End()
	}
	_, shared, err = unmarshalDynamic(raw, in)
	require.NoError(t, err)
	require.True(t, shared)
}

// One interner serves all goroutines that decode, also more than it has workers.
func TestSeveralGoroutinesShareTexts(t *testing.T) {
	pool, in := newDynamicInterner()
	const n = 40
	var raws [n][]byte
	var want [n]map[string]any
	for i := range n {
		var err error
		raws[i], err = json.Marshal(population.Pod(90 + i)) // of two ReplicaSets
		require.NoError(t, err)
		require.NoError(t, k8sjson.Unmarshal(raws[i], &want[i]))
	}
	c, err := newCodec[*unstructured.Unstructured]("v1")
	require.NoError(t, err)
	c.interner = in
	var group sync.WaitGroup
	for g := range 2*runtime.GOMAXPROCS(0) + 2 {
		group.Go(func() {
			var objs []*unstructured.Unstructured
			for i := range n {
				u, err := c.decodeJSON(raws[(i+g)%n], c.expect(), i)
				if !assert.NoError(t, err) {
					return
				}
				objs = append(objs, u)
				if i%16 == g {
					runtime.GC()
				}
			}
			for i, u := range objs {
				assert.Equal(t, want[(i+g)%n], u.Object)
			}
		})
	}
	group.Wait()
	require.NotZero(t, pool.Stats().Found)
}

// The text of the last object is another one each time, so a value is found when it has been
// decoded.
func TestValuesThatComeByTurnsAreShared(t *testing.T) {
	_, in := newDynamicInterner()
	parts := map[uintptr]int{}
	var kept []map[string]any
	for i := range 12 {
		m, shared, err := unmarshalDynamic(fmt.Appendf(nil, `{"spec":{"color":"color-%d"}}`, i%2), in)
		require.NoError(t, err)
		require.True(t, shared)
		parts[reflect.ValueOf(m["spec"]).Pointer()]++
		kept = append(kept, m)
	}
	require.Len(t, parts, 4, "the first one of each is only noted")
	runtime.KeepAlive(kept)
}
