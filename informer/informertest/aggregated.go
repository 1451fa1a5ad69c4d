package informertest

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The aggregated form of discovery: one document for all groups of a root, in
// place of one per group and version. Its types live in k8s.io/api, which this
// package does without.
type (
	groupDiscoveryList struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct{}         `json:"metadata"`
		Items           []groupDiscovery `json:"items"`
	}
	groupDiscovery struct {
		Metadata metav1.ObjectMeta  `json:"metadata"`
		Versions []versionDiscovery `json:"versions"`
	}
	versionDiscovery struct {
		Version   string              `json:"version"`
		Resources []resourceDiscovery `json:"resources"`
		Freshness string              `json:"freshness"`
	}
	resourceDiscovery struct {
		Resource         string                  `json:"resource"`
		ResponseKind     metav1.GroupVersionKind `json:"responseKind"`
		Scope            string                  `json:"scope"`
		SingularResource string                  `json:"singularResource"`
		Verbs            []string                `json:"verbs"`
		ShortNames       []string                `json:"shortNames,omitempty"`
		Categories       []string                `json:"categories,omitempty"`
		Subresources     []subresourceDiscovery  `json:"subresources,omitempty"`
	}
	subresourceDiscovery struct {
		Subresource  string                  `json:"subresource"`
		ResponseKind metav1.GroupVersionKind `json:"responseKind"`
		Verbs        []string                `json:"verbs"`
	}
)

// aggregatedVersions are the versions of the document that can be asked for.
var aggregatedVersions = map[string]bool{"v2": true, "v2beta1": true}

// wantsAggregated returns the version in which a request prefers the aggregated
// document to the plain one, or "".
func wantsAggregated(r *http.Request) string {
	for _, a := range parseAccept(strings.Join(r.Header.Values("Accept"), ",")) {
		if a.media != mediaJSON {
			continue
		}
		if a.params["as"] == "" {
			return ""
		}
		if a.params["as"] == "APIGroupDiscoveryList" && a.params["g"] == "apidiscovery.k8s.io" && aggregatedVersions[a.params["v"]] {
			return a.params["v"]
		}
	}
	return ""
}

// writeAggregated answers with the aggregated document of a root.
func writeAggregated(w http.ResponseWriter, all []Resource, core bool, version string) error {
	list := groupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/" + version},
		Items:    []groupDiscovery{},
	}
	groups := groupsOf(all)
	if core {
		groups = []metav1.APIGroup{{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "v1", Version: "v1"}}}}
	}
	for _, g := range groups {
		item := groupDiscovery{Metadata: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			item.Versions = append(item.Versions, versionDiscovery{
				Version: v.Version, Freshness: "Current", Resources: aggregatedResources(all, g.Name, v.Version),
			})
		}
		list.Items = append(list.Items, item)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaJSON+";g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList")
	_, _ = w.Write(body) // a client that has gone needs no answer
	return nil
}

// aggregatedResources describes the resources of one version of a group.
func aggregatedResources(all []Resource, group, version string) []resourceDiscovery {
	var out []resourceDiscovery
	for _, res := range all {
		if res.Group != group || !res.serves(version) {
			continue
		}
		kind := metav1.GroupVersionKind(res.gvk(version))
		d := resourceDiscovery{
			Resource: res.Plural, ResponseKind: kind, Scope: "Namespaced", SingularResource: res.Singular,
			Verbs: res.verbs(), ShortNames: res.ShortNames, Categories: res.Categories,
		}
		if res.ClusterScoped {
			d.Scope = "Cluster"
		}
		for _, sub := range subresources(res) {
			d.Subresources = append(d.Subresources, subresourceDiscovery{
				Subresource: sub.name, ResponseKind: metav1.GroupVersionKind(sub.shown(res, version)), Verbs: sub.verbs(),
			})
		}
		out = append(out, d)
	}
	return out
}
