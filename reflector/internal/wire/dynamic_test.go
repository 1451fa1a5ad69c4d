package wire

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"runtime"
	"strings"
	"testing"
	"unique"
	"unsafe"

	"github.com/stretchr/testify/require"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
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
		got, ok := p.parse(raw)
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
		_, err := unmarshalDynamic([]byte(text))
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
			_, ok := p.parse(objects[next%len(objects)])
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
			m, ok := p.parse([]byte(`{"` + name + `":"` + name + `"}`))
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
	_, ok := p.parse([]byte(`{"name":""}`))
	require.True(t, ok)
	before := p.names
	for i := range 4 * recentStrings {
		_, ok := p.parse(fmt.Appendf(nil, `{"name":"value-%d"}`, i))
		require.True(t, ok)
	}
	require.Equal(t, before, p.names)
}
