package informertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest/internal/openapi"
)

// openAPI answers for the documents that describe what the objects look like:
//
//	/openapi/v2                     one document for everything
//	/openapi/v3                     the list of the documents below
//	/openapi/v3/apis/GROUP/VERSION  one group and version
//
// They are made when they are asked for.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) error {
	all := s.resources()
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/openapi/v2" {
		return writeOpenAPIV2(w, r, openapi.V2(s.describe(all, nil), serverVersion().GitVersion))
	}
	if path == "/openapi/v3" {
		return s.openAPIIndex(w, all)
	}
	gv, ok := openAPIVersion(strings.TrimPrefix(path, "/openapi/v3/"))
	if !ok {
		return errUnknownPath()
	}
	kinds := s.describe(all, &gv)
	if len(kinds) == 0 {
		return errUnknownPath()
	}
	return writeJSON(w, http.StatusOK, openapi.V3(kinds, serverVersion().GitVersion))
}

// writeOpenAPIV2 sends the document for everything, in protobuf to a client that
// wants it so. The name of that media type is none by the rules of mime.
func writeOpenAPIV2(w http.ResponseWriter, r *http.Request, document map[string]any) error {
	if !strings.Contains(r.Header.Get("Accept"), "application/com.github.proto-openapi.spec.v2") {
		return writeJSON(w, http.StatusOK, document)
	}
	w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
	_, _ = w.Write(openapi.ProtobufV2(document)) // a client that has gone needs no answer
	return nil
}

// openAPIIndex lists the documents. The hash in an address changes with what is
// behind it, so that clients may keep documents.
func (s *Server) openAPIIndex(w http.ResponseWriter, all []Resource) error {
	type entry struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]entry{}
	for _, res := range all {
		for _, v := range res.Versions {
			path := "api/" + v
			if res.Group != "" {
				path = "apis/" + res.Group + "/" + v
			}
			gv := schema.GroupVersion{Group: res.Group, Version: v}
			if _, ok := paths[path]; !ok {
				paths[path] = entry{"/openapi/v3/" + path + "?hash=" + fingerprint(s.describe(all, &gv))}
			}
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"paths": paths})
}

// fingerprint is a hash of the kinds of a group.
func fingerprint(kinds []openapi.Kind) string {
	h := fnv.New64a()
	for _, k := range kinds {
		schema, _ := json.Marshal(k.Schema) // it came from JSON
		fmt.Fprintln(h, k.GVK, k.Plural, k.Namespaced, k.Type, string(schema))
	}
	return fmt.Sprintf("%016X", h.Sum64())
}

// openAPIVersion reads a path below /openapi/v3.
func openAPIVersion(path string) (schema.GroupVersion, bool) {
	switch parts := strings.Split(path, "/"); {
	case len(parts) == 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, true
	case len(parts) == 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
	}
	return schema.GroupVersion{}, false
}

// describe collects what is known about the kinds, of one version or all.
func (s *Server) describe(all []Resource, only *schema.GroupVersion) []openapi.Kind {
	var kinds []openapi.Kind
	for _, res := range all {
		for _, version := range res.Versions {
			gvk := res.gvk(version)
			if only != nil && *only != gvk.GroupVersion() {
				continue
			}
			kinds = append(kinds, openapi.Kind{
				GVK: gvk, Plural: res.Plural, Namespaced: !res.ClusterScoped,
				Type: s.types().describing(gvk), Schema: res.schemas[version],
			})
		}
	}
	return kinds
}
