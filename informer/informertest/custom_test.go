package informertest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/informertest"
)

// definition is that of gizmos.x.test, whose spec has the properties.
func definition(properties string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gizmos.x.test"},"spec":{"group":"x.test","scope":"Namespaced",
"names":{"kind":"Gizmo","listKind":"GizmoList","plural":"gizmos","singular":"gizmo"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"selectableFields":[{"jsonPath":".spec.color"}],"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","properties":` + properties + `},
"status":{"type":"object","properties":{"phase":{"type":"string","enum":["A","B"]}}}}}}}]}}`
}

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	gizmosPath  = "/apis/x.test/v1/namespaces/default/gizmos"
)

// gizmo is an object with a spec.
func gizmo(name, spec string) string {
	return `{"apiVersion":"x.test/v1","kind":"Gizmo","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// Promise informer/informertest/1
func TestCustomResourcesAreCheckedByTheirSchema(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	run(t, server, []request{
		{"POST " + definitions, definition(`{"size":{"type":"integer","minimum":1,"maximum":9,"multipleOf":1},"color":{"type":"string","enum":["red","blue"]},"name":{"type":"string","minLength":2,"maxLength":4,"pattern":"^a"},
"when":{"type":"string","format":"date-time"},"set":{"type":"array","maxItems":3,"items":{"type":"string"},"x-kubernetes-list-type":"set"},
"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}},
"free":{"type":"object","maxProperties":2,"additionalProperties":{"type":"integer"}},"port":{"x-kubernetes-int-or-string":true},
"one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}}`), 201, ""},
		{"POST " + gizmosPath, gizmo("g", `{"size":5,"color":"red","name":"ab","port":"http","set":["a"],"map":[{"k":"a"}],"free":{"a":1},"one":{"a":"x"}}`), 201, ""},
		{"POST " + gizmosPath, `{"apiVersion":"x.test/v1","kind":"Gizmo","metadata":{"name":"h"}}`, 422, `Gizmo.x.test "h" is invalid: spec: Required value`},
		{"POST " + gizmosPath, gizmo("h", `{"size":"5"}`), 422, `spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`},
		{"POST " + gizmosPath, gizmo("h", `{"size":0}`), 422, `spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`},
		{"POST " + gizmosPath, gizmo("h", `{"size":10}`), 422, `spec.size in body should be less than or equal to 9`},
		{"POST " + gizmosPath, gizmo("h", `{"color":"green"}`), 422, `spec.color: Unsupported value: "green": supported values: "red", "blue"`},
		{"POST " + gizmosPath, gizmo("h", `{"name":"a"}`), 422, `spec.name in body should be at least 2 chars long`},
		{"POST " + gizmosPath, gizmo("h", `{"name":"abcde"}`), 422, `spec.name: Too long: may not be more than 4`},
		{"POST " + gizmosPath, gizmo("h", `{"name":"bb"}`), 422, `spec.name in body should match '^a'`},
		{"POST " + gizmosPath, gizmo("h", `{"when":"now"}`), 422, `spec.when in body must be of type date-time: "now"`},
		{"POST " + gizmosPath, gizmo("h", `{"set":["a","b","a"]}`), 422, `spec.set[2]: Duplicate value: "a"`},
		{"POST " + gizmosPath, gizmo("h", `{"set":["a","b","c","d"]}`), 422, `spec.set: Too many: 4: must have at most 3 items`},
		{"POST " + gizmosPath, gizmo("h", `{"map":[{"k":"a"},{"k":"a","v":"x"}]}`), 422, `spec.map[1]: Duplicate value: {"k":"a"}`},
		{"POST " + gizmosPath, gizmo("h", `{"map":[{"v":"a"}]}`), 422, `spec.map[0].k: Required value`},
		{"POST " + gizmosPath, gizmo("h", `{"free":{"a":"x"}}`), 422, `spec.free.a: Invalid value: "string"`},
		{"POST " + gizmosPath, gizmo("h", `{"free":{"a":1,"b":2,"c":3}}`), 422, `spec.free: Too many: 3: must have at most 2`},
		{"POST " + gizmosPath, gizmo("h", `{"port":1.5}`), 422, `spec.port`},
		{"POST " + gizmosPath, gizmo("h", `{"one":{"a":"x","b":"y"}}`), 422, `spec.one`},
		{"PATCH:merge " + gizmosPath + "/g", `{"spec":{"size":99}}`, 422, "less than or equal to 9"},
		{"PATCH:apply " + gizmosPath + "/g?fieldManager=m&force=true", gizmo("g", `{"size":99}`), 422, "less than or equal to 9"},
		{"PATCH:apply " + gizmosPath + "/i?fieldManager=m", gizmo("i", `{"size":99}`), 422, "less than or equal to 9"},
		{"PATCH:merge " + gizmosPath + "/g/status", `{"status":{"phase":"C"}}`, 422, `status.phase: Unsupported value: "C": supported values: "A", "B"`},
		{"PATCH:merge " + gizmosPath + "/g/status", `{"status":{"phase":"B"}}`, 200, ""},
		{"GET " + gizmosPath + "?fieldSelector=spec.color%3Dred", ``, 200, `"name":"g"`},
		{"GET " + gizmosPath + "?fieldSelector=spec.size%3D5", ``, 400, `field label not supported: spec.size`},
	})
}

// Promise informer/informertest/1
func TestEmbeddedObjectsMetadataAndStatusOfCustomResources(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	run(t, server, []request{
		{"POST " + definitions, definition(`{"embedded":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}`), 201, ""},
		{"POST " + gizmosPath, gizmo("g", `{"embedded":{"a":1}}`), 422, `[spec.embedded.apiVersion: Required value, spec.embedded.kind: Required value]`},
		{"POST " + gizmosPath, gizmo("g", `{"embedded":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","frob":1}}}`), 201, `unknown field \"spec.embedded.metadata.frob\"`},
		{"PATCH:merge " + gizmosPath + "/g", `{"metadata":{"labels":{"a":1}}}`, 400, ""},
		{"PATCH:merge " + gizmosPath + "/g/status", `{"status":{"phase":1}}`, 422, `status.phase: Invalid value: "integer": phase in body must be of type string: "integer"`},
		{"PATCH:merge " + gizmosPath + "/g", `{"kind":"Frob"}`, 422, `Frob.x.test "g" is invalid: kind: Invalid value: "Frob": must be Gizmo`},
		{"POST " + definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.x.test"},"spec":{"group":"x.test","scope":"Namespaced","names":{"kind":"A","plural":"a"},"versions":[{"name":"v1","served":true,"storage":true}]}}`, 422, `spec.versions[0].schema.openAPIV3Schema: Required value`},
		{"POST " + definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.x.test"},"spec":{"group":"x.test","scope":"Namespaced","names":{"kind":"A","plural":"a"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"properties":{"a":{"type":"array","items":{}}}}}}}}]}}`, 422, `[spec.validation.openAPIV3Schema.properties[spec].properties[a].items.type: Required value: must not be empty for specified array items, spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields]`},
	})
}

func TestNullsDefaultsAndPruningOfCustomResources(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	run(t, server, []request{
		{"POST " + definitions, definition(`{"plain":{"type":"string"},"nullable":{"type":"string","nullable":true},"preset":{"type":"string","default":"hello"},"old":{"type":"string"},"map":{"type":"object","additionalProperties":{"type":"string"}}}`), 201, ""},
		{"POST " + gizmosPath, gizmo("g", `{"plain":null,"nullable":null,"preset":null,"old":"kept","map":{"x":null,"k":"z"}}`), 201, `"spec":{"map":{"k":"z"},"nullable":null,"old":"kept","preset":"hello"}`},
	})
	before, err := server.Get(schemaOf("x.test", "gizmos"), "default", "g")
	require.NoError(t, err)
	change := func(properties string) {
		t.Helper()
		_, body, _ := ask(t, server, "GET "+definitions+"/gizmos.x.test", "")
		rv, _ := body["metadata"].(map[string]any)["resourceVersion"].(string)
		next := definition(properties)
		run(t, server, []request{{"PUT " + definitions + "/gizmos.x.test", next[:len(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{`)] + `"resourceVersion":"` + rv + `",` + next[len(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{`):], 200, ""}})
	}
	change(`{"preset":{"type":"string","default":"hello"},"mode":{"type":"string","default":"auto"}}`)
	run(t, server, []request{
		{"GET " + gizmosPath + "/g", "", 200, `"spec":{"mode":"auto","preset":"hello"}`},
		{"GET " + gizmosPath, "", 200, `"spec":{"mode":"auto","preset":"hello"}`},
	})
	after, err := server.Get(schemaOf("x.test", "gizmos"), "default", "g")
	require.NoError(t, err)
	assert.Equal(t, before.GetResourceVersion(), after.GetResourceVersion(), "nothing was written")
	change(`{"old":{"type":"string"}}`)
	run(t, server, []request{{"GET " + gizmosPath + "/g", "", 200, `"spec":{"old":"kept"}`}})
}

func TestADefinitionIsDeletedWithItsObjects(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	held := `{"apiVersion":"x.test/v1","kind":"Gizmo","metadata":{"name":"g","finalizers":["x.test/cleanup"]},"spec":{}}`
	run(t, server, []request{
		{"POST " + definitions, definition(`{"color":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"}]}}`), 201, "informertest does not evaluate x-kubernetes-validations"},
		{"POST " + gizmosPath, held, 201, ""},
		{"POST " + gizmosPath, gizmo("free", `{}`), 201, ""},
		{"DELETE " + definitions + "/gizmos.x.test", "", 200, `"kind":"CustomResourceDefinition"`},
		{"GET " + definitions + "/gizmos.x.test", "", 200, `"customresourcecleanup.apiextensions.k8s.io"`},
		{"GET " + gizmosPath + "/free", "", 404, ""},
		{"GET " + gizmosPath + "/g", "", 200, `"deletionTimestamp"`},
		{"POST " + gizmosPath, gizmo("new", `{}`), 405, "create not allowed while custom resource definition is terminating"},
		{"PATCH:merge " + gizmosPath + "/g", `{"metadata":{"finalizers":null}}`, 200, ""},
		{"GET " + definitions + "/gizmos.x.test", "", 404, ""},
		{"GET " + gizmosPath, "", 404, ""},
		{"POST " + definitions, definition(`{}`), 201, ""},
		{"DELETE " + definitions + "/gizmos.x.test", "", 200, `"deletionTimestamp"`},
		{"GET " + definitions + "/gizmos.x.test", "", 404, ""},
	})
}
