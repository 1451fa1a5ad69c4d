package wire

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/apijson"
)

// requireLikeAPIMachinery decodes a text into a value of typ twice: as this package does, and
// with apimachinery's decoder. The values are the same, or both fail.
func requireLikeAPIMachinery(t *testing.T, typ reflect.Type, raw []byte) {
	t.Helper()
	want, got := reflect.New(typ), reflect.New(typ)
	before := string(raw)
	wantErr := k8sjson.Unmarshal(raw, want.Interface())
	err := unmarshalJSON(got.Interface(), raw)
	require.Equal(t, before, string(raw), "the bytes are not written to")
	if wantErr != nil {
		require.Equal(t, wantErr, err, "%s: %q", typ, raw)
		return
	}
	require.NoError(t, err, "%s: %q", typ, raw)
	require.Equal(t, want.Interface(), got.Interface(), "%s: %q", typ, raw)
}

// scrambled changes a text here and there, so that values have other types, names come twice,
// and some of it is no JSON at all.
func scrambled(r *rand.Rand, raw []byte) []byte {
	raw = slices.Clone(raw)
	pieces := []string{`null`, `{}`, `[]`, `""`, `0`, `-1`, `1.5`, `1e3`, `99999999999999999999`, `true`, `"x"`, `"2026-01-01T00:00:00Z"`, `"5Gi"`, `[1,2]`, `{"a":1}`, "\"\xff\"", `"\ud800"`}
	for range 1 + r.IntN(3) {
		// Behind one of the colons.
		colons := []int{}
		for i, b := range raw {
			if b == ':' {
				colons = append(colons, i)
			}
		}
		if len(colons) == 0 {
			return raw
		}
		at := colons[r.IntN(len(colons))] + 1
		piece := pieces[r.IntN(len(pieces))]
		switch r.IntN(4) {
		case 0: // another value, and the old one once more
			name := strings.LastIndexByte(string(raw[:max(at-2, 0)]), '"')
			if name >= 0 {
				raw = slices.Insert(raw, at, []byte(piece+","+string(raw[name:at]))...)
			}
		case 1: // another value in the place of a short one
			end := at
			for end < len(raw) && !strings.ContainsRune(",}]{[", rune(raw[end])) {
				end++
			}
			if end > at {
				raw = slices.Replace(raw, at, end, []byte(piece)...)
			}
		case 2: // another case
			if i := at - 3; i >= 0 && raw[i] >= 'a' && raw[i] <= 'z' {
				raw[i] -= 'a' - 'A'
			}
		default:
			i := r.IntN(len(raw))
			raw = slices.Replace(raw, i, i+1, []byte(piece)...)
		}
	}
	return raw
}

func TestAllBuiltInKindsAreDecodedAsAPIMachineryDoes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, mathrand.NewSource(int64(seed)), serializer.NewCodecFactory(builtIn))
	rounds := 6
	if testing.Short() {
		rounds = 1
	}
	n, fallback := 0, map[string]bool{}
	for gvk, typ := range builtIn.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if !apijson.IsPlain(typ) {
			fallback[typ.String()] = true
		}
		for range rounds {
			obj := reflect.New(typ)
			fill.Fill(obj.Interface())
			raw, err := json.Marshal(obj.Interface())
			if err != nil {
				continue // such as a quantity that is none
			}
			requireLikeAPIMachinery(t, typ, raw)
			for range 3 {
				requireLikeAPIMachinery(t, typ, scrambled(r, raw))
			}
			n++
		}
	}
	require.Greater(t, n, 300)
	require.Empty(t, fallback)
}

// oddTags is a type of a user with all that tags can say.
type oddTags struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	*EmbeddedPointer
	Deep         EmbeddedNamed `json:"deep"`
	EmbeddedTag  `json:"tagged"`
	Named        EmbeddedNamed     `json:",inline"`
	OmitZero     metav1.Time       `json:"omitZero,omitzero"`
	Micro        *metav1.MicroTime `json:"micro,omitempty"`
	Text         int64             `json:"text,string"`
	TextBool     *bool             `json:"textBool,omitempty,string"`
	Skipped      string            `json:"-"`
	NoTag        string
	Space        string               `json:"a b"`
	Dotted       string               `json:"a.b/c-d$"`
	private      string               //nolint:unused // decoders leave it alone
	Bytes        []byte               `json:"bytes"`
	Array        [2]int               `json:"array"`
	ByteArray    [3]byte              `json:"byteArray"`
	Ints         map[int]string       `json:"ints"`
	Pointers     []*string            `json:"pointers"`
	Floats       map[string]float32   `json:"floats"`
	Small        int8                 `json:"small"`
	Unsigned     *uint16              `json:"unsigned"`
	Quantity     resource.Quantity    `json:"quantity"`
	Quantities   corev1.ResourceList  `json:"quantities"`
	Port         intstr.IntOrString   `json:"port"`
	Raw          runtime.RawExtension `json:"raw"`
	RawJSON      json.RawMessage      `json:"rawJSON"`
	RawPointer   *json.RawMessage     `json:"rawPointer"`
	Fields       *metav1.FieldsV1     `json:"fields"`
	Duration     time.Duration        `json:"duration"`
	MetaDuration metav1.Duration      `json:"metaDuration"`
	Time         time.Time            `json:"time"`
	Self         *oddTags             `json:"self"`
	Twice        string               `json:"twice"`
	OfText       textual              `json:"ofText"`
	TextKeys     map[textual]int      `json:"textKeys"`
	OfMethod     *methodical          `json:"ofMethod"`
}

// EmbeddedPointer, EmbeddedNamed and EmbeddedTag are embedded with and without a pointer or a name.
type EmbeddedPointer struct {
	FromPointer string `json:"fromPointer"`
	Twice       int    `json:"twice"`
	*EmbeddedDeeper
}

type EmbeddedDeeper struct{ Deeper []int }

type EmbeddedNamed struct {
	Inner string `json:"inner"`
}

type EmbeddedTag struct {
	Other map[string][]string `json:"other"`
}

// textual has methods for texts.
type textual string

func (x *textual) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errTrouble
	}
	*x = textual("<" + string(b) + ">")
	return nil
}

// methodical decodes itself.
type methodical struct{ seen string }

func (m *methodical) UnmarshalJSON(b []byte) error {
	if string(b) == `"bad"` {
		return errTrouble
	}
	m.seen = string(b)
	return nil
}

// withInterface has a place for anything, so that it is apimachinery's decoder that counts.
type withInterface struct {
	metav1.ObjectMeta `json:"metadata"`
	Any               any            `json:"any"`
	Values            map[string]any `json:"values"`
}

// otherTags has options that only json/v2 knows.
type otherTags struct {
	Embed   map[string]string `json:",embed"`
	Unknown string            `json:"unknownOption,foo"` //nolint:staticcheck // on purpose
	Number  json.Number       `json:"number"`
	Dash    string            `json:"-,"` //nolint:staticcheck // on purpose
	Case    string            `json:"case,case:ignore"`
	Time    time.Time         `json:"time,format:DateOnly"`
}

// promoted has the method of what it embeds.
type promoted struct {
	metav1.Time
	Name string `json:"name"`
}

// wrapsMethod embeds, by name, a type with a method.
type wrapsMethod struct {
	metav1.Time `json:"time"`
	Name        string `json:"name"`
}

// ofTwoMethods embeds two types with methods, so that it has none.
type ofTwoMethods struct {
	metav1.Time
	methodical        //nolint:unused // for its method
	Name       string `json:"name"`
}

// privatePointer cannot be decoded into by any decoder.
type privatePointer struct {
	*hiddenPart
	Name string `json:"name"`
}

type hiddenPart struct{ Hidden string }

var oddTypes = []reflect.Type{
	reflect.TypeFor[oddTags](), reflect.TypeFor[withInterface](), reflect.TypeFor[otherTags](), reflect.TypeFor[promoted](),
	reflect.TypeFor[wrapsMethod](), reflect.TypeFor[ofTwoMethods](), reflect.TypeFor[privatePointer](),
	reflect.TypeFor[map[string]any](), reflect.TypeFor[schemaNode](),
	reflect.TypeFor[corev1.Pod](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[admissionregistrationv1.ValidatingAdmissionPolicy](),
	reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[metav1.Status](),
}

var oddTexts = []string{
	`null`, `{}`, `[]`, `""`, `7`, ` {} `, ``, `{`, `{} x`, `{"a":1,}`, `{"metadata":null}`,
	`{"metadata":{"name":"a","Name":"b","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b","a":"c"},"labels":{"d":"e"}}}`,
	`{"metadata":{"creationTimestamp":null,"labels":null,"finalizers":[],"ownerReferences":[{"uid":"a"}],"ownerReferences":[{"name":"b"}],"managedFields":[{"fieldsV1":{"f:a":{}}}]}}`,
	`{"metadata":{"creationTimestamp":"2026-01-01T00:00:00+25:00"}}`, `{"metadata":{"generation":9223372036854775808}}`, `{"metadata":{"generation":1.0}}`, `{"metadata":{"generation":1e2}}`, `{"metadata":{"generation":-0}}`, `{"metadata":{"generation":"1"}}`,
	`{"any":9223372036854775807,"values":{"a":9223372036854775808,"b":-0,"c":1.0,"d":1e400}}`, `{"any":[1,2.5,{"a":1}],"values":{"a":1,"b":-9223372036854775809}}`, `{"any":{"a":1},"any":{"b":2}}`,
	`{"fromPointer":"a","twice":"b","Deeper":[1,2],"tagged":{"other":{"a":["b"]}},"Named":{"inner":"x"},"inner":"y","deep":{"inner":"z"}}`,
	`{"text":"7","textBool":"true"}`, `{"text":7}`, `{"text":"x"}`, `{"text":"7 "}`, `{"text":null,"textBool":null}`, `{"text":"null"}`, `{"textBool":true}`, `{"text":""}`,
	`{"Skipped":"y","NoTag":"z","notag":"w","a b":"1","a.b/c-d$":"2","unknownOption":"3","private":"4"}`,
	`{"bytes":"aGk=","array":[1,2,3],"byteArray":[1,2,3]}`, `{"bytes":"aG\nk=","array":[1],"byteArray":"AQID"}`, `{"bytes":"!","array":[]}`, `{"bytes":[104,105]}`, `{"bytes":null,"array":null}`, `{"bytes":"aGk"}`, `{"bytes":"a-_="}`, `{"bytes":""}`,
	`{"ints":{"1":"a","-2":"b","01":"c"}}`, `{"ints":{"x":"a"}}`, `{"pointers":["a",null,"b"],"pointers":["c"]}`, `{"floats":{"a":1e39}}`, `{"floats":{"a":0.1,"b":3}}`, `{"small":128}`, `{"small":-128,"unsigned":65535}`, `{"unsigned":-1}`, `{"unsigned":null}`,
	`{"quantity":"5Gi","quantities":{"cpu":"100m","memory":7},"port":80}`, `{"quantity":"x"}`, `{"quantity":null,"port":"http"}`, `{"port":1.5}`, `{"port":99999999999}`, `{"port":null}`,
	`{"raw":{"a":[1, 2]},"rawJSON":{ "a" : 1 },"rawPointer":null,"number":1.50}`, `{"raw":null,"rawJSON":null,"number":"7"}`, `{"number":"x"}`, `{"number":null}`, `{"number":true}`, `{"number":""}`,
	`{"fields":{"f:x":{}},"duration":7,"metaDuration":"1h","time":"2026-01-01T00:00:00.123456789Z","micro":"2026-01-01T00:00:00.123456Z","omitZero":null}`,
	`{"duration":"1h"}`, `{"metaDuration":7}`, `{"time":"2026-01-01"}`, `{"time":""}`, `{"time":null,"metaDuration":null,"fields":null}`, `{"time":"2026-01-01T00:00:00,5Z"}`, `{"time":"2026-01-01T1:00:00Z"}`,
	`{"self":{"self":{"twice":"x"}},"self":{"twice":"y","NoTag":"z"}}`, `{"ofText":"a","textKeys":{"b":1,"c":2},"ofMethod":{"a":[1]}}`, `{"ofText":"bad"}`, `{"ofText":7}`, `{"ofText":null,"ofMethod":null}`, `{"textKeys":{"bad":1}}`, `{"ofMethod":"bad"}`, `{"ofMethod":[]}`,
	"{\"NoTag\":\"\xff\xc3\",\"\xff\":1,\"twice\":\"\\ud800\\u00e9\"}", `{"\u004eoTag":"x","NoTag":"y"}`, `{"NoTag":"\u0000"}`, "{\"NoTag\":\"\x01\"}",
	`{"embed":"x","x":"y","Embed":{"a":"b"},"unknownOption":"3","-":"x","case":"a","CASE":"b","time":"2026-01-01"}`, `"2026-01-01T00:00:00Z"`, `{"time":"2026-01-01T00:00:00Z","name":"a"}`, `{"Time":"2026-01-01T00:00:00Z","name":"a","methodical":1}`, `{"Hidden":"x"}`, `{"name":"x"}`,
	`{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}},"ports":[{"containerPort":80}]}],"containers":[{"image":"b"}],"terminationGracePeriodSeconds":30}}`,
	`{"spec":{"containers":{}}}`, `{"spec":null,"status":{"conditions":[null,{"type":"a"}]}}`, `{"details":{"causes":[{"reason":"a"}]},"code":410}`,
	`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
}

func TestOddTypesAreDecodedAsAPIMachineryDoes(t *testing.T) {
	t.Parallel()
	for _, typ := range oddTypes {
		for _, text := range oddTexts {
			requireLikeAPIMachinery(t, typ, []byte(text))
		}
	}
	require.True(t, apijson.IsPlain(reflect.TypeFor[oddTags]()))
	for _, typ := range []reflect.Type{reflect.TypeFor[withInterface](), reflect.TypeFor[otherTags](), reflect.TypeFor[[]map[string]withInterface](), reflect.TypeFor[struct{ X *otherTags }](), reflect.TypeFor[ofTwoMethods]()} {
		require.False(t, apijson.IsPlain(typ), typ)
	}
}

// FuzzLikeAPIMachinery compares all odd types, and the content of unstructured objects.
func FuzzLikeAPIMachinery(f *testing.F) {
	for i, text := range oddTexts {
		f.Add([]byte(text), uint64(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
		for _, text := range [][]byte{raw, scrambled(r, raw)} {
			for _, typ := range oddTypes {
				requireLikeAPIMachinery(t, typ, text)
			}
			checkDynamic(t, text)
		}
	})
}

// checkDynamic compares with apimachinery: the same texts are objects, and they are the same
// objects.
func checkDynamic(t *testing.T, raw []byte) {
	t.Helper()
	before := string(raw)
	var want map[string]any
	wantErr := k8sjson.Unmarshal(raw, &want)
	for range 2 { // also with strings that are known
		got, err := unmarshalDynamic(raw)
		require.Equal(t, wantErr, err, "%q", raw)
		if err == nil {
			require.Equal(t, want, got, "%q", raw)
		}
	}
	require.Equal(t, before, string(raw), "the bytes are not written to")
}

// dynamicTexts are those that have no field of a type.
var dynamicTexts = []string{
	`{}`, `{"a":{}}`, `{"a":[]}`, `{"a":[[],{}]}`, ` { "a" : 1 , "b" : [ true , false , null ] } `,
	`{"a":0,"b":-0,"c":12,"d":-7,"e":9223372036854775807,"f":9223372036854775808,"g":-9223372036854775809}`,
	`{"a":1.0,"b":1e3,"c":1E+3,"d":1.5e-7,"e":0.1,"f":1e400}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":+1}`,
	`{"a":"x","a":"y"}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":1,"a":null}`,
	`{"a":"\n\t\"\\\/\u00e9\ud83d\ude00\ud83d"}`, `{"\u0061":1,"a":2}`, `{"a":"\x"}`, `{"a":"\u12"}`, "{\"a\":\"\x01\"}",
	"{\"a\":\"é€😀\"}", "{\"a\":\"\xff\xc3\"}", "{\"\xff\":1}", `{"a":"`, `{"a":"\`, `{"a`, `{`, `{"a":1,}`, `{,}`, `{"a":[1,]}`, `{"a":[,]}`,
	`{"a" 1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`, `{"a":tru}`, `{"a":nulll}`, `{1:2}`, `[]`, `null`, `"a"`, ``, ` `, `{"a":1}` + "\x00",
	`{"":""}`, `{"a":"` + strings.Repeat("x", maxKnownLength) + `","b":"` + strings.Repeat("x", maxKnownLength+1) + `"}`,
}

func TestAnUnstructuredObjectIsWhatAPIMachineryMakesOfIt(t *testing.T) {
	t.Parallel()
	for _, text := range slices.Concat(dynamicTexts, oddTexts) {
		checkDynamic(t, []byte(text))
	}
	for i := range 2 * maxKnown / 100 { // more strings than are kept
		var b strings.Builder
		for j := range 100 {
			fmt.Fprintf(&b, `,"key-%d-%d":"value-%d"`, i, j, i*j)
		}
		checkDynamic(t, []byte(`{"data":{`+b.String()[1:]+`}}`))
	}
	raw, err := json.Marshal(busyPods(3))
	require.NoError(t, err)
	checkDynamic(t, raw)
}

// What is left for a pod are its maps and slices, and what differs between pods.
func TestAnUnstructuredPodTakesHalfTheAllocationsOfAPIMachinery(t *testing.T) {
	// Not parallel: it counts allocations.
	raw, err := json.Marshal(busyPods(1).Items[0])
	require.NoError(t, err)
	theirs := testing.AllocsPerRun(100, func() {
		var m map[string]any
		require.NoError(t, k8sjson.Unmarshal(raw, &m))
	})
	ours := testing.AllocsPerRun(100, func() {
		_, err := unmarshalDynamic(raw)
		require.NoError(t, err)
	})
	t.Logf("%v allocations instead of %v", ours, theirs)
	require.Less(t, 2*ours, theirs)
}
