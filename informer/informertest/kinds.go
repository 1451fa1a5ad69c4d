package informertest

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a collection, as described at one time, in one of its versions.
type kind struct {
	c       *collection
	res     Resource
	version string
}

// byKind finds the collection of a kind and the version to show it in. If gvk
// is empty, name must be the kind of exactly one resource.
func (s *store) byKind(gvk schema.GroupVersionKind, name string) (kind, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gr, alias := range s.aliases {
		if _, replaced := s.collections[gr]; !replaced && alias.Group == gvk.Group && alias.Kind == gvk.Kind && alias.serves(gvk.Version) {
			return kind{s.collections[alias.stored().groupResource()], alias, gvk.Version}, nil
		}
	}
	var found *collection
	for _, c := range s.collections {
		if gvk.Kind != "" {
			if c.res.Group == gvk.Group && c.res.Kind == gvk.Kind && c.res.serves(gvk.Version) {
				return kind{c, c.res, gvk.Version}, nil
			}
			continue
		}
		if c.res.Kind == name {
			if found != nil {
				return kind{}, fmt.Errorf("informertest: kind %s is in several groups; set apiVersion and kind on the object", name)
			}
			found = c
		}
	}
	if found == nil {
		return kind{}, fmt.Errorf("informertest: kind %v (Go type %s) is not served; use Register or create its CustomResourceDefinition", gvk, name)
	}
	return kind{found, found.res, found.res.Versions[0]}, nil
}

// goName is the name of the struct that obj points to.
func goName(obj runtime.Object) string { return reflect.Indirect(reflect.ValueOf(obj)).Type().Name() }

// clearValue sets what obj points to to its zero value, so that decoding into
// it leaves nothing of what was there.
func clearValue(obj runtime.Object) { reflect.ValueOf(obj).Elem().SetZero() }
