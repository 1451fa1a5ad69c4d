package openapi

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fields splits a message into its length-delimited fields; numbers are skipped.
func fields(t *testing.T, message []byte) map[uint64][][]byte {
	out := map[uint64][][]byte{}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		require.Positive(t, n)
		message = message[n:]
		switch tag & 7 {
		case 0:
			_, n := binary.Uvarint(message)
			require.Positive(t, n)
			message = message[n:]
		case 1:
			message = message[8:]
		case 2:
			size, n := binary.Uvarint(message)
			require.Positive(t, n)
			require.LessOrEqual(t, size, uint64(len(message)-n))
			out[tag>>3] = append(out[tag>>3], message[n:n+int(size)])
			message = message[n+int(size):]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return out
}

// entry finds the value of a name in a list of pairs.
func entry(t *testing.T, pairs [][]byte, name string) []byte {
	for _, p := range pairs {
		if pair := fields(t, p); string(pair[1][0]) == name {
			return pair[2][0]
		}
	}
	t.Fatalf("%s is missing", name)
	return nil
}

func TestProtobufHoldsTheDocument(t *testing.T) {
	document := fields(t, ProtobufV2(decoded(t, V2(described, "v1.2.3"))))
	assert.Equal(t, "2.0", string(document[1][0]))
	assert.Equal(t, "v1.2.3", string(fields(t, document[2][0])[2][0]))

	definitions := fields(t, document[9][0])[1]
	deployment := fields(t, entry(t, definitions, "io.k8s.api.apps.v1.Deployment"))
	assert.Equal(t, "object", string(fields(t, deployment[22][0])[1][0]))
	kind := fields(t, entry(t, deployment[31], "x-kubernetes-group-version-kind"))
	assert.JSONEq(t, `[{"group":"apps","version":"v1","kind":"Deployment"}]`, string(kind[2][0]))
	spec := fields(t, entry(t, fields(t, deployment[25][0])[1], "spec"))
	assert.Equal(t, "#/definitions/io.k8s.api.apps.v1.DeploymentSpec", string(spec[1][0]))

	pod := fields(t, entry(t, definitions, "io.k8s.api.core.v1.PodSpec"))
	containers := fields(t, entry(t, fields(t, pod[25][0])[1], "containers"))
	items := fields(t, containers[23][0])[1][0]
	assert.Equal(t, "#/definitions/io.k8s.api.core.v1.Container", string(fields(t, items)[1][0]))
	selector := fields(t, entry(t, fields(t, pod[25][0])[1], "nodeSelector"))
	additional := fields(t, selector[21][0])[1][0]
	assert.Equal(t, "string", string(fields(t, fields(t, additional)[22][0])[1][0]))

	path := fields(t, entry(t, fields(t, document[8][0])[2], "/api/v1/nodes/{name}"))
	get := fields(t, path[2][0])
	response := fields(t, fields(t, entry(t, fields(t, get[9][0])[1], "200"))[1][0])
	assert.Equal(t, "OK", string(response[1][0]))
	schema := fields(t, fields(t, response[2][0])[1][0])
	assert.Equal(t, "#/definitions/io.k8s.api.core.v1.Node", string(schema[1][0]))
	patch := fields(t, path[8][0])
	query := fields(t, fields(t, fields(t, patch[8][0])[1][0])[2][0])[3][0]
	assert.Equal(t, "query", string(fields(t, query)[2][0]))
}

func TestProtobufLeavesOutWhatDoesNotFit(t *testing.T) {
	assert.NotPanics(t, func() {
		ProtobufV2(object{"swagger": 2, "info": "x", "paths": []any{"y"}, "definitions": object{
			"a": "not an object",
			"b": object{"type": []any{"string"}, "properties": "z", "required": object{}, "maximum": "1", "oneOf": []any{}, "x-a": func() {}},
		}})
	})
	schema := fields(t, newMessages().schema.append(nil, object{"oneOf": []any{object{}}, "nullable": true, "default": int64(3), "additionalProperties": true}))
	assert.Len(t, schema, 2)
	assert.Equal(t, "3", string(fields(t, schema[5][0])[2][0]))
}
