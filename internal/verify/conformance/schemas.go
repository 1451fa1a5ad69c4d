package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// structured is a version of a custom resource with what schemas can say.
func structured() object {
	text, number := object{"type": "string"}, object{"type": "integer"}
	return object{
		"subresources": object{"status": object{}},
		"additionalPrinterColumns": []any{
			object{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
			object{"name": "Ready", "type": "string", "jsonPath": `.status.conditions[?(@.type=="Ready")].status`},
			object{"name": "Ports", "type": "string", "jsonPath": ".spec.ports[*].name"},
			object{"name": "Colors", "type": "string", "jsonPath": ".spec.colors"},
			object{"name": "Since", "type": "date", "jsonPath": ".spec.since", "priority": 1},
			object{"name": "None", "type": "boolean", "jsonPath": ".spec.none"},
		},
		"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
			"spec": object{"type": "object", "properties": object{
				"size":  object{"type": "integer", "default": 3},
				"since": text,
				"ports": object{
					"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
					"items": object{"type": "object", "required": []any{"name"}, "properties": object{
						"name": text, "number": number, "protocol": object{"type": "string", "default": "TCP"},
					}},
				},
				"colors": object{"type": "array", "x-kubernetes-list-type": "set", "items": text},
				"plain":  object{"type": "array", "items": text},
				"nested": object{"type": "object", "default": object{}, "properties": object{"deep": object{"type": "string", "default": "x"}}},
				"labels": object{"type": "object", "additionalProperties": object{"type": "object", "properties": object{"value": text}}},
				"open":   object{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": object{"closed": object{"type": "object"}}},
				"inner":  object{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
			}},
			"status": object{"type": "object", "properties": object{
				"conditions": object{
					"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
					"items": object{"type": "object", "required": []any{"type"}, "properties": object{"type": text, "status": text}},
				},
			}},
		}}},
	}
}

// structuredAs is an object of that kind.
func structuredAs(group, name string, spec object) object {
	return object{"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": name}, "spec": spec}
}

var schemaTests = []test{
	{"FieldsThatASchemaDoesNotHaveAreDropped", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		made := structuredAs(group, "a", object{
			"size": 1, "unknown": "x", "plain": []any{"p"}, "ports": []any{object{"name": "a", "unknown": 1}},
			"labels": object{"l": object{"value": "v", "unknown": 1}},
			"open":   object{"kept": object{"unknown": 1}, "closed": object{"unknown": 1}},
			"inner":  object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "labels": object{"a": "b"}}, "spec": object{"kept": 1}},
		})
		made["other"] = object{}
		got := a.expect(http.StatusCreated, "POST", a.path("/apis/"+group+"/v1", "widgets", nil), made)
		assert.NotContains(a, got, "other")
		assert.Equal(a, object{
			"size": 1.0, "plain": []any{"p"}, "ports": []any{object{"name": "a", "protocol": "TCP"}},
			"labels": object{"l": object{"value": "v"}},
			"open":   object{"kept": object{"unknown": 1.0}, "closed": object{}},
			"inner":  object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "labels": object{"a": "b"}}, "spec": object{"kept": 1.0}},
			"nested": object{"deep": "x"},
		}, got["spec"])
		patched := a.expect(http.StatusOK, "PATCH", a.path("/apis/"+group+"/v1", "widgets", []string{"a"}), raw(`{"spec":{"unknown":1,"size":null}}`), mergePatch)
		assert.NotContains(a, patched["spec"], "unknown")
		assert.EqualValues(a, 3, value(patched, "spec", "size"), "a default takes the place of what was removed")
	}},
	{"UnknownFieldsAreReportedAsWanted", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		wrong := structuredAs(group, "a", object{"unknown": 1})
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", path+"?fieldValidation=Strict", wrong)
		got := a.do("POST", path+"?fieldValidation=Warn", wrong)
		require.Equal(a, http.StatusCreated, got.Code)
		assert.Equal(a, []string{`299 - "unknown field \"spec.unknown\""`}, got.Header.Values("Warning"))
		wrong["metadata"].(object)["name"] = "b"
		got = a.do("POST", path+"?fieldValidation=Ignore", wrong)
		require.Equal(a, http.StatusCreated, got.Code)
		assert.Empty(a, got.Header.Values("Warning"))
	}},
	{"ApplyMergesListsBySchema", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		path := a.path("/apis/"+group+"/v1", "widgets", []string{"a"})
		apply := func(code int, manager string, spec object) object {
			return a.expect(code, "PATCH", path+"?fieldManager="+manager, structuredAs(group, "a", spec), asApply)
		}
		port := func(name string, number int) object { return object{"name": name, "number": number} }
		apply(http.StatusCreated, "me", object{"ports": []any{port("a", 1), port("b", 2)}, "colors": []any{"red"}, "plain": []any{"p"}})
		got := apply(http.StatusOK, "you", object{"ports": []any{port("c", 3)}, "colors": []any{"blue"}})
		ports, _ := value(got, "spec", "ports").([]any)
		require.Len(a, ports, 3)
		assert.Equal(a, []any{"red", "blue"}, value(got, "spec", "colors"))
		assert.Equal(a, object{"f:spec": object{
			"f:ports":  object{`k:{"name":"c"}`: object{".": object{}, "f:name": object{}, "f:number": object{}}},
			"f:colors": object{`v:"blue"`: object{}},
		}}, fieldsOf(got, "you", "Apply"))
		got = apply(http.StatusOK, "me", object{"ports": []any{port("b", 2)}, "plain": []any{"q"}})
		assert.Equal(a, []any{"blue"}, value(got, "spec", "colors"))
		assert.Equal(a, []any{"q"}, value(got, "spec", "plain"))
		var names []any
		for _, p := range value(got, "spec", "ports").([]any) {
			names = append(names, p.(object)["name"])
		}
		assert.Equal(a, []any{"b", "c"}, names)
		status := a.refused(http.StatusConflict, metav1.StatusReasonConflict, "PATCH", path+"?fieldManager=you", structuredAs(group, "a", object{"ports": []any{port("b", 7)}}), asApply)
		assert.Equal(a, `.spec.ports[name="b"].number`, status.Details.Causes[0].Field)
	}},
	{"ApplyOfWhatTheSchemaDoesNotHaveIsRefused", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		path := a.path("/apis/"+group+"/v1", "widgets", []string{"a", "?fieldManager=me"})
		got := a.do("PATCH", path, structuredAs(group, "a", object{"unknown": 1}), asApply)
		assert.Equal(a, http.StatusInternalServerError, got.Code)
		assert.Contains(a, string(got.Raw), ".spec.unknown: field not declared in schema")
	}},
	{"UpdatesOfCustomResourcesAreNotedBySchema", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		got := a.expect(http.StatusCreated, "POST", a.path("/apis/"+group+"/v1", "widgets", nil)+"?fieldManager=me",
			structuredAs(group, "a", object{"ports": []any{object{"name": "a"}}, "colors": []any{"red"}, "plain": []any{"x"}}))
		assert.Equal(a, object{"f:spec": object{
			".":        object{},
			"f:size":   object{},
			"f:nested": object{".": object{}, "f:deep": object{}},
			"f:ports":  object{".": object{}, `k:{"name":"a"}`: object{".": object{}, "f:name": object{}, "f:protocol": object{}}},
			"f:colors": object{".": object{}, `v:"red"`: object{}},
			"f:plain":  object{},
		}}, fieldsOf(got, "me", "Update"))
	}},
	{"ConditionsOfDefinitionsAreApplied", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		condition := func(kind string) object {
			return object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": object{
				"conditions": []any{object{"type": kind, "status": "True", "reason": "Test", "message": "test", "lastTransitionTime": "2020-01-01T00:00:00Z"}},
			}}
		}
		path := crds + "/widgets." + group + "/status?fieldManager="
		a.expect(http.StatusOK, "PATCH", path+"me", condition("Mine"), asApply)
		got := a.expect(http.StatusOK, "PATCH", path+"you", condition("Yours"), asApply)
		kinds := map[any]bool{}
		for _, c := range value(got, "status", "conditions").([]any) {
			kinds[c.(object)["type"]] = true
		}
		assert.True(a, kinds["Mine"] && kinds["Yours"] && kinds["Established"], "%v", kinds)
	}},
	{"PrinterColumnsFollowTheirPaths", func(a *api) {
		group := a.defineAs("Namespaced", structured())
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		a.expect(http.StatusCreated, "POST", path, structuredAs(group, "a", object{
			"ports": []any{object{"name": "a"}, object{"name": "b"}}, "colors": []any{"red", "blue"}, "since": "2020-01-01T00:00:00Z",
		}))
		a.expect(http.StatusOK, "PATCH", path+"/a/status", raw(`{"status":{"conditions":[{"type":"Other","status":"False"},{"type":"Ready","status":"True"}]}}`), mergePatch)
		table := a.expect(http.StatusOK, "GET", path+"/a", nil, asTable)
		assert.Equal(a, []string{"Name", "Size", "Ready", "Ports", "Colors", "Since", "None"}, columns(table))
		cells, _ := table["rows"].([]any)[0].(object)["cells"].([]any)
		require.Len(a, cells, 7)
		assert.Equal(a, []any{"a", 3.0, "True", "a", `["red","blue"]`}, cells[:5])
		assert.Regexp(a, `^\d+y`, cells[5])
		assert.Nil(a, cells[6])
	}},
}
