package reflector

import (
	"slices"
	"strings"
)

// StripManagedFields is a function for [Transform] that drops
// metadata.managedFields, the record of who has set which field: a good part of
// most objects, and of no use to most controllers.
//
//	lw = reflector.Transform(lw, reflector.StripManagedFields[*corev1.Pod])
func StripManagedFields[T Object](obj T) (T, error) {
	if obj.GetManagedFields() != nil {
		obj.SetManagedFields(nil)
	}
	return obj, nil
}

// KeepMetadata returns a function for [Transform] that drops all labels and
// annotations but those named, and the managed fields. A name that ends with
// "/" stands for all that begin with it.
func KeepMetadata[T Object](labels, annotations []string) func(T) (T, error) {
	return func(obj T) (T, error) {
		if kept, changed := keep(obj.GetLabels(), labels); changed {
			obj.SetLabels(kept)
		}
		if kept, changed := keep(obj.GetAnnotations(), annotations); changed {
			obj.SetAnnotations(kept)
		}
		return StripManagedFields(obj)
	}
}

// keep returns a new map, because a Go map does not shrink.
func keep(m map[string]string, names []string) (kept map[string]string, changed bool) {
	wanted := func(key string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return key == name || strings.HasSuffix(name, "/") && strings.HasPrefix(key, name)
		})
	}
	n := 0
	for k := range m {
		if wanted(k) {
			n++
		}
	}
	if n == len(m) {
		return m, false
	}
	if n > 0 {
		kept = make(map[string]string, n)
	}
	for k, v := range m {
		if wanted(k) {
			kept[k] = v
		}
	}
	return kept, true
}

// Chain returns a function for [Transform] that applies fns one after the other
// and ends at the first error.
func Chain[T Object](fns ...func(T) (T, error)) func(T) (T, error) {
	return func(obj T) (T, error) {
		for _, fn := range fns {
			var err error
			if obj, err = fn(obj); err != nil {
				return obj, err
			}
		}
		return obj, nil
	}
}
