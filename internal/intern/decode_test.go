package intern

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/intern/population"
)

// decoder is a plain parser that uses a Decoding as that of the reflector does. It counts
// the values that it has parsed.
type decoder struct {
	t      testing.TB
	in     Decoding
	parsed int
}

// decode returns the object of raw. Its fields are not shared as a whole.
func decode(t testing.TB, in *Interner, raw []byte) (m map[string]any, parsed int) {
	t.Helper()
	d := decoder{t: t}
	var root Place
	d.in, root = in.Decode()
	require.False(t, root.Nowhere())
	defer d.in.End()
	return d.parse(root, 0, raw).(map[string]any), d.parsed
}

func (d *decoder) value(p Place, at int, raw []byte) any {
	if strings.IndexByte(`{["`, raw[0]) < 0 {
		return d.parse(p, at, raw)
	}
	v, n, worth := d.in.Known(p, at, append(raw[:len(raw):len(raw)], ',', '"'))
	if n > 0 {
		require.Equal(d.t, len(raw), n)
		return v
	}
	v = d.parse(p, at, raw)
	if worth {
		v = d.in.Share(p, at, v, raw)
	}
	return v
}

func (d *decoder) parse(p Place, at int, raw []byte) any {
	d.parsed++
	switch raw[0] {
	case '{':
		m := map[string]any{}
		d.members(raw, func(k string, raw json.RawMessage) {
			name, place := d.in.Field(p, []byte(k))
			if name == "" {
				name = d.in.Name(p, k)
			}
			m[name] = d.value(place, at, raw)
		})
		return m
	case '[':
		list := []any{}
		d.members(raw, func(_ string, raw json.RawMessage) {
			list = append(list, d.value(d.in.Element(p), len(list), raw))
		})
		return list
	default:
		var v any
		require.NoError(d.t, k8sjson.Unmarshal(raw, &v))
		return v
	}
}

// members calls f for each member of an object or array, in their order.
func (d *decoder) members(raw []byte, f func(name string, raw json.RawMessage)) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, err := dec.Token()
	require.NoError(d.t, err)
	for dec.More() {
		name := ""
		if raw[0] == '{' {
			key, err := dec.Token()
			require.NoError(d.t, err)
			name = key.(string)
		}
		var value json.RawMessage
		require.NoError(d.t, dec.Decode(&value))
		f(name, value)
	}
}

func newDynamic() *Interner {
	return NewInterner(NewPool(), reflect.TypeFor[*unstructured.Unstructured]())
}

func TestAValueWhoseTextComesAgainIsNotParsed(t *testing.T) {
	in := newDynamic()
	object := func(i int) []byte {
		return fmt.Appendf(nil, `{"name":"web-%d","spec":{"list":["one",2,{"k":"value"}],"text":"a \"quoted\" one"},"n":%d}`, i, i)
	}
	var kept []map[string]any
	var parsed []int
	for i := range 4 {
		m, n := decode(t, in, object(i))
		var want map[string]any
		require.NoError(t, k8sjson.Unmarshal(object(i), &want))
		require.Equal(t, want, m)
		kept, parsed = append(kept, m), append(parsed, n)
	}
	// Of the third one on only the object, its name and its number.
	require.Equal(t, []int{10, 10, 3, 3}, parsed)
	spec := func(i int) map[string]any { return kept[i]["spec"].(map[string]any) }
	require.True(t, sameMap(spec(1), spec(2)))
	require.True(t, sameMap(spec(2), spec(3)))
	require.False(t, sameMap(spec(0), spec(1)))
	for _, a := range kept[2:] {
		for k := range a {
			for l := range kept[1] {
				if k == l {
					assert.Same(t, unsafe.StringData(k), unsafe.StringData(l), "a name is in one memory")
				}
			}
		}
	}
	require.Greater(t, in.pool.Stats().Found, uint64(1))
}

// Elements of lists are compared with what was in their position.
func TestTextsAreKeptByPosition(t *testing.T) {
	in := newDynamic()
	var kept []map[string]any
	for i := range 3 {
		m, n := decode(t, in, fmt.Appendf(nil, `{"list":[{"a":"first"},{"a":"second"},{"b":["x","y"]},%d]}`, i))
		require.Equal(t, []int{11, 11, 3}[i], n)
		kept = append(kept, m)
	}
	runtime.KeepAlive(kept)
}

// What a text has become lives as long as the objects that have it.
func TestATextIsNotKnownWhenItsObjectsAreGone(t *testing.T) {
	in := newDynamic()
	raw := []byte(`{"spec":{"list":["one","two"]}}`)
	var kept []map[string]any
	for range 3 {
		m, _ := decode(t, in, raw)
		kept = append(kept, m)
	}
	_, n := decode(t, in, raw)
	require.Equal(t, 1, n)
	in.pool.collect()
	_, n = decode(t, in, raw)
	require.Equal(t, 1, n)
	runtime.KeepAlive(kept)
	clear(kept)
	in.pool.collect()
	require.Zero(t, in.pool.Stats().Parts)
	m, n := decode(t, in, raw)
	require.Equal(t, 5, n)
	require.Equal(t, map[string]any{"spec": map[string]any{"list": []any{"one", "two"}}}, m)
}

// The objects as a whole are shared when they are complete.
func TestObjectsAreSharedAsAWholeAtLast(t *testing.T) {
	in := newDynamic()
	raw := []byte(`{"spec":{"k":"value"},"status":"ready"}`)
	var kept []map[string]any
	for i := range 3 {
		m, _ := decode(t, in, raw)
		m["kind"] = "Widget"
		m = in.Whole(m)
		require.Equal(t, map[string]any{"kind": "Widget", "spec": map[string]any{"k": "value"}, "status": "ready"}, m)
		kept = append(kept, m)
		require.Equal(t, i == 2, sameMap(m, kept[min(i, 1)]) && i > 1)
	}
	// One place that does not repeat is left alone after some time.
	found := in.pool.Stats().Found
	for i := range 2 * window {
		in.Whole(map[string]any{"n": int64(i)})
	}
	require.Equal(t, found, in.pool.Stats().Found)
	missed := in.pool.Stats().Missed
	in.Whole(map[string]any{"n": int64(-1)})
	require.Equal(t, missed, in.pool.Stats().Missed)
	m := map[string]any{"n": int64(1)}
	typed := NewInterner(in.pool, reflect.TypeFor[*oneText]())
	require.True(t, sameMap(m, typed.Whole(m)), "of a type without fields of any kind")
}

func TestTextsAreBounded(t *testing.T) {
	in := newDynamic()
	base := in.pool.Stats().Bytes
	texts := func() int {
		return in.pool.Stats().Bytes - in.pool.Stats().Parts*(weakBytes+int(unsafe.Sizeof(entry{}))) - base
	}
	var kept []map[string]any
	most := 0
	for i := range 300 { // each is added to the pool at once, as it is large
		m, _ := decode(t, in, fmt.Appendf(nil, `{"some-%d":{"place-%d":"%d %s"}}`, i/100, i, i, strings.Repeat("x", 2000)))
		kept = append(kept, m)
		w := &in.workers[0]
		require.EqualValues(t, w.kept, in.pool.texts.Load(), "what is kept is counted")
		sum := 0
		for _, l := range w.locals {
			if l != nil {
				sum += len(l.kept) * keptBytes
				for _, k := range l.kept {
					sum += cap(k.text)
				}
			}
		}
		require.Equal(t, sum, w.kept)
		most = max(most, w.kept)
	}
	require.Greater(t, most, maxTexts/2)
	require.LessOrEqual(t, most, maxTexts+2*maxText)
	require.Positive(t, texts())

	// After all were forgotten, texts are kept again.
	for range 3 {
		m, _ := decode(t, in, []byte(`{"again":["a","b"]}`))
		kept = append(kept, m)
	}
	_, n := decode(t, in, []byte(`{"again":["a","b"]}`))
	require.Equal(t, 1, n)

	// A larger one is not kept, but found.
	large := fmt.Appendf(nil, `{"large":%q}`, strings.Repeat("y", maxText))
	before := in.pool.texts.Load()
	a, _ := decode(t, in, large)
	b, n := decode(t, in, large)
	require.Equal(t, 2, n)
	require.Equal(t, before, in.pool.texts.Load())
	require.Same(t, unsafe.StringData(a["large"].(string)), unsafe.StringData(b["large"].(string)))
	runtime.KeepAlive(kept)
}

// The text of the largest size is kept.
func TestTextsUpToAnExactSizeAreKept(t *testing.T) {
	for more, want := range []int{1, 2} {
		in := newDynamic()
		raw := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("y", maxText-2+more))
		m, _ := decode(t, in, raw)
		_, n := decode(t, in, raw)
		require.Equal(t, want, n)
		runtime.KeepAlive(m)
	}
}

// The pool, which may outlive them, does not count what interners kept that are gone.
func TestTextsOfAnInternerThatIsGoneAreNotCounted(t *testing.T) {
	pool := NewPool()
	func() {
		in := pool.Interner(reflect.TypeFor[*unstructured.Unstructured]())
		m, _ := decode(t, in, fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", worthAtOnce)))
		require.Greater(t, pool.texts.Load(), int64(worthAtOnce))
		runtime.KeepAlive(m)
	}()
	for pool.texts.Load() != 0 {
		runtime.GC()
	}
}

// In maps with very many keys there is one place for all fields, at all depths. A text
// that is fine at one depth could be too deep at another.
func TestNoTextsAreKeptOfPlacesThatAreNotLearned(t *testing.T) {
	in := newDynamic()
	var raw strings.Builder
	raw.WriteString(`{"data":{`)
	for i := range maxFields {
		fmt.Fprintf(&raw, `"key-%d":%d,`, i, i)
	}
	raw.WriteString(`"more":{"list":["one","two"]},"much-more":{"list":["one","two"]}}}`)
	var objects []map[string]any
	for range 4 {
		m, n := decode(t, in, []byte(strings.Replace(raw.String(), `"key-0":0`, fmt.Sprintf(`"key-0":%d`, len(objects)), 1)))
		require.Equal(t, 2+maxFields+2*4, n)
		var want map[string]any
		require.NoError(t, k8sjson.Unmarshal([]byte(raw.String()), &want))
		want["data"].(map[string]any)["key-0"] = int64(len(objects))
		require.Equal(t, want, m)
		objects = append(objects, m)
	}
	data := func(i int) map[string]any { return objects[i]["data"].(map[string]any) }
	require.True(t, sameMap(data(2)["more"].(map[string]any), data(3)["more"].(map[string]any)), "they are shared all the same")
	require.True(t, sameMap(data(3)["more"].(map[string]any), data(3)["much-more"].(map[string]any)))
	for k := range data(2) {
		for l := range data(3) {
			if k == l {
				require.Same(t, unsafe.StringData(k), unsafe.StringData(l), k)
			}
		}
	}
	for _, l := range in.workers[0].locals[in.fields.tree.rest.site.index:][:1] {
		require.Empty(t, l.kept)
	}
}

// A place where nothing repeats is left alone, and costs no text.
func TestPlacesThatNeverRepeatAreNotWorthSharing(t *testing.T) {
	in := newDynamic()
	for i := range 2 * window {
		decode(t, in, fmt.Appendf(nil, `{"uid":"unique-%d"}`, i))
	}
	st := in.pool.Stats()
	require.EqualValues(t, window, st.Missed)
	require.Zero(t, st.Found)
	require.Zero(t, in.pool.texts.Load())
	for _, f := range *in.fields.fields.Load() {
		l := in.workers[0].locals[f.schema.site.index]
		require.EqualValues(t, minPause-window, l.free+f.schema.site.skip.Load(), "each is one less to leave alone")
	}
}

// A place where most values are found by their text is one where they repeat.
func TestPlacesWhereTextsComeAgainAreWorthSharing(t *testing.T) {
	in := newDynamic()
	const each = 20
	var kept []map[string]any
	for i := range 2 * window * each / 2 { // two of each are not found
		m, _ := decode(t, in, fmt.Appendf(nil, `{"owner":"the-owner-of-some-objects-%d"}`, i/each))
		if i%each == 1 {
			kept = append(kept, m)
		}
	}
	require.EqualValues(t, 2*window, in.pool.Stats().Missed)
	runtime.KeepAlive(kept)
}

// What was kept of a place is released when that is left alone.
func TestNoTextsAreKeptOfPlacesThatAreLeftAlone(t *testing.T) {
	in := newDynamic()
	var kept []map[string]any
	for range 3 {
		m, _ := decode(t, in, []byte(`{"uid":"unique","other":"value"}`))
		kept = append(kept, m)
	}
	texts := in.pool.texts.Load()
	require.Positive(t, texts)
	for i := range 2 * window {
		decode(t, in, fmt.Appendf(nil, `{"uid":"unique-%d"}`, i))
	}
	require.Equal(t, texts-int64(keptBytes+len(`"unique"`)), in.pool.texts.Load())
	_, n := decode(t, in, []byte(`{"other":"value"}`))
	require.Equal(t, 1, n, "others are not")
	runtime.KeepAlive(kept)
}

func TestAGoroutineForWhichThereIsNoWorkerInternsLater(t *testing.T) {
	in := newDynamic()
	var busy []Decoding
	for range in.workers {
		d, root := in.Decode()
		require.False(t, root.Nowhere())
		busy = append(busy, d)
	}
	d, root := in.Decode()
	require.True(t, root.Nowhere())
	d.End()
	for _, d := range busy {
		d.End()
	}
	d, root = in.Decode()
	require.False(t, root.Nowhere())
	d.End()
	d, root = (*Interner)(nil).Decode()
	require.True(t, root.Nowhere())
	d.End()
	d, root = NewInterner(NewPool(), reflect.TypeFor[*oneText]()).Decode()
	require.True(t, root.Nowhere(), "of a type without fields of any kind")
	d.End()
}

// Objects whose parts are looked at too often are left alone, as in a walk.
func TestEndlessObjectsAreNotDecoded(t *testing.T) {
	in := newDynamic()
	in.visits = 10
	for i := range maxEndless {
		decode(t, in, fmt.Appendf(nil, `{"a":{"b":[[[[[[[[[[%d]]]]]]]]]%s]}}`, i, strings.Repeat(",1", 50)))
	}
	require.Zero(t, in.pool.Stats().Parts, "large parts are added at once, but not of such an object")
	_, root := in.Decode()
	require.True(t, root.Nowhere())
	m := map[string]any{"a": "value"}
	for range 3 {
		require.True(t, sameMap(m, in.Whole(m)))
	}
	require.EqualValues(t, maxEndless, in.endless.Load())
}

// Each goroutine decodes all objects, some of which are also walked.
func TestSeveralGoroutinesDecodeAtOnce(t *testing.T) {
	in := newDynamic()
	const n = 40
	var raws [n][]byte
	var want [n]map[string]any
	for i := range n {
		var err error
		raws[i], err = json.Marshal(population.Pod(i))
		require.NoError(t, err)
		require.NoError(t, k8sjson.Unmarshal(raws[i], &want[i]))
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			var kept []map[string]any
			for i := range n {
				d := decoder{t: t}
				var root Place
				if d.in, root = in.Decode(); root.Nowhere() {
					u := asUnstructured(t, population.Pod(i))
					in.Intern(unsafe.Pointer(u))
					kept = append(kept, u.Object)
					continue
				}
				m := d.parse(root, 0, raws[i]).(map[string]any)
				d.in.End()
				kept = append(kept, in.Whole(m))
				if i%10 == g {
					in.pool.Sweep()
					runtime.GC()
				}
			}
			for i := range kept {
				assert.Equal(t, want[i], kept[i])
			}
		})
	}
	group.Wait()
}
