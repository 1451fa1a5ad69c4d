package informer

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
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

// A version that is not served any more is read as another one, and nothing is deleted meanwhile.
func TestAVersionThatIsNotServedIsReadAsAnother(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		require.NoError(t, s.Create(definitionOf("widgets", "Namespaced", "v1", "v2")))
		require.NoError(t, s.Create(objectOf(widgetKind, "default", "w", nil)))
		widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
		require.NoError(t, err)
		deleted := 0
		_, err = widgets.AddHandler(HandlerFunc[untyped](func(e Event[untyped]) {
			if e.Type == Deleted {
				deleted++
			}
		}))
		require.NoError(t, err)
		fac.Start(t.Context())
		require.NoError(t, WaitForSync(t.Context(), widgets))
		require.NoError(t, s.Modify(crds, "", "widgets.example.com", func(def *unstructured.Unstructured) {
			versions, _, _ := unstructured.NestedSlice(def.Object, "spec", "versions")
			for i, v := range versions {
				v.(map[string]any)["served"], v.(map[string]any)["storage"] = i == 1, i == 1
			}
			assert.NoError(t, unstructured.SetNestedSlice(def.Object, versions, "spec", "versions"))
		}))
		s.BreakConnections()
		time.Sleep(2*locateEvery + time.Minute)
		synctest.Wait()
		got, err := widgets.Lister().Get(objKey("default", "w"))
		require.NoError(t, err)
		require.Equal(t, "v2", got.GroupVersionKind().Version)
		require.NoError(t, fac.Ready())
		require.Zero(t, deleted)
	})
}

// The aggregated API server behind an APIService is away for an hour: the cache stays, nothing is looked for elsewhere,
// and afterwards the same resource is read.
func TestAnAPIServiceThatIsUnavailableKeepsTheCache(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"503": http.StatusServiceUnavailable, "404": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
				defer s.Close()
				require.NoError(t, s.Create(widgetDefinition()))
				require.NoError(t, s.Create(objectOf(widgetKind, "default", "w", nil)))
				var away atomic.Bool
				cfg := s.Config()
				cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
					return transportFunc(func(req *http.Request) (*http.Response, error) {
						if away.Load() && strings.Contains(req.URL.Path, "/example.com") {
							return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
						}
						return rt.RoundTrip(req)
					})
				})
				fac, err := NewFactory(cfg, FactoryOptions{})
				require.NoError(t, err)
				widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
				require.NoError(t, err)
				fac.Start(t.Context())
				require.NoError(t, WaitForSync(t.Context(), widgets))
				away.Store(true)
				s.BreakConnections()
				time.Sleep(time.Hour)
				require.Equal(t, 1, widgets.Snapshot().Len())
				require.ErrorContains(t, fac.Ready(), "widgets")
				away.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.NoError(t, fac.Ready())
				require.Equal(t, 1, widgets.Snapshot().Len())
				require.NoError(t, fac.Shutdown(t.Context()))
			})
		})
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
