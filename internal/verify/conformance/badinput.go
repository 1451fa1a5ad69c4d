package conformance

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var badInputTests = []test{
	{"GarbageIsABadRequest", func(a *api) {
		for _, body := range []raw{"", "{", "null", "[]", "1", `"text"`, "\x00\x01\x02", `{"metadata":1}`, `{"metadata":{"name":1}}`, `{"kind":1}`, `{"data":{"k":1}}`} {
			ans := a.do("POST", a.configmaps(), body)
			assert.Contains(a, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, ans.Code, "%q: %s", body, ans.Raw)
			assert.Equal(a, "Status", ans.Object["kind"], "%q", body)
		}
	}},
	{"ProtobufThatIsNoneIsABadRequest", func(a *api) {
		for _, body := range []raw{"{}", "k8s", "k8s\x00", "k8s\x00\xff\xff\xff", "k8s\x00\x0a\x10\x0a\x02v1\x12\x0aConfigMap2"} {
			a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", a.configmaps(), body, header{"Content-Type", "application/vnd.kubernetes.protobuf"})
		}
	}},
	{"AnUnknownContentTypeIsUnsupported", func(a *api) {
		for _, media := range []string{"text/plain", "application/xml", "application/merge-patch+json"} {
			a.refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "POST", a.configmaps(), configmap("a"), header{"Content-Type", media})
		}
		a.makeConfigmap("a")
		for _, media := range []string{"application/json", "text/plain"} {
			a.refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "PATCH", a.configmaps("a"), object{}, header{"Content-Type", media})
		}
	}},
	{"AnUnknownAcceptIsNotAcceptable", func(a *api) {
		a.refused(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "GET", a.configmaps(), nil, header{"Accept", "text/html"})
	}},
	{"AnUnknownVersionOrResourceIsNotFound", func(a *api) {
		for _, path := range []string{"/api/v2/namespaces/default/configmaps", "/apis/apps/v9/deployments", "/apis/none.test/v1/things", "/api/v1/things"} {
			ans := a.do("GET", path, nil)
			assert.Equal(a, http.StatusNotFound, ans.Code, "%s: %s", path, ans.Raw)
		}
	}},
	{"AnObjectOfAnotherVersionIsABadRequest", func(a *api) {
		cm := configmap("a")
		cm["apiVersion"] = "v2"
		a.refused(http.StatusBadRequest, metav1.StatusReasonBadRequest, "POST", a.configmaps(), cm)
	}},
	{"AHugeBodyIsTooLarge", func(a *api) {
		cm := configmap("a")
		cm["data"] = object{"k": strings.Repeat("x", 3<<20)}
		a.refused(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, "POST", a.configmaps(), cm)
	}},
	{"UnknownMethodsAreNotAllowed", func(a *api) {
		a.makeConfigmap("a")
		for method, path := range map[string]string{"PUT": a.configmaps(), "POST": a.configmaps("a"), "PATCH": a.configmaps()} {
			a.refused(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, method, path, configmap("a"))
		}
	}},
}
