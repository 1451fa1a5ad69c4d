package clients

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// printed are objects of all kinds whose tables have columns of their own. NS stands
// for the namespace and begins the names of what is in none.
//
//go:embed testdata/printed.yaml
var printed string

// tableMedia is what kubectl get accepts.
const tableMedia = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// tables prints objects of all kinds.
func tables(t *testing.T, cfg *rest.Config, ns string) {
	client := kubernetes.NewForConfigOrDie(cfg).Discovery().RESTClient()
	serviceAccount(t, cfg, ns)
	paths := pathsOfKinds(t, cfg)
	for _, manifest := range strings.Split(strings.ReplaceAll(printed, "NS", ns), "\n---\n") {
		obj := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(manifest), &obj.Object), manifest)
		path, namespaced := paths(obj)
		require.NotEmpty(t, path, obj.GroupVersionKind())
		if namespaced {
			obj.SetNamespace(ns)
			path = strings.Replace(path, "{namespace}", ns, 1)
		}
		body, err := obj.MarshalJSON()
		require.NoError(t, err)
		created, err := client.Post().AbsPath(path).Body(body).SetHeader("Content-Type", "application/json").Do(t.Context()).Raw()
		require.NoError(t, err, "%s %s: %s", obj.GetKind(), obj.GetName(), created)
		if status := obj.Object["status"]; status != nil {
			require.NoError(t, obj.UnmarshalJSON(created))
			obj.Object["status"] = status
			body, err = obj.MarshalJSON()
			require.NoError(t, err)
			require.NoError(t, client.Put().AbsPath(path, obj.GetName(), "status").Body(body).SetHeader("Content-Type", "application/json").Do(t.Context()).Error(), "%s %s", obj.GetKind(), obj.GetName())
		}
		var code int
		result := client.Get().AbsPath(path, obj.GetName()).SetHeader("Accept", tableMedia).Do(t.Context()).StatusCode(&code)
		raw, err := result.Raw()
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, code)
		assert.Contains(t, string(raw), `"kind":"Table"`)
		// Volumes are protected from deletion in a cluster.
		if !namespaced && obj.GetKind() != "PersistentVolume" && obj.GetKind() != "VolumeAttributesClass" {
			require.NoError(t, client.Delete().AbsPath(path, obj.GetName()).Do(t.Context()).Error())
		}
	}
}

// pathsOfKinds returns a function that finds the path of the collection of an object,
// and whether it has namespaces.
func pathsOfKinds(t *testing.T, cfg *rest.Config) func(*unstructured.Unstructured) (string, bool) {
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(cfg).ServerPreferredResources()
	require.NoError(t, err)
	return func(obj *unstructured.Unstructured) (string, bool) {
		for _, list := range lists {
			if list.GroupVersion != obj.GetAPIVersion() {
				continue
			}
			for _, r := range list.APIResources {
				if r.Kind == obj.GetKind() && !strings.Contains(r.Name, "/") {
					return collectionPath(list.GroupVersion, r), r.Namespaced
				}
			}
		}
		return "", false
	}
}

// collectionPath is where the objects of a resource are.
func collectionPath(groupVersion string, r metav1.APIResource) string {
	root := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		root = "/api/" + groupVersion
	}
	if r.Namespaced {
		root += "/namespaces/{namespace}"
	}
	return root + "/" + r.Name
}
