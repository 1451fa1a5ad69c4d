package openapi

import (
	"maps"
	"slices"
	"strings"
)

// ProtobufV2 is an OpenAPI 2 document as the protobuf message that gnostic defines,
// which some clients ask for. What that message has no field for is left out, except
// extensions ("x-...").
func ProtobufV2(document map[string]any) []byte { return newMessages().document.append(nil, document) }

// message describes how an object is written: the members that it may have, and the
// number of the field that takes its extensions, 0 if it takes none.
type message struct {
	members    map[string]member
	extensions int
}

// member is a field of a message and how a value is written into it.
type member struct {
	number int
	write  writer
}

// append appends the members of an object in the order of their names.
func (m *message) append(b []byte, o object) []byte {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if f, ok := m.members[name]; ok {
			b = f.write(b, f.number, o[name])
		} else if m.extensions != 0 && strings.HasPrefix(name, "x-") {
			b = appendBytes(b, m.extensions, pair(name, anyText(o[name])))
		}
	}
	return b
}

// messages are those of a document, as far as documents of this package need them.
type messages struct {
	schema, queryParameter, pathParameter, response, operation, path, document *message
}

// newMessages describes the messages. The numbers are those of OpenAPIv2.proto.
func newMessages() *messages {
	m := &messages{}
	info := &message{members: map[string]member{"title": {1, text}, "version": {2, text}}}
	m.schema = &message{extensions: 31}
	schema := one(m.schema)
	m.schema.members = map[string]member{
		"$ref": {1, text}, "format": {2, text}, "title": {3, text}, "description": {4, text}, "default": {5, arbitrary},
		"multipleOf": {6, double}, "maximum": {7, double}, "exclusiveMaximum": {8, boolean}, "minimum": {9, double}, "exclusiveMinimum": {10, boolean},
		"maxLength": {11, integer}, "minLength": {12, integer}, "pattern": {13, text}, "maxItems": {14, integer}, "minItems": {15, integer},
		"uniqueItems": {16, boolean}, "maxProperties": {17, integer}, "minProperties": {18, integer},
		"required": {19, each(text)}, "enum": {20, each(arbitrary)},
		"additionalProperties": {21, either(within(2, boolean), within(1, schema))},
		"type":                 {22, within(1, text)}, "items": {23, within(1, schema)}, "allOf": {24, each(schema)}, "properties": {25, entries(1, m.schema)},
	}
	m.queryParameter = &message{extensions: 23, members: map[string]member{
		"required": {1, boolean}, "in": {2, text}, "description": {3, text}, "name": {4, text}, "type": {6, text}, "uniqueItems": {20, boolean},
	}}
	m.pathParameter = &message{extensions: 22, members: map[string]member{
		"required": {1, boolean}, "in": {2, text}, "description": {3, text}, "name": {4, text}, "type": {5, text}, "uniqueItems": {19, boolean},
	}}
	m.response = &message{members: map[string]member{"description": {1, text}, "schema": {2, within(1, schema)}}}
	m.operation = &message{extensions: 13, members: map[string]member{
		"operationId": {5, text}, "parameters": {8, each(m.parameter)}, "responses": {9, m.responses},
	}}
	operation := one(m.operation)
	m.path = &message{members: map[string]member{
		"get": {2, operation}, "put": {3, operation}, "post": {4, operation}, "delete": {5, operation}, "patch": {8, operation},
		"parameters": {9, each(m.parameter)},
	}}
	m.document = &message{members: map[string]member{
		"swagger": {1, text}, "info": {2, one(info)}, "paths": {8, entries(2, m.path)}, "definitions": {9, entries(1, m.schema)},
	}}
	return m
}

// parameter writes a parameter within its three envelopes: an item that is no
// reference, which is a parameter not of the body, which is of the query or path.
func (m *messages) parameter(b []byte, number int, value any) []byte {
	kind, into := 3, m.queryParameter
	if o, ok := value.(object); ok && o["in"] == "path" {
		kind, into = 4, m.pathParameter
	}
	return within(1, within(2, within(kind, one(into))))(b, number, value)
}

// responses writes the responses of an operation, none of which is a reference.
func (m *messages) responses(b []byte, number int, value any) []byte {
	return entries(1, &message{members: map[string]member{"": {1, one(m.response)}}})(b, number, wrapped(value))
}

// wrapped puts each member of an object into an object of its own, for messages that
// choose between several kinds.
func wrapped(value any) object {
	out := object{}
	members, _ := value.(object)
	for name, v := range members {
		out[name] = object{"": v}
	}
	return out
}
