package controllerruntime_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer/informertest"
)

// Promise controllerruntime/1
func TestReadsWaitForTheFirstList(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		server.Inject(informertest.Fault{Verb: "list", Resource: "configmaps", Effect: informertest.Delay(3 * time.Second)})
		server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Effect: informertest.Delay(3 * time.Second)})
		c := newCache(t, server, cache.Options{}, quiet)
		key := client.ObjectKey{Namespace: "a", Name: "x"}
		var notStarted *cache.ErrCacheNotStarted
		require.ErrorAs(t, c.Get(t.Context(), key, &corev1.ConfigMap{}), &notStarted)
		require.ErrorAs(t, c.List(t.Context(), &corev1.ConfigMapList{}), &notStarted)
		require.NoError(t, c.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		run(t, c)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := c.Get(short, key, &corev1.ConfigMap{})
		require.True(t, apierrors.IsTimeout(err), "%v", err)
		require.ErrorContains(t, err, "failed waiting for *v1.ConfigMap Informer to sync")
		require.ErrorContains(t, err, "configmaps/v1", "what is not synced")
		_, err = c.GetInformer(short, &corev1.ConfigMap{})
		require.True(t, apierrors.IsTimeout(err))
		_, err = c.GetInformer(short, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		require.False(t, c.WaitForCacheSync(short))

		require.NoError(t, c.Get(t.Context(), key, &corev1.ConfigMap{}))
		require.Equal(t, []string{"a/x"}, names(t, c))
		require.True(t, c.WaitForCacheSync(t.Context()))
	})
}

// Promise controllerruntime/2
func TestWhatReadersGetIsTheirs(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x", "l"), widgetNamed("a", "w", "big")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		key := client.ObjectKey{Namespace: "a", Name: "x"}
		for range 2 { // the second round finds what the first has left
			cm := corev1.ConfigMap{Data: map[string]string{"of another object": "x"}}
			require.NoError(t, c.Get(t.Context(), key, &cm))
			require.Equal(t, map[string]string{"key": "value of x"}, cm.Data)
			cm.Data["key"], cm.Labels["l"] = "changed", "changed"

			var list corev1.ConfigMapList
			require.NoError(t, c.List(t.Context(), &list, client.InNamespace("a")))
			require.Equal(t, "value of x", list.Items[0].Data["key"])
			require.Equal(t, "yes", list.Items[0].Labels["l"])
			list.Items[0].Data["key"] = "changed"

			w := unstructuredOf(widget)
			require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, w))
			size, _, _ := unstructured.NestedString(w.Object, "spec", "size")
			require.Equal(t, "big", size)
			require.NoError(t, unstructured.SetNestedField(w.Object, "changed", "spec", "size"))

			m := metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			require.NoError(t, c.Get(t.Context(), key, m))
			require.Equal(t, "yes", m.Labels["l"])
			m.Labels["l"] = "changed"
		}
		// A caller that asks for it gets what is cached.
		var one, two corev1.ConfigMap
		require.NoError(t, c.Get(t.Context(), key, &one, client.UnsafeDisableDeepCopy))
		require.NoError(t, c.Get(t.Context(), key, &two, client.UnsafeDisableDeepCopy))
		one.Data["key"] = "seen by both"
		require.Equal(t, "seen by both", two.Data["key"])
		var list corev1.ConfigMapList
		require.NoError(t, c.List(t.Context(), &list, client.InNamespace("a"), client.UnsafeDisableDeepCopy))
		require.Equal(t, "seen by both", list.Items[0].Data["key"])
		one.Data["key"] = "value of x"
	})
}

// Promise controllerruntime/3
func TestEachFormOfAKindHasItsOwnInformer(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("b", "y"), widgetNamed("a", "w", "big")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
		key := client.ObjectKey{Namespace: "a", Name: "x"}
		for i, obj := range []client.Object{&corev1.ConfigMap{}, unstructuredOf(gvk), metadataOf(gvk)} {
			require.NoError(t, c.Get(t.Context(), key, obj))
			require.Equal(t, "x", obj.GetName())
			require.Equal(t, gvk, obj.GetObjectKind().GroupVersionKind(), "%T", obj)
			require.Len(t, c.Health(), i+1)
		}
		lists := []client.ObjectList{&corev1.ConfigMapList{}, &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}}
		for _, list := range lists {
			list.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
			require.NoError(t, c.List(t.Context(), list))
			require.Equal(t, "continue-not-supported", list.GetContinue())
		}
		require.Len(t, lists[0].(*corev1.ConfigMapList).Items, 2)
		require.Equal(t, gvk, lists[0].(*corev1.ConfigMapList).Items[0].GroupVersionKind())
		require.Len(t, lists[1].(*unstructured.UnstructuredList).Items, 2)
		require.Equal(t, gvk, lists[1].(*unstructured.UnstructuredList).Items[0].GroupVersionKind())
		require.Len(t, lists[2].(*metav1.PartialObjectMetadataList).Items, 2)
		require.Equal(t, gvk, lists[2].(*metav1.PartialObjectMetadataList).Items[0].GroupVersionKind())
		require.Len(t, c.Health(), 3, "lists of a form read its informer")
		require.Equal(t, "configmaps/v1", c.Health()[0].Name)
		require.Equal(t, "configmaps/v1/metadata", c.Health()[1].Name)
		require.Equal(t, "configmaps/v1/unstructured", c.Health()[2].Name)

		// What handlers get has the kind as well, not that of metadata.
		inf, err := c.GetInformer(t.Context(), metadataOf(gvk))
		require.NoError(t, err)
		kinds := make(chan schema.GroupVersionKind, 2)
		_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			kinds <- obj.(client.Object).GetObjectKind().GroupVersionKind() //nolint:forcetypeassert // of a cache
		}})
		require.NoError(t, err)
		require.Equal(t, gvk, <-kinds)

		// Of a kind that the scheme does not know.
		w := unstructuredOf(widget)
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, w))
		require.Error(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, &unknown{}))
	})
}

// unknown is of no kind in the scheme.
type unknown struct{ corev1.ConfigMap }

func TestListsSelectByNamespaceLabelsAndLimit(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x", "l"), configMap("a", "y"), configMap("b", "x", "l")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		assert.Equal(t, []string{"a/x", "a/y", "b/x"}, names(t, c))
		assert.Equal(t, []string{"a/x", "a/y"}, names(t, c, client.InNamespace("a")))
		assert.Equal(t, []string{"a/x", "b/x"}, names(t, c, client.HasLabels{"l"}))
		assert.Equal(t, []string{"b/x"}, names(t, c, client.HasLabels{"l"}, client.InNamespace("b")))
		assert.Empty(t, names(t, c, client.MatchingLabelsSelector{Selector: labels.Nothing()}))
		assert.Empty(t, names(t, c, client.InNamespace("nowhere")))
		assert.Len(t, names(t, c, client.Limit(2)), 2)
		assert.Len(t, names(t, c, client.Limit(9)), 3)
		require.ErrorContains(t, c.List(t.Context(), &corev1.ConfigMapList{}, client.Continue("token")), "continue list option is not supported")

		// Cluster-scoped objects are found whatever the namespace of the key.
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ignored", Name: "a"}, &corev1.Namespace{}))
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "none"}, &corev1.ConfigMap{})
		require.True(t, apierrors.IsNotFound(err))
		require.EqualError(t, err, `ConfigMap "none" not found`)
	})
}

// widgetList is a list as some write it by hand: of pointers.
type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []*goWidget `json:"items"`
}

func (l *widgetList) DeepCopyObject() runtime.Object { out := *l; return &out }

// goWidget has no DeepCopyInto.
type goWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size string `json:"size"`
	} `json:"spec"`
}

func (w *goWidget) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &out
}

func TestTypesOfTheProgramAreRead(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{widgetNamed("a", "w", "big"), widgetNamed("b", "v", "small")}, func(t *testing.T, server *informertest.Server) {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypeWithName(widget, &goWidget{})
		scheme.AddKnownTypeWithName(widget.GroupVersion().WithKind("WidgetList"), &widgetList{})
		metav1.AddToGroupVersion(scheme, widget.GroupVersion())
		c := started(t, server, cache.Options{Scheme: scheme})
		var w goWidget
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, &w))
		require.Equal(t, "big", w.Spec.Size)
		require.Equal(t, widget, w.GroupVersionKind())
		var list widgetList
		require.NoError(t, c.List(t.Context(), &list, client.InNamespace("b")))
		require.Len(t, list.Items, 1)
		require.Equal(t, "small", list.Items[0].Spec.Size)
		inf, err := c.GetInformerForKind(t.Context(), widget)
		require.NoError(t, err)
		require.True(t, inf.HasSynced())
		_, err = c.GetInformerForKind(t.Context(), schema.GroupVersionKind{Group: "none", Version: "v1", Kind: "None"})
		require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
	})
}

// byKey and byLength index ConfigMaps by two values.
func byKey(obj client.Object) []string {
	return []string{obj.(*corev1.ConfigMap).Data["key"]}
}

func byLabel(obj client.Object) (values []string) {
	for l := range obj.GetLabels() {
		values = append(values, l)
	}
	return values
}

// Promise controllerruntime/4
func TestListsByFieldsFindObjectsWithAllValues(t *testing.T) {
	t.Parallel()
	objs := []client.Object{configMap("a", "x", "l", "m"), configMap("b", "x", "l"), configMap("a", "y", "m"), configMap("c", "x")}
	for name, opts := range map[string]cache.Options{
		"one informer": {},
		"namespaces":   {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}, cache.AllNamespaces: {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, objs, func(t *testing.T, server *informertest.Server) {
				c := newCache(t, server, opts, quiet)
				require.NoError(t, c.IndexField(t.Context(), &corev1.ConfigMap{}, "data.key", byKey))
				run(t, c)
				require.NoError(t, c.IndexField(t.Context(), &corev1.ConfigMap{}, "label", byLabel), "while it runs")
				key := client.MatchingFields{"data.key": "value of x"}
				assert.Equal(t, []string{"a/x", "b/x", "c/x"}, names(t, c, key))
				assert.Equal(t, []string{"a/x"}, names(t, c, key, client.InNamespace("a")))
				assert.Equal(t, []string{"c/x"}, names(t, c, key, client.InNamespace("c")))
				assert.Equal(t, []string{"a/x", "b/x"}, names(t, c, client.MatchingFields{"data.key": "value of x", "label": "l"}))
				assert.Equal(t, []string{"a/x"}, names(t, c, client.MatchingFields{"data.key": "value of x", "label": "m"}))
				assert.Equal(t, []string{"b/x"}, names(t, c, client.MatchingFields{"data.key": "value of x", "label": "l"}, client.InNamespace("b")))
				assert.Equal(t, []string{"a/x"}, names(t, c, key, client.HasLabels{"m"}))
				assert.Empty(t, names(t, c, client.MatchingFields{"data.key": "none", "label": "l"}))
				assert.Len(t, names(t, c, key, client.Limit(2)), 2)
				assert.Len(t, names(t, c, client.MatchingFieldsSelector{Selector: fields.Everything()}), 4)

				require.NoError(t, server.Modify(configMaps, "a", "y", func(u *unstructured.Unstructured) {
					u.Object["data"] = map[string]any{"key": "value of x"}
				}))
				time.Sleep(time.Second)
				assert.Equal(t, []string{"a/x", "a/y"}, names(t, c, key, client.InNamespace("a")))

				fails := func(selector fields.Selector, why string) {
					t.Helper()
					err := c.List(t.Context(), &corev1.ConfigMapList{}, client.MatchingFieldsSelector{Selector: selector})
					require.ErrorContains(t, err, why)
				}
				fails(fields.OneTermEqualSelector("unknown", "x"), "Index with name field:unknown does not exist")
				fails(fields.AndSelectors(fields.OneTermEqualSelector("data.key", "none"), fields.OneTermEqualSelector("unknown", "x")), "does not exist")
				fails(fields.OneTermNotEqualSelector("data.key", "x"), "non-exact field matches are not supported by the cache")
				fails(fields.Nothing(), "non-exact field matches are not supported by the cache")
			})
		})
	}
}

func TestClusterScopedObjectsAreIndexed(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}}})
		require.NoError(t, c.IndexField(t.Context(), &corev1.Namespace{}, "initial", func(obj client.Object) []string { return []string{obj.GetName()[:1]} }))
		var list corev1.NamespaceList
		require.NoError(t, c.List(t.Context(), &list, client.MatchingFields{"initial": "b"}))
		require.Len(t, list.Items, 1)
		require.Equal(t, "b", list.Items[0].Name)
	})
}

func TestIndexesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("a", "bad")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		ctx, cm := t.Context(), &corev1.ConfigMap{}
		require.ErrorContains(t, c.IndexField(ctx, cm, "f", nil), "the function of the index")
		require.ErrorContains(t, c.IndexField(ctx, cm, "", byKey), "the field of the index is empty")
		require.ErrorContains(t, c.IndexField(ctx, nil, "f", byKey), "the object is nil")
		require.NoError(t, c.IndexField(ctx, cm, "f", byKey))
		require.ErrorContains(t, c.IndexField(ctx, cm, "f", byKey), "indexer conflict")
		require.NoError(t, c.IndexField(ctx, unstructuredOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")), "f",
			func(client.Object) []string { return nil }), "of another form")

		// A function that panics costs one object in one index.
		require.NoError(t, c.IndexField(ctx, cm, "panics", func(obj client.Object) []string {
			if obj.GetName() == "bad" {
				panic("oh")
			}
			return []string{"v"}
		}))
		require.NoError(t, c.IndexField(ctx, cm, "all", func(client.Object) []string { return []string{"v"} }))
		require.Equal(t, []string{"a/x"}, names(t, c, client.MatchingFields{"panics": "v"}))
		require.Equal(t, []string{"a/x"}, names(t, c, client.MatchingFields{"panics": "v", "all": "v"}))
		require.Equal(t, []string{"a/bad", "a/x"}, names(t, c, client.MatchingFields{"all": "v"}))
	})
}

func TestObjectsOfAWrongTypeAreErrors(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		ctx, key := t.Context(), client.ObjectKey{Namespace: "a", Name: "x"}
		var none *corev1.ConfigMap
		require.ErrorContains(t, c.Get(ctx, key, nil), "the object is nil")
		require.ErrorContains(t, c.Get(ctx, key, none), "the object is nil")
		require.ErrorContains(t, c.List(ctx, nil), "the object is nil")
		_, err := c.GetInformer(ctx, none)
		require.ErrorContains(t, err, "the object is nil")
		require.ErrorContains(t, c.RemoveInformer(ctx, none), "the object is nil")
		require.Error(t, c.Get(ctx, key, &unstructured.Unstructured{}), "without a kind")
		require.Error(t, c.Get(ctx, key, &metav1.PartialObjectMetadata{}), "without a kind")
		require.Error(t, c.RemoveInformer(ctx, &unknown{}))
		_, err = c.GetInformer(ctx, unstructuredOf(schema.GroupVersionKind{Group: "none", Version: "v1", Kind: "None"}))
		require.ErrorContains(t, err, "no matches for", "not installed")
	})
}

func TestReadersOfManyKindsMayRace(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), widgetNamed("a", "w", "big")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{})
		done := make(chan error)
		for i := range 20 {
			go func() {
				var err error
				switch i % 4 {
				case 0:
					err = c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "x"}, &corev1.ConfigMap{})
				case 1:
					err = c.List(t.Context(), &corev1.SecretList{})
				case 2:
					err = c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "w"}, unstructuredOf(widget))
				case 3:
					err = c.IndexField(t.Context(), &corev1.ConfigMap{}, fmt.Sprint("field", i), byKey)
				}
				done <- err
			}()
		}
		for range 20 {
			require.NoError(t, <-done)
		}
		synctest.Wait()
		require.Len(t, c.Health(), 3)
	})
}
