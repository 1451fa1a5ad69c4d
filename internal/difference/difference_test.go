package difference

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	obj, err := Decode([]byte(text))
	require.NoError(t, err)
	return obj
}

// row is the type of a program that sees a part of an element.
type row struct {
	Name string `json:"name"`
	Port int    `json:"port,omitempty"`
}

type table struct {
	Rows    []row             `json:"rows,omitempty"`
	ByName  map[string]row    `json:"byName,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Limits  limits            `json:"limits,omitzero"`
	TLS     *limits           `json:"tls,omitempty"`
	Timeout *metav1.Duration  `json:"timeout,omitempty"`
	Sets    []metav1.Duration `json:"sets,omitempty"`
	Nested  []struct {
		Rows []row `json:"rows"`
	} `json:"nested,omitempty"`
	*Embedded `json:",inline"`
}

type limits struct {
	CPU string `json:"cpu,omitempty"`
}

// Embedded is a pointer: its members belong to the outer object.
type Embedded struct {
	Inner limits `json:"inner,omitzero"`
}

// Live is the object on the server. Before is what a Transform has left of it, if that is less than the type shows.
func TestMerge(t *testing.T) {
	rows := map[string][]string{"rows": {"name"}, "*.rows": {"name"}, "nested.rows": {"name"}}
	for name, test := range map[string]struct {
		keys                      map[string][]string
		untyped                   bool
		live, before, after, want string // no want: an error
	}{
		"by key: reordered, removed, added and changed together": {
			keys: rows, live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2},{"name":"c","x":3}]}`,
			before: `{"rows":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, after: `{"rows":[{"name":"c","port":80},{"name":"n"},{"name":"a"}]}`,
			want: `{"rows":[{"name":"c","port":80,"x":3},{"name":"n"},{"name":"a","x":1}]}`,
		},
		"by key: elements that a Transform dropped stay behind their neighbors": {
			keys: rows, live: `{"rows":[{"name":"h"},{"name":"a"},{"name":"i","x":1},{"name":"b"}]}`,
			before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"b"},{"name":"n"}]}`,
			want: `{"rows":[{"name":"h"},{"name":"i","x":1},{"name":"b"},{"name":"n"}]}`,
		},
		"by key: a hidden element behind one that stays": {
			keys: rows, live: `{"rows":[{"name":"a"},{"name":"h","x":1},{"name":"b"}]}`,
			before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"b"},{"name":"a"}]}`,
			want: `{"rows":[{"name":"b"},{"name":"a"},{"name":"h","x":1}]}`,
		},
		"by key: an added element is hidden":    {keys: rows, live: `{"rows":[{"name":"h","x":1}]}`, before: `{}`, after: `{"rows":[{"name":"h","port":1}]}`, want: `{"rows":[{"name":"h","port":1,"x":1}]}`},
		"by key: emptied, and one is hidden":    {keys: rows, live: `{"rows":[{"name":"h"},{"name":"a"}]}`, before: `{"rows":[{"name":"a"}]}`, after: `{}`, want: `{"rows":[{"name":"h"}]}`},
		"by key: emptied":                       {keys: rows, live: `{"rows":[{"name":"a","x":1}]}`, before: `{"rows":[{"name":"a"}]}`, after: `{}`, want: `{}`},
		"by key: a duplicate, so by position":   {keys: rows, live: `{"rows":[{"name":"a","x":1},{"name":"a","port":2,"x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"a","port":2}]}`, after: `{"rows":[{"name":"a","port":2}]}`, want: `{"rows":[{"name":"a","port":2,"x":2}]}`},
		"a list in an element":                  {keys: rows, live: `{"nested":[{"rows":[{"name":"a","x":1},{"name":"b","x":2}],"y":1}]}`, before: `{"nested":[{"rows":[{"name":"a"},{"name":"b"}]}]}`, after: `{"nested":[{"rows":[{"name":"b"}]}]}`, want: `{"nested":[{"rows":[{"name":"b","x":2}],"y":1}]}`},
		"by position: changed":                  {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"a"},{"name":"z"}]}`, want: `{"rows":[{"name":"a","x":1},{"name":"z","x":2}]}`},
		"by position: two removed":              {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2},{"name":"c","x":3}]}`, before: `{"rows":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, after: `{"rows":[{"name":"b"}]}`, want: `{"rows":[{"name":"b","x":2}]}`},
		"by position: reordered":                {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"b"},{"name":"a"}]}`, want: `{"rows":[{"name":"b","x":2},{"name":"a","x":1}]}`},
		"by position: removed and inserted":     {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"b"},{"name":"c"}]}`, want: `{"rows":[{"name":"b","x":2},{"name":"c"}]}`},
		"by position: which one is it?":         {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"z"}]}`},
		"by position: reordered and changed":    {live: `{"rows":[{"name":"a","x":1},{"name":"b","x":2},{"name":"c"}]}`, before: `{"rows":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, after: `{"rows":[{"name":"c"},{"name":"b"},{"name":"z"}]}`},
		"by position: one of two equal ones":    {live: `{"rows":[{"name":"a","x":1},{"name":"a","x":2}]}`, before: `{"rows":[{"name":"a"},{"name":"a"}]}`, after: `{"rows":[{"name":"a"}]}`},
		"by position: a Transform dropped one":  {live: `{"rows":[{"name":"a"},{"name":"b","x":2}]}`, before: `{"rows":[{"name":"b"}]}`, after: `{"rows":[{"name":"c"}]}`},
		"by position: a Transform sorts":        {live: `{"rows":[{"name":"b","x":2},{"name":"a","x":1}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"a"},{"name":"c"}]}`},
		"by position: a Transform clears":       {live: `{"rows":[{"name":"a","port":1},{"name":"b","port":2}]}`, before: `{"rows":[{"name":""},{"name":"b"}]}`, after: `{"rows":[{"name":""},{"name":"c"}]}`, want: `{"rows":[{"name":"a","port":1},{"name":"c","port":2}]}`},
		"nothing is hidden, so any list is":     {live: `{"rows":[{"name":"a"},{"name":"b"}]}`, before: `{"rows":[{"name":"a"},{"name":"b"}]}`, after: `{"rows":[{"name":"z"}]}`, want: `{"rows":[{"name":"z"}]}`},
		"another notation is not hidden":        {live: `{"sets":["90s","60s"]}`, before: `{"sets":["1m30s","1m0s"]}`, after: `{"sets":["5s"]}`, want: `{"sets":["5s"]}`},
		"a struct that is zero is omitted":      {live: `{"limits":{"cpu":"1","x":1}}`, before: `{"limits":{"cpu":"1"}}`, after: `{}`, want: `{"limits":{"x":1}}`},
		"a struct of an embedded pointer":       {live: `{"inner":{"cpu":"1","x":1}}`, before: `{"inner":{"cpu":"1"}}`, after: `{}`, want: `{"inner":{"x":1}}`},
		"a struct without hidden parts":         {live: `{"limits":{"cpu":"1"}}`, before: `{"limits":{"cpu":"1"}}`, after: `{}`, want: `{}`},
		"a pointer that is nil is a removal":    {live: `{"tls":{"cpu":"1","x":1},"y":1}`, before: `{"tls":{"cpu":"1"}}`, after: `{}`, want: `{"y":1}`},
		"a member of a map is removed":          {live: `{"byName":{"a":{"name":"","x":1},"b":{"name":""}}}`, before: `{"byName":{"a":{"name":""},"b":{"name":""}}}`, after: `{"byName":{"b":{"name":""}}}`, want: `{"byName":{"b":{"name":""}}}`},
		"a map is emptied, and a part hidden":   {live: `{"labels":{"a":"1","h":"2"}}`, before: `{"labels":{"a":"1"}}`, after: `{}`, want: `{"labels":{"h":"2"}}`},
		"zero values for what is missing":       {live: `{"byName":{"a":{"x":1}}}`, before: `{"byName":{"a":{"name":""}}}`, after: `{"byName":{"a":{"name":"","port":1}}}`, want: `{"byName":{"a":{"port":1,"x":1}}}`},
		"numbers keep their text":               {untyped: true, live: `{"l":[9007199254740993,18446744073709551615],"f":1.50,"e":1e3}`, before: `{"l":[9007199254740993,18446744073709551615]}`, after: `{"l":[18446744073709551615,9007199254740994]}`, want: `{"l":[18446744073709551615,9007199254740994],"f":1.50,"e":1e3}`},
		"null is not missing":                   {untyped: true, live: `{"a":null,"b":{"c":null},"l":[null,{"x":null}]}`, before: `{"a":null,"b":{"c":null},"l":[null,{"x":null}]}`, after: `{"b":{"c":null,"d":null},"l":[{"x":null}]}`, want: `{"b":{"c":null,"d":null},"l":[{"x":null}]}`},
		"a missing null hides something":        {untyped: true, live: `{"a":true}`, before: `{"a":null}`, after: `{}`, want: `{"a":true}`},
		"a list becomes null":                   {untyped: true, live: `{"l":[1]}`, before: `{"l":[1]}`, after: `{"l":null}`, want: `{"l":null}`},
		"scalars: one hidden, one added":        {untyped: true, live: `{"l":["h","a"]}`, before: `{"l":["a"]}`, after: `{"l":["a","n"]}`, want: `{"l":["h","a","n"]}`},
		"scalars: the last visible one removed": {untyped: true, live: `{"l":["h","a"]}`, before: `{"l":["a"]}`, after: `{}`, want: `{"l":["h"]}`},
		"scalars: two are equal":                {untyped: true, live: `{"l":[1,1,2]}`, before: `{"l":[1,1,2]}`, after: `{"l":[1,2]}`, want: `{"l":[1,2]}`},
		"lists in lists":                        {untyped: true, live: `{"l":[[1],[2]]}`, before: `{"l":[[1],[2]]}`, after: `{"l":[[2]]}`, want: `{"l":[[2]]}`},
		"a map becomes a list":                  {untyped: true, live: `{"l":{"a":1}}`, before: `{"l":{"a":1}}`, after: `{"l":[1]}`, want: `{"l":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := Merger{Type: reflect.TypeFor[table](), ListMapKeys: test.keys}
			live, seen := values(t, test.live), values(t, test.live)
			if test.untyped {
				m.Type = reflect.TypeFor[map[string]any]()
			} else {
				var typed table
				require.NoError(t, json.Unmarshal([]byte(test.live), &typed))
				text, err := json.Marshal(typed)
				require.NoError(t, err)
				seen = values(t, string(text))
			}
			before, after := values(t, test.before), values(t, test.after)
			got, err := m.Merge(live, seen, before, after)
			assert.Equal(t, values(t, test.live), live, "it is not modified")
			if test.want == "" {
				require.ErrorContains(t, err, "the list rows cannot be matched")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, values(t, test.want), got)
		})
	}
}

func TestMergePatch(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{ // no want: it would lose something
		"nothing":                {`{"a":{"b":[1]}}`, `{"a":{"b":[1]}}`, `{}`},
		"set, changed, removed":  {`{"a":1,"b":{"c":"1","d":"2"}}`, `{"b":{"c":"9"},"e":{"f":{}}}`, `{"a":null,"b":{"c":"9","d":null},"e":{"f":{}}}`},
		"a number above 2^53":    {`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740992}`},
		"a directive in data":    {`{"data":{}}`, `{"data":{"$patch":"delete"}}`, `{"data":{"$patch":"delete"}}`},
		"a list":                 {`{"a":[1]}`, `{"a":[2]}`, ""},
		"a new list":             {`{}`, `{"a":{"b":[1]}}`, ""},
		"a list becomes another": {`{"a":[1]}`, `{"a":1}`, ""},
		"a map disappears":       {`{"a":{"b":1}}`, `{}`, ""},
		"a map becomes another":  {`{"a":{"b":1}}`, `{"a":1}`, ""},
		"null":                   {`{"a":1}`, `{"a":null}`, ""},
	} {
		got, ok := MergePatch(values(t, test.before), values(t, test.after))
		require.Equal(t, test.want != "", ok, name)
		if ok {
			assert.Equal(t, values(t, test.want), got, name)
		}
	}
}

// Hidden is the part of the object that the program does not see. The patch is applied to both, as the server does it.
func TestStrategicPatch(t *testing.T) {
	for name, test := range map[string]struct {
		of                          any
		whole, before, after, wants string // no wants: there is no patch
	}{
		"a finalizer": {corev1.ConfigMap{}, `{"metadata":{"finalizers":["h"],"x":1}}`, `{"metadata":{}}`, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":["a","h"],"x":1}}`},
		"the last visible finalizer": {
			corev1.ConfigMap{}, `{"metadata":{"finalizers":["h","a"],"annotations":{"a":"1","h":"2"}}}`, `{"metadata":{"finalizers":["a"],"annotations":{"a":"1"}}}`, `{"metadata":{}}`,
			`{"metadata":{"finalizers":["h"],"annotations":{"h":"2"}}}`,
		},
		"an owner": {
			corev1.ConfigMap{}, `{"metadata":{"ownerReferences":[{"uid":"h"},{"uid":"a","x":1}]}}`, `{"metadata":{"ownerReferences":[{"uid":"a"}]}}`, `{"metadata":{"ownerReferences":[{"uid":"a","controller":true},{"uid":"n"}]}}`,
			`{"metadata":{"ownerReferences":[{"uid":"h"},{"uid":"a","controller":true,"x":1},{"uid":"n"}]}}`,
		},
		"containers": {
			corev1.Pod{}, `{"spec":{"containers":[{"name":"a","image":"1","x":1},{"name":"b"}],"x":1}}`, `{"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"}]}}`,
			`{"spec":{"containers":[{"name":"c"},{"name":"a","image":"2","x":1}],"x":1}}`,
		},
		"a list with a directive in the data": {corev1.ConfigMap{}, ``, `{"metadata":{}}`, `{"metadata":{"finalizers":["a"]},"data":{"$patch":"delete"}}`, ""},
		"a list that is replaced":             {corev1.Pod{}, ``, `{"spec":{"containers":[{"name":"a","args":["1"]}]}}`, `{"spec":{"containers":[{"name":"a","args":["2"]}]}}`, ""},
		"a volume, which is replaced":         {corev1.Pod{}, ``, `{"spec":{"volumes":[{"name":"a"}]}}`, `{"spec":{"volumes":[{"name":"a","emptyDir":{}}]}}`, ""},
		"a strategy, which is replaced":       {appsv1.Deployment{}, ``, `{"metadata":{},"spec":{"strategy":{"type":"a"}}}`, `{"metadata":{"finalizers":["a"]},"spec":{"strategy":{"type":"b"}}}`, ""},
		"ports of one number":                 {corev1.Service{}, ``, `{"spec":{"ports":[{"port":1,"protocol":"TCP"}]}}`, `{"spec":{"ports":[{"port":1,"protocol":"UDP"}]}}`, ""},
		"two addresses of a type":             {corev1.Node{}, ``, `{"status":{"addresses":[{"type":"a","address":"1"},{"type":"a","address":"2"}]}}`, `{"status":{"addresses":[{"type":"a","address":"1"}]}}`, ""},
		"an element without its key":          {corev1.Pod{}, ``, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"image":"a"}]}}`, ""},
		"a kind that is not built in":         {table{}, ``, `{"metadata":{}}`, `{"metadata":{"finalizers":["a"]}}`, ""},
		"content without a Go type":           {appsv1.ControllerRevision{}, ``, `{"data":{"a":[1]}}`, `{"data":{"a":[2]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := values(t, test.before), values(t, test.after)
			patch := StrategicPatch(reflect.TypeOf(test.of), before, after)
			assert.Equal(t, []map[string]any{values(t, test.before), values(t, test.after)}, []map[string]any{before, after}, "they are not modified")
			if test.wants == "" {
				require.Nil(t, patch)
				return
			}
			text, err := json.Marshal(patch)
			require.NoError(t, err)
			got, err := strategicpatch.StrategicMergePatch([]byte(test.whole), text, test.of)
			require.NoError(t, err)
			assert.JSONEq(t, test.wants, string(got))
		})
	}
}
