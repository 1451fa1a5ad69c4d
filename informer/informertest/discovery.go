package informertest

import (
	"cmp"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// allVerbs are what can be done with resources that are stored.
var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// serverVersion is the release whose behaviour the server follows.
func serverVersion() apiversion.Info {
	return apiversion.Info{
		Major: "1", Minor: "36", GitVersion: "v1.36.0+informertest", GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// discovery answers for the documents that list what the server has.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request, t target) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errMethod()
	}
	all := s.resources()
	if root := t.group == "" && t.version == ""; root {
		if version := wantsAggregated(r); version != "" {
			return writeAggregated(w, all, t.root == "api", version)
		}
	}
	switch {
	case t.root == "api" && t.version == "":
		return writeJSON(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
			Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
				{ClientCIDR: "0.0.0.0/0", ServerAddress: s.address},
			},
		})
	case t.root == "apis" && t.group == "":
		return writeJSON(w, http.StatusOK, metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   groupsOf(all),
		})
	case t.version == "":
		for _, g := range groupsOf(all) {
			if g.Name == t.group {
				g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return writeJSON(w, http.StatusOK, g)
			}
		}
		return errUnknownPath()
	}
	list := resourceList(all, schema.GroupVersion{Group: t.group, Version: t.version})
	if len(list.APIResources) == 0 {
		return errUnknownPath()
	}
	return writeJSON(w, http.StatusOK, list)
}

// resources returns the descriptions of all that is served, by group and name.
func (s *Server) resources() []Resource {
	all := s.store.resources()
	for _, rv := range reviews {
		all = append(all, rv.res)
	}
	slices.SortStableFunc(all, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Plural, b.Plural))
	})
	return all
}

// verbs are what can be done with a resource.
func (r Resource) verbs() metav1.Verbs {
	if r.question {
		return questionVerbs
	}
	return allVerbs
}

// verbs are what can be done with a subresource.
func (s subresource) verbs() metav1.Verbs {
	return slices.Sorted(maps.Keys(s.serve))
}

// shown is the kind of a subresource of a resource in one version.
func (s subresource) shown(res Resource, version string) schema.GroupVersionKind {
	if s.kind.Empty() {
		return res.gvk(version)
	}
	return s.kind
}

// resources returns the descriptions of all collections, by group and name.
func (s *store) resources() []Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Resource
	for _, c := range s.orderedLocked() {
		all = append(all, c.res)
	}
	for gr, alias := range s.aliases {
		if _, replaced := s.collections[gr]; !replaced {
			all = append(all, alias)
		}
	}
	slices.SortStableFunc(all, func(a, b Resource) int { return strings.Compare(a.Group, b.Group) })
	return all
}

// groupsOf lists the named groups with their versions. The core group is not
// among them: it has a root of its own.
func groupsOf(all []Resource) []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, res := range all {
		if res.Group == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == res.Group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, metav1.APIGroup{Name: res.Group})
		}
		for _, v := range res.Versions {
			gv := metav1.GroupVersionForDiscovery{GroupVersion: res.Group + "/" + v, Version: v}
			if !slices.Contains(groups[i].Versions, gv) {
				groups[i].Versions = append(groups[i].Versions, gv)
			}
		}
		groups[i].PreferredVersion = groups[i].Versions[0]
	}
	return groups
}

// resourceList describes the resources of one version of a group.
func resourceList(all []Resource, gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, res := range all {
		if res.Group != gv.Group || !res.serves(gv.Version) {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: res.Plural, SingularName: res.Singular, Namespaced: !res.ClusterScoped, Kind: res.Kind,
			Verbs: res.verbs(), ShortNames: res.ShortNames, Categories: res.Categories,
		})
		for _, sub := range subresources(res) {
			entry := metav1.APIResource{
				Name: res.Plural + "/" + sub.name, Namespaced: !res.ClusterScoped, Kind: sub.shown(res, gv.Version).Kind, Verbs: sub.verbs(),
			}
			if !sub.kind.Empty() && sub.kind.GroupVersion() != gv {
				entry.Group, entry.Version = sub.kind.Group, sub.kind.Version
			}
			list.APIResources = append(list.APIResources, entry)
		}
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return list
}
