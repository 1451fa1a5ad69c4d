package informertest

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// accepted is one media range of an Accept header.
type accepted struct {
	media  string
	params map[string]string
	weight float64
}

// parseAccept reads an Accept header, most wanted first. Ranges that cannot be
// read are left out.
func parseAccept(header string) []accepted {
	var list []accepted
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(q, 64); err != nil || weight <= 0 {
				continue
			}
		}
		list = append(list, accepted{media, params, weight})
	}
	slices.SortStableFunc(list, func(a, b accepted) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	return list
}

// negotiate chooses the view that the Accept header asks for: whole objects,
// their metadata alone, or a table of them.
func negotiate(r *http.Request, res Resource, version string, types goTypes) (view, error) {
	vw := view{res: res, version: version, types: types}
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "" {
		return vw, nil
	}
	for _, a := range parseAccept(header) {
		switch a.media {
		case mediaJSON, "application/*", "*/*":
			vw.proto = false
		case mediaProtobuf:
			vw.proto = true
		default:
			continue
		}
		switch a.params["as"] {
		case "":
			if !vw.proto || types.canProto(res.gvk(version)) {
				return vw, nil
			}
		case "PartialObjectMetadata", "PartialObjectMetadataList":
			if a.params["g"] == metav1.GroupName && a.params["v"] == "v1" {
				vw.partial = true
				return vw, nil
			}
		case "Table":
			if a.params["g"] == metav1.GroupName && a.params["v"] == "v1" && !vw.proto && !res.question {
				vw.table, vw.include = true, r.URL.Query().Get("includeObject")
				return vw, nil
			}
		}
	}
	vw.proto = false
	return vw, errNotAcceptable(mediaJSON + ", " + mediaProtobuf)
}
