package informertest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// request is one to a server, and what the answer must be: its code and a part of its
// message, its warnings, or its body.
type request struct {
	line, body string // "PATCH:json /path"; a path without "/api" is one of the namespace default
	code       int
	says       string
}

// ask carries a request out and returns the code, the body and the warnings.
func ask(t *testing.T, server *informertest.Server, line, body string) (int, map[string]any, string) {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	method, media, _ := strings.Cut(method, ":")
	if !strings.HasPrefix(path, "/api") {
		path = "/api/v1/namespaces/default/" + path
	}
	types := map[string]string{"": "application/json", "yaml": "application/yaml", "apply": "application/apply-patch+yaml"}
	for _, patch := range []string{"json", "merge", "strategic"} {
		types[patch] = "application/" + strings.Replace(patch, "strategic", "strategic-merge", 1) + "-patch+json"
	}
	client, err := rest.HTTPClientFor(server.Config())
	require.NoError(t, err)
	req, err := http.NewRequest(method, server.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", types[media])
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	out := map[string]any{}
	_ = json.Unmarshal(raw, &out) // text is no object
	return res.StatusCode, out, strings.Join(res.Header.Values("Warning"), "\n")
}

// run carries requests out in order.
func run(t *testing.T, server *informertest.Server, requests []request) {
	t.Helper()
	for i, r := range requests {
		code, body, warnings := ask(t, server, r.line, r.body)
		text, err := json.Marshal(body)
		require.NoError(t, err)
		message, _, _ := unstructured.NestedString(body, "message")
		assert.Equal(t, r.code, code, "request %d: %s %s: %s", i, r.line, r.body, text)
		assert.Contains(t, message+"\n"+string(text)+"\n"+warnings, r.says, "request %d: %s %s", i, r.line, r.body)
	}
}

// Promise informer/informertest/5
func TestApplyingTheSameAgainChangesNothing(t *testing.T) {
	t.Parallel()
	workload := func(kind, container, more string) string {
		return `{"apiVersion":"apps/v1","kind":"` + kind + `","metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"` + container + `}]}}` + more + `}}`
	}
	for _, c := range [][2]string{
		{"deployments", workload("Deployment", ``, ``)},
		{"deployments", workload("Deployment", `,"resources":{"limits":{"cpu":"1000m","memory":"1024Mi"}}`, ``)},
		{"deployments", workload("Deployment", `,"resources":{"requests":{"cpu":1}}`, ``)},
		{"deployments", workload("Deployment", `,"env":[{"name":"A","value":""}]`, `,"replicas":null`)},
		{"deployments", workload("Deployment", `,"command":null,"args":[]`, `,"strategy":{}`)},
		{"statefulsets", workload("StatefulSet", ``, `,"serviceName":"x","volumeClaimTemplates":[{"metadata":{"name":"pvc"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true})
			apply := func() string {
				code, _, _ := ask(t, server, "PATCH:apply /apis/apps/v1/namespaces/default/"+c[0]+"/x?fieldManager=m", c[1])
				assert.Less(t, code, 300)
				time.Sleep(time.Hour)
				return server.ResourceVersion()
			}
			first := apply()
			assert.Equal(t, first, apply(), c[1])
		})
	}
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		apply := func() string {
			_, _, _ = ask(t, server, "PATCH:apply secrets/x?fieldManager=m", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"stringData":{"a":"1"}}`)
			time.Sleep(time.Hour)
			return server.ResourceVersion()
		}
		first := apply()
		assert.Equal(t, first, apply())
		obj, err := server.Get(schemaOf("", "secrets"), "default", "x")
		require.NoError(t, err)
		// A change is one, and its time is that of the change.
		_, _, _ = ask(t, server, "PATCH:apply secrets/x?fieldManager=m", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"stringData":{"a":"2"}}`)
		changed, err := server.Get(schemaOf("", "secrets"), "default", "x")
		require.NoError(t, err)
		assert.NotEqual(t, obj.GetResourceVersion(), changed.GetResourceVersion())
		assert.Equal(t, time.Now().Unix(), changed.GetManagedFields()[0].Time.Unix())
	})
}

// Promise informer/informertest/1
func TestPatchesSpeakTheDialectOfTheAPIServer(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	run(t, server, []request{
		{"POST configmaps", `{"metadata":{"name":"c","annotations":{"a":"1"},"finalizers":["x.test/a","x.test/b"]},"data":{"html":"a<b"}}`, 201, ""},
		{"PATCH:json configmaps/c", `[{"op":"test","path":"/metadata/annotations/b","value":null},{"op":"add","path":"/metadata/annotations/b","value":"me"}]`, 200, `"b":"me"`},
		{"PATCH:json configmaps/c", `[{"op":"test","path":"/metadata/annotations/a","value":"2"}]`, 422, "the server rejected our request due to an error in our request"},
		{"PATCH:json configmaps/c", `[{"op":"replace","path":"/metadata/annotations/no","value":"1"}]`, 200, `"no":"1"`},
		{"PATCH:json configmaps/c", `[{"op":"replace","path":"/metadata/finalizers/-1","value":"x.test/z"}]`, 200, `"x.test/z"`},
		{"PATCH:json configmaps/c", `[{"op":"remove","path":"/metadata/annotations/none"}]`, 422, ""},
		{"PATCH:json configmaps/c", `[{"op":"add","path":"/binaryData/x","value":"eA=="}]`, 422, ""},
		{"PATCH:json configmaps/c", `[{"op":"add","path":"/data/x","value":5}]`, 422, "cannot unmarshal number into Go struct field ConfigMap.data of type string"},
		{"PATCH:json configmaps/c?fieldValidation=Strict", `[{"op":"add","op":"add","path":"/data/q","value":"5"}]`, 422, `strict decoding error: json patch duplicate field "[0].op"`},
		{"PATCH:merge configmaps/c?fieldValidation=Strict", `{"data":{"b":"1"},"data":{"b":"2"},"dta":1}`, 422, `strict decoding error: duplicate field "data", unknown field "dta"`},
		{"PATCH:merge configmaps/c", `{"data":{"b":"1","b":"2"}}`, 200, `duplicate field \"data.b\"`},
		{"PATCH:strategic configmaps/c?fieldValidation=Strict", `{"data":{"b":"1"},"data":{"b":"2"}}`, 422, `duplicate field "data"`},
		{"PATCH:merge configmaps/c", `{"metadata":{"uid":"1"}}`, 422, `metadata.uid: Invalid value: "1": field is immutable`},
		{"PATCH:apply configmaps/c?fieldManager=m&fieldValidation=Strict", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"2","a":"3"}}`, 400, "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:"},
		{"PATCH:frob configmaps/c", `{}`, 415, "415: Unsupported Media Type"},
		{"POST:yaml configmaps?fieldValidation=Strict", "metadata: {name: d}\ndata: {a: b, a: c}\nfrob: 1\n", 400, `key "a" already set in map, unknown field "frob"`},
		{"POST configmaps", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}}`, 400, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"},
		{"POST configmaps", ``, 400, "(<empty>)"},
		{"DELETE configmaps/c", ``, 200, ""},
		{"POST configmaps", `{"metadata":{"name":"c"}}`, 409, `object is being deleted: configmaps "c" already exists`},
	})
}

func TestOwnerReferencesThatStandTwiceAreMergedWithAWarning(t *testing.T) {
	t.Parallel()
	const owner = `{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u"}`
	run(t, informertest.Start(t, informertest.Options{}), []request{
		{"POST configmaps", `{"metadata":{"name":"c","ownerReferences":[` + owner + `,` + owner + `]}}`, 201, `duplicate entries; API server dedups owner references in 1.20+`},
		{"GET configmaps/c", ``, 200, `"ownerReferences":[` + owner + `]`},
		{"PUT configmaps/c", `{"metadata":{"name":"c","ownerReferences":[` + owner + `,` + owner + `]},"data":{"a":"1"}}`, 200, `duplicate UID(s) observed: u`},
		{"PATCH:json configmaps/c", `[{"op":"add","path":"/metadata/ownerReferences/-","value":` + owner + `}]`, 200, `after mutating admission happens; API server dedups`},
		{"GET configmaps/c", ``, 200, `"ownerReferences":[` + owner + `]`},
	})
}

func TestApplyToScale(t *testing.T) {
	t.Parallel()
	const path = "/apis/apps/v1/namespaces/default/deployments/d/scale?fieldManager=m"
	run(t, informertest.Start(t, informertest.Options{}), []request{
		{"POST /apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, ""},
		{"PATCH:apply " + path, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":3}}`, 409, "Apply failed with 1 conflict"},
		{"PATCH:apply " + path + "&force=true", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":3}}`, 200, `"replicas":3`},
		{"PATCH:apply " + path, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":4}}`, 200, `"replicas":4`},
		{"PATCH:apply " + path, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":-1}}`, 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"GET /apis/apps/v1/namespaces/default/deployments/d", "", 200, `"subresource":"scale"`},
	})
}

// schemaOf is version v1 of a resource.
func schemaOf(group, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
}
