package informertest

import "strings"

// target is what the path of a request names. Resource is empty for the
// discovery documents /api, /apis, /api/v1, /apis/GROUP and
// /apis/GROUP/VERSION.
type target struct {
	root        string // "api" or "apis"
	group       string
	version     string
	namespace   string
	resource    string
	name        string
	subresource string
}

// parsePath splits the path of an API request. It reports false for a path
// that is not one of the API's shapes:
//
//	/api/v1[/namespaces/NS]/RESOURCE[/NAME[/SUBRESOURCE]]
//	/apis/GROUP/VERSION[/namespaces/NS]/RESOURCE[/NAME[/SUBRESOURCE]]
func parsePath(path string) (target, bool) {
	if !strings.HasPrefix(path, "/") {
		return target{}, false
	}
	parts := strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for _, p := range parts {
		if p == "" {
			return target{}, false
		}
	}
	t := target{root: parts[0]}
	switch {
	case t.root == "api":
		parts = parts[1:]
	case t.root == "apis" && len(parts) == 1:
		return t, true
	case t.root == "apis":
		t.group, parts = parts[1], parts[2:]
	default:
		return target{}, false
	}
	if len(parts) == 0 {
		return t, true
	}
	t.version, parts = parts[0], parts[1:]
	// A namespace in front of a resource; "namespaces" alone, with a name or
	// with one of a namespace's own subresources, is the resource itself.
	if len(parts) >= 3 && parts[0] == "namespaces" && !namespaceSubresource(parts) {
		t.namespace, parts = parts[1], parts[2:]
	}
	// What follows a proxy is a path of the server behind it.
	if len(parts) > 3 && parts[2] == "proxy" {
		parts = parts[:3]
	}
	switch len(parts) {
	case 3:
		t.subresource = parts[2]
		fallthrough
	case 2:
		t.name = parts[1]
		fallthrough
	case 1:
		t.resource = parts[0]
		fallthrough
	case 0:
		return t, true
	}
	return target{}, false
}

// namespaceSubresource reports whether the segments name a subresource of a
// namespace rather than a resource within it.
func namespaceSubresource(parts []string) bool {
	return len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")
}

// objectsAt are the objects in the list at a path.
func objectsAt(o map[string]any, path ...string) []map[string]any {
	items, _ := at(o, path...).([]any)
	var out []map[string]any
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			out = append(out, inner)
		}
	}
	return out
}
