package informertest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The examples of RFC 6902, appendix A, and what it leaves to be guessed.
func TestJSONPatchFollowsTheRFC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ doc, patch, want string }{
		"A.1 add a member":             {`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`},
		"A.2 add an element":           {`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		"A.3 remove a member":          {`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		"A.4 remove an element":        {`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		"A.5 replace":                  {`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		"A.6 move a value":             {`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		"A.7 move an element":          {`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		"A.8 test":                     {`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		"A.9 a test that fails":        {`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``},
		"A.10 add a nested object":     {`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		"A.11 ignore other members":    {`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"baz":"qux","foo":"bar"}`},
		"A.12 add to what is not":      {`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``},
		"A.14 escapes":                 {`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		"A.15 strings are not numbers": {`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``},
		"A.16 append":                  {`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		"add null":                     {`{}`, `[{"op":"add","path":"/a","value":null}]`, `{"a":null}`},
		"a value must be given":        {`{}`, `[{"op":"add","path":"/a"}]`, ``},
		"replace the document":         {`{"a":1}`, `[{"op":"replace","path":"","value":{"b":2}}]`, `{"b":2}`},
		"replace an element":           {`{"a":[1,2]}`, `[{"op":"replace","path":"/a/1","value":3}]`, `{"a":[1,3]}`},
		"replace what is not":          {`{"a":1}`, `[{"op":"replace","path":"/b","value":3}]`, ``},
		"remove from a list in a list": {`{"a":[[1,2],3]}`, `[{"op":"remove","path":"/a/0/0"}]`, `{"a":[[2],3]}`},
		"append is no index to read":   {`{"a":[1]}`, `[{"op":"remove","path":"/a/-"}]`, ``},
		"no leading zeros":             {`{"a":[1,2]}`, `[{"op":"remove","path":"/a/01"}]`, ``},
		"no signs":                     {`{"a":[1,2]}`, `[{"op":"remove","path":"/a/+1"}]`, ``},
		"one past the end":             {`{"a":[1]}`, `[{"op":"add","path":"/a/1","value":2}]`, `{"a":[1,2]}`},
		"two past the end":             {`{"a":[1]}`, `[{"op":"add","path":"/a/2","value":2}]`, ``},
		"copies are copies":            {`{"a":{"x":1}}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/b/x","value":2}]`, `{"a":{"x":1},"b":{"x":2}}`},
		"move into itself":             {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ``},
		"move onto itself":             {`{"a":1}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":1}`},
		"equal numbers":                {`{"a":1}`, `[{"op":"test","path":"/a","value":1.0}]`, `{"a":1}`},
		"equal objects":                {`{"a":{"b":[1],"c":null}}`, `[{"op":"test","path":"/a","value":{"c":null,"b":[1]}}]`, `{"a":{"b":[1],"c":null}}`},
		"a pointer without slash":      {`{"a":1}`, `[{"op":"remove","path":"a"}]`, ``},
		"a bad escape":                 {`{"~2":1}`, `[{"op":"remove","path":"/~2"}]`, ``},
		"an unknown operation":         {`{"a":1}`, `[{"op":"increment","path":"/a"}]`, ``},
		"from must be given":           {`{"a":1}`, `[{"op":"move","path":"/a"}]`, ``},
	} {
		var ops []patchOperation
		require.NoError(t, json.Unmarshal([]byte(c.patch), &ops), name)
		doc := map[string]any{}
		require.NoError(t, utiljson.Unmarshal([]byte(c.doc), &doc), name)
		got, err := applyPatch(doc, ops)
		if c.want == "" {
			assert.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		raw, err := json.Marshal(got)
		require.NoError(t, err, name)
		assert.JSONEq(t, c.want, string(raw), name)
	}
}

// The table of RFC 7386, appendix A, as far as it is about objects.
func TestMergePatchFollowsTheRFC(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		doc, patch := map[string]any{}, map[string]any{}
		require.NoError(t, utiljson.Unmarshal([]byte(c[0]), &doc))
		require.NoError(t, utiljson.Unmarshal([]byte(c[1]), &patch))
		raw, err := json.Marshal(mergePatch(doc, patch))
		require.NoError(t, err)
		assert.JSONEq(t, c[2], string(raw), "%s + %s", c[0], c[1])
	}
}

func TestPathsNameTheirParts(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]target{
		"/api":                             {root: "api"},
		"/api/v1/":                         {root: "api", version: "v1"},
		"/apis/apps":                       {root: "apis", group: "apps"},
		"/apis/apps/v1/deployments":        {root: "apis", group: "apps", version: "v1", resource: "deployments"},
		"/api/v1/namespaces":               {root: "api", version: "v1", resource: "namespaces"},
		"/api/v1/namespaces/a":             {root: "api", version: "v1", resource: "namespaces", name: "a"},
		"/api/v1/namespaces/a/status":      {root: "api", version: "v1", resource: "namespaces", name: "a", subresource: "status"},
		"/api/v1/namespaces/a/pods":        {root: "api", version: "v1", namespace: "a", resource: "pods"},
		"/api/v1/namespaces/a/pods/b":      {root: "api", version: "v1", namespace: "a", resource: "pods", name: "b"},
		"/api/v1/namespaces/a/pods/b/logs": {root: "api", version: "v1", namespace: "a", resource: "pods", name: "b", subresource: "logs"},
		"/api/v1/nodes/n":                  {root: "api", version: "v1", resource: "nodes", name: "n"},
	} {
		got, ok := parsePath(path)
		assert.True(t, ok, path)
		assert.Equal(t, want, got, path)
	}
	for _, path := range []string{"", "/", "/other", "api", "/api//v1", "/api/v1/nodes/n/s/more"} {
		_, ok := parsePath(path)
		assert.False(t, ok, path)
	}
}
