package informertest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// store holds every collection behind one lock and one revision counter, as
// etcd does. The lock is never held while anything blocks.
type store struct {
	mu          sync.Mutex
	rv          uint64 // of the last write, to whatever collection
	history     int    // events kept per collection
	collections map[schema.GroupResource]*collection
	// aliases are the resources that show the objects of another one.
	aliases   map[schema.GroupResource]Resource
	ids       *identity
	addresses addresses
	// advanced is closed, and replaced, by each write to any collection.
	advanced chan struct{}
}

// newStore returns a store with no resources.
func newStore(opts Options) *store {
	return &store{
		rv:          1,
		history:     opts.HistoryLength,
		collections: map[schema.GroupResource]*collection{},
		aliases:     map[schema.GroupResource]Resource{},
		ids:         newIdentity(opts.Seed),
		advanced:    make(chan struct{}),
	}
}

// recordLocked gives a change, which carries the next revision, to history.
func (s *store) recordLocked(c *collection, ch change) {
	s.rv = ch.rv
	c.recordLocked(ch, s.history)
	close(s.advanced)
	s.advanced = make(chan struct{})
}

// orderedLocked returns the collections in the order of their names.
func (s *store) orderedLocked() []*collection {
	all := slices.Collect(maps.Values(s.collections))
	slices.SortFunc(all, func(a, b *collection) int {
		return cmp.Or(strings.Compare(a.res.Group, b.res.Group), strings.Compare(a.res.Plural, b.res.Plural))
	})
	return all
}

// register adds a collection, or changes the description of one that exists
// and keeps its objects.
func (s *store) register(res Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registerLocked(res)
}

// registerLocked adds a resource, or changes one and keeps its objects, as an update of
// a CustomResourceDefinition does. The caller holds s.mu.
func (s *store) registerLocked(res Resource) {
	if c, ok := s.collections[res.groupResource()]; ok {
		c.res = res
		return
	}
	if res.groupResource() == events {
		s.aliases[eventsAlias(res).groupResource()] = eventsAlias(res)
	}
	s.collections[res.groupResource()] = &collection{
		res:       res,
		items:     map[string]*version{},
		compacted: s.rv,
		changed:   make(chan struct{}),
		gone:      make(chan struct{}),
	}
}

// unregisterLocked deletes the objects of a collection, whatever holds them,
// then the collection. Its watches see the deletions and end.
func (s *store) unregisterLocked(gr schema.GroupResource) error {
	c, ok := s.collections[gr]
	if !ok {
		return nil
	}
	for _, v := range c.selectLocked(selectEverything()) {
		if err := s.removeLocked(c, v, writeOptions{}); err != nil {
			return err
		}
	}
	delete(s.collections, gr)
	close(c.gone)
	return nil
}

// lookup finds the collection that a resource of an API version names, and its
// present description.
func (s *store) lookup(group, version, resource string) (*collection, Resource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gr := schema.GroupResource{Group: group, Resource: resource}
	c, ok := s.collections[gr]
	if ok && c.res.serves(version) {
		return c, c.res, true
	}
	if alias, also := s.aliases[gr]; also && !ok && alias.serves(version) {
		return s.collections[alias.stored().groupResource()], alias, true
	}
	return nil, Resource{}, false
}

// serves reports whether a version of a group has any resource.
func (s *store) serves(group, version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		if c.res.Group == group && c.res.serves(version) {
			return true
		}
	}
	return group == "authorization.k8s.io" || group == "authentication.k8s.io" || group == "events.k8s.io"
}

// paths are what the server has at its root.
func (s *store) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []string{"/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}
	for _, c := range s.collections {
		for _, version := range c.res.Versions {
			if c.res.Group == "" {
				all = append(all, "/api/"+version)
			} else {
				all = append(all, "/apis/"+c.res.Group, "/apis/"+c.res.Group+"/"+version)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// resourceOf returns the present description of a collection.
func (s *store) resourceOf(c *collection) Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.res
}

// get returns the latest state of an object.
func (s *store) get(c *collection, namespace, name string) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := c.items[c.res.key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(c.res.groupResource(), name)
	}
	return v, nil
}

// revision returns the resourceVersion of the last write.
func (s *store) revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv
}

// compact forgets the history of all collections: lists at, and watches from,
// any version before the present one are answered with 410.
func (s *store) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		c.compactLocked(s.rv)
	}
}
