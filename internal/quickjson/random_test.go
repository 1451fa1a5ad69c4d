package quickjson

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// author writes random documents, most of whose values suit their keys.
type author struct{ *rand.Rand }

func (a author) pick(s ...string) string { return s[a.IntN(len(s))] }

func (a author) space() string {
	if a.IntN(20) > 0 {
		return ""
	}
	return a.pick(" ", "\n", "\t\r ")
}

func (a author) str() string {
	var s strings.Builder
	for range a.IntN(20) {
		s.WriteString(a.pick("a", "b", "Z", "0", " ", "/", "é", "\U0001f600", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "\xff"))
	}
	return `"` + s.String() + `"`
}

func (a author) members(open, last string, member func() string) string {
	s := open + a.space()
	for i := range a.IntN(4) {
		if i > 0 {
			s += "," + a.space()
		}
		s += member() + a.space()
	}
	return s + last
}

func (a author) array(elem func() string) string { return a.members("[", "]", elem) }

func (a author) object(value func(key string) string, keys ...string) string {
	return a.members("{", "}", func() string {
		key := a.pick(keys...)
		return `"` + key + `"` + a.space() + ":" + a.space() + value(key)
	})
}

// any writes any value.
func (a author) any(depth int) string {
	switch a.IntN(10 - min(depth, 3)) {
	case 0:
		return "null"
	case 1:
		return a.pick("true", "false")
	case 2, 3:
		return a.pick("0", "-0", "7", "-12", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "0.1e-7", "127", "70000")
	case 4, 5, 6:
		return a.str()
	case 7, 8:
		return a.object(func(string) string { return a.any(depth + 1) }, "a", "b", "name", "é")
	default:
		return a.array(func() string { return a.any(depth + 1) })
	}
}

// document writes an object with the fields of everything.
func (a author) document(depth int) string {
	return a.object(func(key string) string {
		if a.IntN(100) == 0 {
			return a.any(0)
		}
		if a.IntN(10) == 0 {
			return "null"
		}
		anything := func(string) string { return a.any(0) }
		switch key {
		case "metadata":
			return a.object(func(key string) string {
				switch key {
				case "labels", "annotations":
					return a.object(func(string) string { return a.str() }, "a", "b", "c")
				case "generation":
					return a.pick("1", "22")
				case "creationTimestamp", "deletionTimestamp":
					return a.pick(`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.5+02:00"`, "null")
				case "finalizers":
					return a.array(a.str)
				case "ownerReferences":
					return a.array(func() string { return `{"name":` + a.str() + `,"controller":` + a.pick("true", "null") + `}` })
				case "managedFields":
					return a.array(func() string { return `{"fieldsV1":` + a.object(anything, "f:a", "f:b") + `}` })
				}
				return a.str()
			}, "name", "namespace", "uid", "labels", "annotations", "generation", "creationTimestamp", "deletionTimestamp", "finalizers", "ownerReferences", "managedFields")
		case "Bool":
			return a.pick("true", "false")
		case "int", "int8", "uint16", "pointer":
			return a.pick("0", "1", "77")
		case "float", "float32":
			return a.pick("0", "1.5", "-2e3", "0.1")
		case "bytes":
			return a.pick(`""`, `"aGk="`, `"\u0061Gk="`)
		case "strings":
			return a.array(a.str)
		case "structs":
			return a.array(func() string {
				return a.object(func(string) string { return a.str() }, "name", "value", "odd")
			})
		case "pointers":
			return a.array(func() string { return a.pick("1", `"80%"`, "null") })
		case "map":
			return a.object(func(string) string { return a.str() }, "a", "b", "é")
		case "named":
			return a.object(func(string) string { return a.pick(`"100m"`, `"5Gi"`, "3") }, "cpu", "memory")
		case "secret":
			return a.object(func(string) string { return a.pick(`""`, `"aGk="`) }, "a", "b")
		case "anys":
			return a.object(anything, "a", "b")
		case "time", "micro":
			return a.pick(`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000006Z"`)
		case "quantity":
			return a.pick(`"5Gi"`, "1", `"100m"`)
		case "self":
			if depth > 2 {
				return "null"
			}
			return a.document(depth + 1)
		case "any", "raw", "unknown":
			return a.any(0)
		}
		return a.str()
	}, "kind", "apiVersion", "metadata", "string", "phase", "Bool", "int", "int8", "uint16", "float", "float32", "any", "pointer", "twice", "bytes",
		"strings", "structs", "pointers", "map", "named", "secret", "anys", "time", "micro", "quantity", "raw", "self", "unknown")
}

func TestRandomDocumentsAreTheSame(t *testing.T) {
	t.Parallel()
	const n = 20_000
	decoded, seed := 0, rand.Uint64()
	t.Log("seed", seed)
	for i := range uint64(n) {
		doc := []byte(author{rand.New(rand.NewPCG(seed, i))}.document(0))
		if same[everything](t, doc) {
			decoded++
		}
		same[map[string]any](t, doc)
		same[corev1.Pod](t, doc)
	}
	require.Greater(t, decoded, n*9/10, "few documents are as usual")
}
