package quickjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// everything has a field for each kind of plan.
type everything struct {
	metav1.TypeMeta `json:",inline"`
	Meta            metav1.ObjectMeta `json:"metadata"`
	String          string            `json:"string"`
	Phase           corev1.PodPhase   `json:"phase,omitempty"`
	Bool            bool
	Int             int                   `json:"int"`
	Int8            int8                  `json:"int8"`
	Uint16          uint16                `json:"uint16"`
	Float           float64               `json:"float"`
	Float32         float32               `json:"float32"`
	Any             any                   `json:"any"`
	Pointer         *int64                `json:"pointer"`
	Twice           **string              `json:"twice"`
	Bytes           []byte                `json:"bytes"`
	Strings         []string              `json:"strings"`
	Structs         []corev1.EnvVar       `json:"structs"`
	Pointers        []*intstr.IntOrString `json:"pointers"`
	Map             map[string]string     `json:"map"`
	Named           corev1.ResourceList   `json:"named"`
	Secret          map[string][]byte     `json:"secret"`
	Anys            map[string]any        `json:"anys"`
	Time            metav1.Time           `json:"time"`
	Micro           *metav1.MicroTime     `json:"micro"`
	Quantity        resource.Quantity     `json:"quantity"`
	Raw             json.RawMessage       `json:"raw"`
	Self            *everything           `json:"self"`
	Hidden          string                `json:"-"`
}

// same decodes data in both ways and compares the results, unless the quick one
// gives up. It reports whether it did not.
func same[T any](t *testing.T, data []byte) bool {
	var got, want T
	if !Unmarshal(data, &got) {
		return false
	}
	require.NoError(t, k8sjson.Unmarshal(data, &want), "%s", data)
	require.Equal(t, want, got, "%s", data)
	return true
}

// FuzzUnmarshal compares with the decoder of Kubernetes.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		`{"kind":"Pod","metadata":{"name":"a","labels":{"a":"b","c":null},"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"fieldsV1":{"f:a":{}}}]}}`,
		`{"string":"a\u00e9\n\"\\","phase":"é","Bool":true,"int":-12,"int8":127,"uint16":65535,"float":1e-7,"float32":0.1}`,
		`{"any":{"a":[1,-0,1.0,2e3,true,false,null,"x",{}]},"anys":{"b":12345678901234567890,"c":9007199254740993}}`,
		`{"pointer":3,"twice":"x","bytes":"aGk=","strings":["a",null,""],"structs":[{"name":"a"},{"value":"b"},{},null]}`,
		`{"pointers":[1,"80%",null],"map":{},"named":{"cpu":"100m","memory":1},"secret":{"a":"","b":null},"raw":{"a": [1]}}`,
		`{"time":null,"micro":"2026-01-02T03:04:05.000006Z","quantity":"5Gi","self":{"self":{"self":null}},"unknown":{"x":["\ud83d\ude00"]}}`,
		`{"string":"a","string":"b","metadata":{"name":"a"},"metadata":{"uid":"b"},"pointer":1,"pointer":2}`,
		" { \"int\" : 1 , \"strings\" : [ ] , \"map\" : { } , \"anys\" : null } \n", `null`, `[]`, `7`, `"x"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		same[everything](t, data)
		same[map[string]any](t, data)
		same[corev1.Pod](t, data)
		same[any](t, data)
	})
}

func TestIsTheSameForWhatIsUsual(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b","c":null},"creationTimestamp":"2026-01-02T03:04:05Z"}}`,
		`{"string":"a\u00e9\n\"\\","phase":"é","Bool":true,"int":-12,"int8":127,"uint16":65535,"float":1e-7,"float32":0.1}`,
		`{"any":{"a":[1,-0,1.0,2e3,true,false,null,"x",{}]},"anys":{"b":12345678901234567890,"c":9007199254740993}}`,
		`{"pointer":3,"twice":"x","bytes":"aGk=","strings":["a",null,""],"structs":[{"name":"a"},{"value":"b"},{},null]}`,
		`{"pointers":[1,"80%",null],"map":{},"named":{"cpu":"100m","memory":1},"secret":{"a":"","b":null},"raw":{"a": [1]}}`,
		`{"time":null,"micro":"2026-01-02T03:04:05.000006Z","quantity":"5Gi","self":{"self":{"self":null}},"unknown":{"x":["\ud83d\ude00"]}}`,
		`{"string":"a","string":"b","metadata":{"name":"a"},"metadata":{"uid":"b"}}`,
		`{"bool":true,"STRING":"x","Hidden":"x","-":"x"}`,
		"{\"string\":\"bad \xff utf-8\"}",
		" { \"int\" : 1 , \"strings\" : [ ] , \"map\" : { } , \"anys\" : null } \n", `null`,
	} {
		require.True(t, same[everything](t, []byte(s)), s)
		require.True(t, same[map[string]any](t, []byte(s)), s)
		require.True(t, same[any](t, []byte(s)), s)
	}
}

func TestStringsOfEveryLengthAndAlignment(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		for i := range n {
			for _, odd := range []string{"x", `\"`, `\\`, "é", `\u00e9`, "\x1f", "\x7f", " ", "~", "\x80", `"`} {
				s := strings.Repeat("a", i) + odd + strings.Repeat("b", n-i-1)
				data := []byte(`{"strings":["` + s + `"],"unknown":"` + s + `"}`)
				if !same[everything](t, data) {
					require.Contains(t, []string{"\x1f", `"`}, odd)
					require.Error(t, k8sjson.Unmarshal(data, &everything{}))
				}
			}
		}
	}
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		``, ` `, `{`, `{}{}`, `{} x`, `[`, `{"int":}`, `{"int":01}`, `{"int":1.5}`, `{"int":1e3}`, `{"int8":128}`, `{"uint16":-1}`,
		`{"int":"1"}`, `{"string":1}`, `{"string":"` + "\n" + `"}`, `{"string":"\x"}`, `{"string":"\u12g4"}`, `{"string":"a`, `{"string":"a\`,
		`{"Bool":1}`, `{"Bool":tru}`, `{"Bool":nul}`, `{"float":"1"}`, `{"float":1e999}`, `{"float":-}`, `{"float":1.}`, `{"float":1e}`,
		`{"strings":{}}`, `{"strings":["a",]}`, `{"strings":["a" "b"]}`, `{"map":[]}`, `{"map":{"a":1}}`, `{"map":{"a"}}`, `{"map":{"a":"b",}}`,
		`{"bytes":"?"}`, `{"time":"yesterday"}`, `{"time":1}`, `{"quantity":"x"}`, `{"structs":[1]}`, `{"named":{"cpu":"x"}}`,
		`{"unknown":[1,}`, `{"unknown":{"a" 1}}`, `{"unknown":tru}`, `{"unknown":"\uzzzz"}`, `{"any":{"a":1`, `{"any":[1`, `{"any":1e999}`,
		`{"pointer":1,"pointer":2}`, `{"strings":["a"],"strings":[]}`, `{"map":{},"map":{}}`, `{"any":1,"any":2}`, `{"str\u0069ng":"x"}`,
		`{"any":` + strings.Repeat("[", 100_000) + `}`, `{"unknown":` + strings.Repeat(`{"a":`, 100_000) + `}`,
		strings.Repeat(`{"self":`, 100_000),
	} {
		require.False(t, Unmarshal([]byte(s), &everything{}), "%.80s", s)
	}
	require.False(t, Unmarshal([]byte(`{}`), everything{}), "no pointer")
	require.False(t, Unmarshal([]byte(`{}`), (*everything)(nil)))
	require.False(t, Unmarshal([]byte(`{}`), nil))
}

type (
	embedded   struct{ A string }
	textual    string
	withOption struct {
		N int `json:",string"`
	}
	withPointer struct{ *embedded }
	withTwo     struct {
		metav1.TypeMeta
		Other string `json:"kind"`
	}
	withInterface  struct{ E error }
	withChannel    struct{ C []map[string]*chan int }
	withNumber     struct{ N json.Number }
	withTextKey    struct{ M map[textual]int }
	withText       struct{ T textual }
	withIntKey     struct{ M map[int]int }
	withArray      struct{ A [2]int }
	withUnexported struct{ embedded }
	withOddName    struct {
		A string `json:"a b"`
	}
	recursive struct {
		Next  *recursive
		Never chan int
	}
)

func (*textual) UnmarshalText([]byte) error { return nil }

func TestTypesThatNeedThinkingAboutHaveNoPlan(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&withOption{}, &withPointer{}, &withTwo{}, &withInterface{}, &withChannel{}, &withNumber{}, &withTextKey{},
		&withText{}, &withIntKey{}, &withArray{}, &withUnexported{}, &withOddName{}, &recursive{},
	} {
		for range 2 {
			require.False(t, Unmarshal([]byte(`{}`), v), "%T", v)
		}
	}
}

func TestTypesOfTheCoreAPIHavePlans(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		corev1.Pod{}, corev1.Node{}, corev1.Service{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.Event{}, corev1.Namespace{},
		corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}, corev1.ServiceAccount{}, metav1.PartialObjectMetadata{},
	} {
		require.NotNil(t, planOf(reflect.TypeOf(v)), "%T", v)
	}
}

func TestTheResultDoesNotAliasTheData(t *testing.T) {
	t.Parallel()
	text := `{"kind":"k","string":"s","any":["x",{"y":"z"}],"map":{"a":"b"},"raw":[1,2],"bytes":"aGk=","strings":["é"],"metadata":{"managedFields":[{"fieldsV1":{"a":1}}]}}`
	data := []byte(text)
	var got, want everything
	require.True(t, Unmarshal(data, &got))
	require.NoError(t, k8sjson.Unmarshal([]byte(text), &want))
	clear(data)
	require.Equal(t, want, got)
}

func TestRepeatedStringsAreShared(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxCached+1)
	data := fmt.Appendf(nil, `["short","short",%q,%q]`, long, long)
	var got []string
	require.True(t, Unmarshal(data, &got))
	require.Same(t, unsafe.StringData(got[0]), unsafe.StringData(got[1]))
	require.NotSame(t, unsafe.StringData(got[2]), unsafe.StringData(got[3]))
	require.Equal(t, []string{"short", "short", long, long}, got)
}

func TestManyGoroutinesMayDecodeAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				same[everything](t, fmt.Appendf(nil, `{"kind":"k%d","map":{"a%d":"b"},"any":{"c":[%d]}}`, i%3, i%7, i))
			}
		})
	}
	wg.Wait()
}

func BenchmarkUnmarshal(b *testing.B) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-7f9c6d5b8-x2x4v", Namespace: "shop", UID: "0b7f8a5c-4d3e-4f21-9c6b-000000000000", ResourceVersion: "12345",
			Labels: map[string]string{"app.kubernetes.io/name": "web", "tier": "frontend"}, CreationTimestamp: now,
			Annotations: map[string]string{"last-applied": `{"a":"b"}`},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{
			Name: "web", Image: "registry.example.com/shop/web:v1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		}},
	}
	data, err := json.Marshal(&pod)
	require.NoError(b, err)
	for name, decode := range map[string]func(data []byte, into any) bool{
		"quick":      Unmarshal,
		"kubernetes": func(data []byte, into any) bool { return k8sjson.Unmarshal(data, into) == nil },
	} {
		for kind, into := range map[string]func() any{
			"typed":        func() any { return &corev1.Pod{} },
			"unstructured": func() any { return new(map[string]any) },
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if !decode(data, into()) {
						b.Fatal("not decoded")
					}
				}
			})
		}
	}
	require.True(b, bytes.Contains(data, []byte(`\"`)))
}
