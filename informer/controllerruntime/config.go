package controllerruntime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// defaultSyncPeriod is that of controller-runtime.
const defaultSyncPeriod = 10 * time.Hour

// configs says what is read of which kind. A kind has one [cache.Config] per namespace that
// is read by itself; the one with the key "" is for all others.
//
//	          is the kind in ByObject?
//	       no │                  │ yes
//	DefaultNamespaces      ByObject.Namespaces, or if nil DefaultNamespaces
//	          │                  │
//	    each: its own settings, then those of ByObject (the kind), then those of
//	          DefaultNamespaces (the namespace), then the Default… of all
//
// It does not change after newConfigs.
type configs struct {
	global     cache.Config
	namespaces map[string]cache.Config // DefaultNamespaces, as given
	objects    map[schema.GroupVersionKind]cache.ByObject
}

// newConfigs checks what would otherwise fail when the kind is first read.
func newConfigs(opts *cache.Options) (*configs, error) {
	c := &configs{
		global: cache.Config{
			LabelSelector:         opts.DefaultLabelSelector,
			FieldSelector:         opts.DefaultFieldSelector,
			Transform:             opts.DefaultTransform,
			UnsafeDisableDeepCopy: opts.DefaultUnsafeDisableDeepCopy,
			EnableWatchBookmarks:  opts.DefaultEnableWatchBookmarks,
			SyncPeriod:            opts.SyncPeriod,
		},
		namespaces: maps.Clone(opts.DefaultNamespaces),
		objects:    make(map[schema.GroupVersionKind]cache.ByObject, len(opts.ByObject)),
	}
	for obj, by := range opts.ByObject {
		if isNil(obj) {
			return nil, errors.New("controllerruntime: a key of ByObject is nil; use an empty object such as &corev1.Pod{}")
		}
		gvk, err := apiutil.GVKForObject(obj, opts.Scheme)
		if err != nil {
			return nil, fmt.Errorf("failed to get GVK for type %T: %w", obj, err)
		}
		mapping, err := opts.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("failed to determine if %T is namespaced: %w", obj, err)
		}
		if !isNamespaced(mapping) && by.Namespaces != nil {
			return nil, fmt.Errorf("type %T is not namespaced, but its ByObject.Namespaces setting is not nil", obj)
		}
		if _, twice := c.objects[gvk]; twice {
			return nil, fmt.Errorf("controllerruntime: two keys of ByObject are of the kind %v; which of them counts would be a matter of chance", gvk)
		}
		by.Namespaces = maps.Clone(by.Namespaces)
		c.objects[gvk] = by
		if err := checkConfigs(c.of(gvk, isNamespaced(mapping))); err != nil {
			return nil, fmt.Errorf("controllerruntime: ByObject, %T: %w", obj, err)
		}
	}
	for _, namespaced := range []bool{true, false} {
		if err := checkConfigs(c.of(schema.GroupVersionKind{}, namespaced)); err != nil {
			return nil, fmt.Errorf("controllerruntime: %w", err)
		}
	}
	return c, nil
}

// checkConfigs finds selectors that no request can express: the one that matches nothing
// prints as the one that matches everything.
func checkConfigs(all map[string]cache.Config) error {
	for namespace, c := range all {
		if c.LabelSelector != nil && !c.LabelSelector.Empty() && c.LabelSelector.String() == "" {
			return fmt.Errorf("the label selector for namespace %q matches nothing: kube-apiserver has no such selector, and would send everything", namespace)
		}
		if c.FieldSelector != nil && !c.FieldSelector.Empty() && c.FieldSelector.String() == "" {
			return fmt.Errorf("the field selector for namespace %q matches nothing: kube-apiserver has no such selector, and would send everything", namespace)
		}
		if p := c.SyncPeriod; p != nil && *p < 0 {
			return fmt.Errorf("SyncPeriod is %v; use 0 for none", *p)
		}
	}
	return nil
}

// of returns the configurations of a kind, by namespace. There is at least one.
func (c *configs) of(gvk schema.GroupVersionKind, namespaced bool) map[string]cache.Config {
	by, own := c.objects[gvk]
	kind := cache.Config{
		LabelSelector: by.Label, FieldSelector: by.Field, Transform: by.Transform,
		UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy, EnableWatchBookmarks: by.EnableWatchBookmarks, SyncPeriod: by.SyncPeriod,
	}
	namespaces := by.Namespaces
	// Not nil but empty means: all namespaces, whatever the default.
	if namespaces == nil && namespaced {
		namespaces = c.namespaces
	}
	if len(namespaces) == 0 || !namespaced {
		return map[string]cache.Config{"": orElse(kind, c.global)}
	}
	out := make(map[string]cache.Config, len(namespaces))
	for name, config := range namespaces {
		if own {
			config = orElse(config, kind)
			config = orElse(config, c.namespaces[name])
		}
		config = orElse(config, c.global)
		if name == cache.AllNamespaces {
			config.FieldSelector = outside(namespaces, config.FieldSelector)
		}
		out[name] = config
	}
	return out
}

// orElse returns c with what is not set taken from d.
func orElse(c, d cache.Config) cache.Config {
	if c.LabelSelector == nil {
		c.LabelSelector = d.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = d.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = d.Transform
	}
	if c.UnsafeDisableDeepCopy == nil {
		c.UnsafeDisableDeepCopy = d.UnsafeDisableDeepCopy
	}
	if c.EnableWatchBookmarks == nil {
		c.EnableWatchBookmarks = d.EnableWatchBookmarks
	}
	if c.SyncPeriod == nil {
		c.SyncPeriod = d.SyncPeriod
	}
	return c
}

// outside returns selector without the objects of the namespaces that have a
// configuration of their own: no object may be read twice.
func outside(namespaces map[string]cache.Config, selector fields.Selector) fields.Selector {
	var all []fields.Selector
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if name != cache.AllNamespaces {
			all = append(all, fields.OneTermNotEqualSelector("metadata.namespace", name))
		}
	}
	if selector != nil {
		all = append(all, selector)
	}
	return fields.AndSelectors(all...)
}

// onlyNamespace returns the one namespace that a selector allows, or "": it is then part
// of the path of the request, for which a Role is enough.
func onlyNamespace(selector fields.Selector) string {
	if selector == nil {
		return ""
	}
	namespace, _ := selector.RequiresExactMatch("metadata.namespace")
	return namespace
}

func isNamespaced(mapping *meta.RESTMapping) bool {
	return mapping.Scope.Name() != meta.RESTScopeNameRoot
}

// labelString and fieldString return the form of a selector in a request.
func labelString(s labels.Selector) string {
	if s == nil {
		return ""
	}
	return s.String()
}

func fieldString(s fields.Selector) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// isNil reports whether there is no object.
func isNil(obj client.Object) bool { return isNilPointer(obj) }
