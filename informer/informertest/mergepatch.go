package informertest

// mergePatch applies a JSON merge patch (RFC 7386) to an object: members of the
// patch replace those of the object, null removes them, objects are merged.
func mergePatch(doc any, patch map[string]any) map[string]any {
	target, ok := doc.(map[string]any)
	if !ok {
		target = map[string]any{}
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			target[name] = mergePatch(target[name], value)
		default:
			target[name] = value
		}
	}
	return target
}
