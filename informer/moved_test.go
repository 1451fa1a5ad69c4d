package informer

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// definitionOf returns a definition of Widget under a plural name, with a scope and versions.
func definitionOf(plural, scope string, versions ...string) untyped {
	def := widgetDefinition()
	def.SetName(plural + ".example.com")
	_ = unstructured.SetNestedField(def.Object, scope, "spec", "scope")
	_ = unstructured.SetNestedField(def.Object, plural, "spec", "names", "plural")
	first, _, _ := unstructured.NestedSlice(def.Object, "spec", "versions")
	var all []any
	for i, v := range versions {
		one := map[string]any{"name": v, "served": true, "storage": i == 0, "schema": first[0].(map[string]any)["schema"]}
		all = append(all, one)
	}
	_ = unstructured.SetNestedSlice(def.Object, all, "spec", "versions")
	return def
}

// A kind that is not installed is asked for soon at first, and rarely after some minutes.
func TestWhatIsNotInstalledIsAskedForRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &scripted.Server{List: func(w http.ResponseWriter, _ *http.Request, _ int) { http.Error(w, "404 page not found", 404) }}
		fac, err := NewFactory(server.Config(t), FactoryOptions{})
		require.NoError(t, err)
		_, err = For(fac, ForOptions[untyped]{Kind: widgetKind})
		require.NoError(t, err)
		fac.Start(t.Context())
		time.Sleep(absentQuick)
		first := len(server.Requests())
		assert.InDelta(t, 100+10, first, 8)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, len(server.Requests())-first, 245, "a request for the version and one for the group every 30 s")
		require.NoError(t, fac.Shutdown(t.Context()))
	})
}

// A definition that changes ends the long pause, if an informer of definitions sees it, and so does another
// kind of the group that appears.
func TestADefinitionThatChangesEndsThePause(t *testing.T) {
	t.Parallel()
	for name, informed := range map[string]bool{"an informer of definitions": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
				if informed {
					_, err := For(fac, ForOptions[*metav1.PartialObjectMetadata]{Resource: crds})
					require.NoError(t, err)
				}
				widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
				require.NoError(t, err)
				fac.Start(t.Context())
				time.Sleep(time.Hour + 7*time.Second)
				begun := time.Now()
				require.NoError(t, s.Create(widgetDefinition()))
				require.NoError(t, WaitForSync(t.Context(), widgets))
				if informed {
					require.LessOrEqual(t, time.Since(begun), absentRetry)
				} else {
					require.LessOrEqual(t, time.Since(begun), absentSlow)
				}
			})
		})
	}
}

// A kind whose definition is recreated with another plural name, scope or version is found there, and the
// objects that were deleted are found by its list.
func TestAKindThatMovesIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]untyped{
		"plural":  definitionOf("widgetries", "Namespaced", "v1"),
		"scope":   definitionOf("widgets", "Cluster", "v1"),
		"version": definitionOf("widgets", "Namespaced", "v2"),
		"all":     definitionOf("widgetries", "Cluster", "v2", "v3"),
	} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " seen ", seen), func(t *testing.T) {
				t.Parallel()
				inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
					require.NoError(t, s.Create(widgetDefinition()))
					require.NoError(t, s.Create(objectOf(widgetKind, "default", "old", nil)))
					widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
					require.NoError(t, err)
					fac.Start(t.Context())
					require.NoError(t, WaitForSync(t.Context(), widgets))
					if !seen {
						s.BreakConnections()
					}
					require.NoError(t, s.Delete(crds, "", "widgets.example.com"))
					time.Sleep(time.Hour)
					synctest.Wait()
					if !seen {
						require.Equal(t, 1, widgets.Snapshot().Len(), "a 404 proves nothing")
					}
					to := to.DeepCopy() // of each subtest
					require.NoError(t, s.Create(to))
					version, _, _ := unstructured.NestedSlice(to.Object, "spec", "versions")
					gvk := schema.GroupVersionKind{Group: "example.com", Version: version[0].(map[string]any)["name"].(string), Kind: "Widget"}
					scope, _, _ := unstructured.NestedString(to.Object, "spec", "scope")
					namespace := map[string]string{"Namespaced": "default"}[scope]
					require.NoError(t, s.Create(objectOf(gvk, namespace, "new", nil)))
					time.Sleep(2*locateEvery + time.Minute)
					synctest.Wait()
					require.Equal(t, 1, widgets.Snapshot().Len(), "%v", widgets.Health().Sources[0].Reflector.LastError)
					got, err := widgets.Lister().Get(objKey(namespace, "new"))
					require.NoError(t, err)
					require.Equal(t, gvk, got.GroupVersionKind())
					require.NoError(t, fac.Ready())
				})
			})
		}
	}
}
