package defaults

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// parse is an object as clients send it.
func parse(t *testing.T, text string) object {
	out := object{}
	require.NoError(t, utiljson.Unmarshal([]byte(text), &out))
	return out
}

func TestRulesFillInWhatIsAbsentNullOrEmpty(t *testing.T) {
	rs := rules{
		{"a", 1}, {"b", "x"}, {"spec.c", object{"n": 2}}, {"list[].d", true},
		{"spec.e", func(o object) any { return o["f"] }},
	}
	o := parse(t, `{"b":"","spec":{"c":null,"f":"g"},"list":[{},{"d":false},"text"]}`)
	rs.apply(o)
	assert.Equal(t, parse(t, `{"a":1,"b":"x","spec":{"c":{"n":2},"e":"g","f":"g"},"list":[{"d":true},{"d":false},"text"]}`), o)
}

func TestRulesKeepWhatIsThere(t *testing.T) {
	rs := rules{{"a", 1}, {"b.c", 2}, {"d.e", 3}, {"f[].g", 4}, {"h", rules{{"i", 5}}}, {"j", edit(func(o object) { o["k"] = 6 })}}
	for _, text := range []string{
		`{"a":0,"b":"text","d":[1],"f":{"g":"x"},"h":7,"j":[]}`,
		`{"a":false,"b":null,"f":null}`,
	} {
		o := parse(t, text)
		rs.apply(o)
		assert.Equal(t, parse(t, text), o, "of another shape")
	}
}

func TestValuesOfTablesAreNotShared(t *testing.T) {
	rs := rules{{"a", object{"list": []any{object{}}}}}
	first, second := object{}, object{}
	rs.apply(first)
	rs.apply(second)
	first["a"].(object)["list"].([]any)[0].(object)["changed"] = true
	assert.Equal(t, object{"a": object{"list": []any{object{}}}}, second)
}

func TestApplyIsIdempotentAndLeavesJSON(t *testing.T) {
	for kind := range kinds {
		o := parse(t, `{
			"metadata": {"name": "a"},
			"spec": {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]}}, "containers": [{}], "ports": [{"port": 80}]},
			"ports": [{}], "webhooks": [{"clientConfig": {"service": {}}, "rules": [{}]}], "subjects": [{"kind": "User"}], "stringData": {"a": "b"}
		}`)
		Apply(kind, o)
		Created(kind, o)
		once := runtime.DeepCopyJSON(o) // panics if a value is not of JSON
		Apply(kind, o)
		assert.Equal(t, once, o, kind)
	}
}

func TestApplyToGarbageDoesNotPanic(t *testing.T) {
	for kind := range kinds {
		for _, text := range []string{
			`{}`, `{"spec":1,"data":2,"status":[],"webhooks":{},"subjects":"x","stringData":[]}`,
			`{"spec":{"template":"x","containers":[null,1,{"ports":"x","resources":[],"image":7}],"volumes":[3],"ports":[[]],"metrics":{}}}`,
			`{"spec":{"template":{"spec":{"containers":{"a":1}}},"strategy":"x","jobTemplate":[],"limits":[{"default":1,"max":"x"}]}}`,
		} {
			o := parse(t, text)
			assert.NotPanics(t, func() { Apply(kind, o); Created(kind, o) }, "%s %s", kind, text)
		}
	}
}

func TestDefaultsOfAFewKinds(t *testing.T) {
	deployment := parse(t, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a:latest"},{"name":"d","image":"a:v1"}]}}}}`)
	Apply(schema.GroupKind{Group: "apps", Kind: "Deployment"}, deployment)
	spec := deployment["spec"].(object)
	assert.EqualValues(t, 1, spec["replicas"])
	assert.Equal(t, object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": "25%", "maxUnavailable": "25%"}}, spec["strategy"])
	containers := spec["template"].(object)["spec"].(object)["containers"].([]any)
	assert.Equal(t, "Always", containers[0].(object)["imagePullPolicy"])
	assert.Equal(t, "IfNotPresent", containers[1].(object)["imagePullPolicy"])

	recreate := parse(t, `{"spec":{"strategy":{"type":"Recreate"}}}`)
	Apply(schema.GroupKind{Group: "apps", Kind: "Deployment"}, recreate)
	assert.NotContains(t, recreate["spec"].(object)["strategy"], "rollingUpdate")

	secret := parse(t, `{"data":{"a":"b2xk","c":"ZA=="},"stringData":{"a":"new"}}`)
	Apply(schema.GroupKind{Kind: "Secret"}, secret)
	assert.Equal(t, parse(t, `{"type":"Opaque","data":{"a":"bmV3","c":"ZA=="}}`), secret)
}
