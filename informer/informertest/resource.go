package informertest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource describes a collection that the server serves: its names, its scope
// and the few traits of behaviour that differ between kinds. Common built-in
// resources (pods, replicasets, configmaps, ...) need not be described; more
// come through [Options].Resources, [Server.Register] or, as in a real cluster,
// by creating a CustomResourceDefinition.
type Resource struct {
	// Group is the API group, empty for the core group.
	Group string
	// Versions are the served versions, preferred first. All of them show the
	// same stored objects. At least one is needed.
	Versions []string
	// Kind is the singular camel-case name, such as "ReplicaSet". Required.
	Kind string
	// ListKind is the kind of a list; empty means Kind + "List".
	ListKind string
	// Plural is the lower-case name in URLs; empty means the lower-case kind
	// followed by "s".
	Plural string
	// Singular is the name shown by discovery; empty means the lower-case kind.
	Singular string
	// ShortNames and Categories are shown by discovery.
	ShortNames, Categories []string
	// ClusterScoped is set if the objects live outside namespaces.
	ClusterScoped bool
	// StatusSubresource separates status from the rest: the main endpoint
	// ignores changes of status, the status endpoint ignores all others.
	StatusSubresource bool
	// NoGeneration leaves metadata.generation unset, as for kinds without a
	// specification (configmaps, secrets).
	NoGeneration bool
	// SelectableFields are the paths, such as "spec.nodeName", that a field
	// selector may name besides metadata.name and metadata.namespace.
	SelectableFields []string
	// RequireResourceVersion refuses an update without a resourceVersion, as
	// the API server does for custom resources.
	RequireResourceVersion bool

	// storage is the resource whose objects this one shows in a form of its own;
	// nil for all but one of the built-in ones.
	storage  *Resource
	scale    *scalePaths                // of a custom resource that can be scaled
	question bool                       // the resource can only be created, and is not stored
	schemas  map[string]map[string]any  // of a custom resource, by version
	fields   *fieldTypes                // of a resource without an apply configuration
	columns  map[string][]printerColumn // of a custom resource, by version
}

// complete fills in the derived names and refuses what cannot be served.
func (r Resource) complete() (Resource, error) {
	if r.Kind == "" || len(r.Versions) == 0 {
		return r, fmt.Errorf("informertest: resource %q in group %q: give it a Kind and at least one version", r.Plural, r.Group)
	}
	for _, v := range r.Versions {
		if v == "" || strings.Contains(v, "/") {
			return r, fmt.Errorf("informertest: resource %s: version %q is not one path segment", r.Kind, v)
		}
	}
	if r.ListKind == "" {
		r.ListKind = r.Kind + "List"
	}
	if r.Singular == "" {
		r.Singular = strings.ToLower(r.Kind)
	}
	if r.Plural == "" {
		r.Plural = r.Singular + "s"
	}
	if strings.Contains(r.Plural, "/") {
		return r, fmt.Errorf("informertest: resource %s: plural name %q contains a slash", r.Kind, r.Plural)
	}
	return r, nil
}

// groupResource identifies the collection, whatever the version.
func (r Resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}
}

// gvk is the kind of an object as shown in one version.
func (r Resource) gvk(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: version, Kind: r.Kind}
}

// serves reports whether the collection is shown in the version.
func (r Resource) serves(version string) bool { return slices.Contains(r.Versions, version) }

// key is the identity of an object within the collection and the order of
// lists: bytewise on "namespace/name", like the keys in etcd.
func (r Resource) key(namespace, name string) string {
	if r.ClusterScoped {
		return name
	}
	return namespace + "/" + name
}
