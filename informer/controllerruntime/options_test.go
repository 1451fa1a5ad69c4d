package controllerruntime_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controllerruntime"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

func has(label string) labels.Selector {
	s, err := labels.Parse(label)
	if err != nil {
		panic(err)
	}
	return s
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

// Promise controllerruntime/5
func TestOptionsSelectWhatIsCached(t *testing.T) {
	t.Parallel()
	objs := []client.Object{
		configMap("a", "x", "l"), configMap("a", "y", "m"), configMap("b", "x", "l"), configMap("b", "y", "m"), configMap("c", "x"), configMap("c", "z", "l"),
	}
	cm := &corev1.ConfigMap{}
	type namespaces = map[string]cache.Config
	for name, test := range map[string]struct {
		opts cache.Options
		want string
	}{
		"all":                       {cache.Options{}, "a/x a/y b/x b/y c/x c/z"},
		"default labels":            {cache.Options{DefaultLabelSelector: has("l")}, "a/x b/x c/z"},
		"default fields":            {cache.Options{DefaultFieldSelector: named("x")}, "a/x b/x c/x"},
		"default namespaces":        {cache.Options{DefaultNamespaces: namespaces{"a": {}, "b": {}}}, "a/x a/y b/x b/y"},
		"namespace with labels":     {cache.Options{DefaultNamespaces: namespaces{"a": {LabelSelector: has("l")}, "b": {}}, DefaultLabelSelector: has("m")}, "a/x b/y"},
		"all others":                {cache.Options{DefaultNamespaces: namespaces{"a": {LabelSelector: has("l")}, cache.AllNamespaces: {}}}, "a/x b/x b/y c/x c/z"},
		"all others with fields":    {cache.Options{DefaultNamespaces: namespaces{"a": {}, cache.AllNamespaces: {FieldSelector: named("x")}}}, "a/x a/y b/x c/x"},
		"a namespace by its field":  {cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.namespace", "b")}, "b/x b/y"},
		"by object":                 {cache.Options{ByObject: map[client.Object]cache.ByObject{cm: {Label: has("l"), Field: named("x")}}}, "a/x b/x"},
		"by object before default":  {cache.Options{DefaultLabelSelector: has("l"), ByObject: map[client.Object]cache.ByObject{cm: {Label: has("m")}}}, "a/y b/y"},
		"default where none is set": {cache.Options{DefaultLabelSelector: has("l"), ByObject: map[client.Object]cache.ByObject{cm: {Field: named("x")}}}, "a/x b/x"},
		"of another object":         {cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: has("l")}}}, "a/x a/y b/x b/y c/x c/z"},
		"its own namespaces":        {cache.Options{DefaultNamespaces: namespaces{"a": {}}, ByObject: map[client.Object]cache.ByObject{cm: {Namespaces: namespaces{"c": {}}}}}, "c/x c/z"},
		"all its namespaces":        {cache.Options{DefaultNamespaces: namespaces{"a": {}}, ByObject: map[client.Object]cache.ByObject{cm: {Namespaces: namespaces{}}}}, "a/x a/y b/x b/y c/x c/z"},
		"default namespaces, its labels": {cache.Options{DefaultNamespaces: namespaces{"a": {}, "b": {LabelSelector: has("m")}},
			ByObject: map[client.Object]cache.ByObject{cm: {Label: has("l")}}}, "a/x b/y"},
		"its namespaces, default namespace's labels": {cache.Options{DefaultNamespaces: namespaces{"b": {LabelSelector: has("m")}},
			ByObject: map[client.Object]cache.ByObject{cm: {Namespaces: namespaces{"a": {}, "b": {}}}}}, "a/x a/y b/y"},
		"everything instead of a default": {cache.Options{DefaultLabelSelector: has("l"),
			ByObject: map[client.Object]cache.ByObject{cm: {Label: labels.Everything()}}}, "a/x a/y b/x b/y c/x c/z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, objs, func(t *testing.T, server *informertest.Server) {
				c := started(t, server, test.opts)
				assert.Equal(t, test.want, strings.Join(names(t, c), " "))
				total := 0
				for _, h := range c.Health() {
					total += h.Objects
				}
				assert.Len(t, strings.Fields(test.want), total, "each object is in one informer")
				// The same in the other forms, and for objects of one namespace.
				for _, key := range []client.ObjectKey{{Namespace: "a", Name: "x"}, {Namespace: "b", Name: "y"}, {Namespace: "c", Name: "z"}} {
					err := c.Get(t.Context(), key, metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
					cached := strings.Contains(" "+test.want+" ", " "+key.String()+" ")
					assert.Equal(t, cached, err == nil, "%v: %v", key, err)
				}
			})
		})
	}
}

func TestNamespacesThatAreNotCachedAreErrors(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}})
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "c", Name: "x"}, &corev1.ConfigMap{})
		require.EqualError(t, err, "unable to get: c/x because of unknown namespace for the cache")
		err = c.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("c"))
		require.EqualError(t, err, "unable to list: c because of unknown namespace for the cache")
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "c"}, &corev1.Namespace{}), "not in a namespace")
		for _, r := range server.Requests() {
			if r.Resource == "configmaps" && r.Verb != "create" {
				require.NotEmpty(t, r.Namespace, "a Role in each namespace must be enough: %v", r)
			}
		}
	})
}

func TestTransformsApplyByKindAndNamespace(t *testing.T) {
	t.Parallel()
	annotate := func(value string) toolscache.TransformFunc {
		return func(obj any) (any, error) {
			obj.(metav1.Object).SetAnnotations(map[string]string{"by": value}) //nolint:forcetypeassert // objects have metadata
			return obj, nil
		}
	}
	bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x"), configMap("c", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{
			DefaultTransform:  annotate("default"),
			DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {Transform: annotate("namespace")}, "c": {}},
			ByObject:          map[client.Object]cache.ByObject{&corev1.Secret{}: {Transform: annotate("object"), Namespaces: map[string]cache.Config{}}},
		})
		require.NoError(t, server.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}))
		by := func(obj client.Object, namespace string) string {
			require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"}, obj))
			return obj.GetAnnotations()["by"]
		}
		require.Equal(t, "default", by(&corev1.ConfigMap{}, "a"))
		require.Equal(t, "namespace", by(&corev1.ConfigMap{}, "b"))
		require.Equal(t, "namespace", by(metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")), "b"))
		require.Equal(t, "object", by(&corev1.Secret{}, "a"))
	})
}

func TestTransformsThatFailCostTheirObject(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("a", "fails"), configMap("a", "text"), configMap("a", "other")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{DefaultTransform: func(obj any) (any, error) {
			switch obj.(metav1.Object).GetName() { //nolint:forcetypeassert // objects have metadata
			case "fails":
				return nil, errors.New("oh")
			case "text":
				return "no object", nil
			case "other":
				return &corev1.Secret{}, nil
			}
			return obj, nil
		}})
		inf, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.True(t, inf.HasSynced())
		get := func(name string) error {
			return c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: name}, &corev1.ConfigMap{})
		}
		require.NoError(t, get("x"))
		// Not NotFound: it exists, and who cleans up behind a deleted object must not.
		require.ErrorIs(t, get("fails"), informer.ErrUnreadable)
		require.ErrorIs(t, get("text"), informer.ErrUnreadable)
		require.EqualError(t, get("other"), "cache had type *v1.Secret, but *v1.ConfigMap was asked for")
		require.ErrorContains(t, c.List(t.Context(), &corev1.ConfigMapList{}), "cache had type *v1.Secret")
		quarantine := c.Health()[0].Sources[0].Reflector.Quarantine
		require.Len(t, quarantine, 2)
	})
}

func TestDeepCopiesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x")}, func(t *testing.T, server *informertest.Server) {
		shared := func(c *controllerruntime.Cache, namespace string) bool {
			var one corev1.ConfigMap
			var list corev1.ConfigMapList
			require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"}, &one))
			require.NoError(t, c.List(t.Context(), &list))
			one.Data["key"] = "changed"
			defer func() { one.Data["key"] = "value of x" }()
			for _, item := range list.Items {
				if item.Namespace == namespace {
					return item.Data["key"] == "changed"
				}
			}
			return false
		}
		c := started(t, server, cache.Options{DefaultUnsafeDisableDeepCopy: ptr.To(true)})
		require.True(t, shared(c, "a"))
		c = started(t, server, cache.Options{
			DefaultUnsafeDisableDeepCopy: ptr.To(true),
			ByObject:                     map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {UnsafeDisableDeepCopy: ptr.To(false)}},
		})
		require.False(t, shared(c, "a"))
		c = started(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {UnsafeDisableDeepCopy: ptr.To(true)}, "b": {}}})
		require.True(t, shared(c, "a"))
		require.False(t, shared(c, "b"))
	})
}

func TestReadersMayBeLimitedToInformersThatExist(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		c := started(t, server, cache.Options{ReaderFailOnMissingInformer: true})
		var notCached *cache.ErrResourceNotCached
		require.ErrorAs(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "x"}, &corev1.ConfigMap{}), &notCached)
		require.Equal(t, "ConfigMap", notCached.GVK.Kind)
		require.ErrorAs(t, c.List(t.Context(), &corev1.ConfigMapList{}), &notCached)
		require.Empty(t, c.Health())
		_, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.Equal(t, []string{"a/x"}, names(t, c))
	})
}

func TestBookmarksMayBeSwitchedOff(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		queries := func(opts cache.Options) (all []string) {
			server.ResetRequests()
			c := started(t, server, opts)
			require.Equal(t, []string{"a/x"}, names(t, c))
			time.Sleep(time.Second)
			for _, r := range server.Requests() {
				if r.Resource == "configmaps" && r.Verb == "watch" {
					all = append(all, r.Query)
				}
			}
			require.NotEmpty(t, all)
			return all
		}
		for _, q := range queries(cache.Options{}) {
			require.Contains(t, q, "allowWatchBookmarks=true")
		}
		for _, opts := range []cache.Options{
			{DefaultEnableWatchBookmarks: ptr.To(false)},
			{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {EnableWatchBookmarks: ptr.To(false)}}},
			{DefaultNamespaces: map[string]cache.Config{"a": {EnableWatchBookmarks: ptr.To(false)}}},
		} {
			for _, q := range queries(opts) {
				require.NotContains(t, q, "allowWatchBookmarks=true")
				require.NotContains(t, q, "sendInitialEvents=true")
			}
		}
	})
}

func TestResyncsComeOncePerSyncPeriod(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x"), configMap("b", "x")}, func(t *testing.T, server *informertest.Server) {
		count := func(opts cache.Options, wait time.Duration) int {
			c := started(t, server, opts)
			inf, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			var updates atomic.Int64
			_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, now any) {
				if before == now {
					updates.Add(1)
				}
			}})
			require.NoError(t, err)
			time.Sleep(wait)
			return int(updates.Load())
		}
		// Of two objects, each once per period, which is longer or shorter by up to 10%.
		minute := ptr.To(time.Minute)
		require.InDelta(t, 5, count(cache.Options{}, 25*time.Hour), 1, "every ten hours")
		require.InDelta(t, 40, count(cache.Options{SyncPeriod: minute}, 20*time.Minute), 6)
		require.Zero(t, count(cache.Options{SyncPeriod: ptr.To(time.Duration(0))}, time.Hour))
		require.InDelta(t, 40, count(cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {SyncPeriod: minute}}}, 20*time.Minute), 6)
		require.InDelta(t, 20, count(cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {SyncPeriod: minute}, "b": {SyncPeriod: ptr.To(time.Hour)}}}, 20*time.Minute), 4)
	})
}

func TestTheWatchErrorHandlerGetsEachFailure(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		server.Inject(informertest.Fault{Verb: "list", Resource: "configmaps", Times: 2, Effect: informertest.Respond(403, "text/plain", "no")})
		server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Times: 2, Effect: informertest.Respond(403, "text/plain", "no")})
		var failures []string
		policies := 0
		c := newCache(t, server, cache.Options{DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			require.NoError(t, ctx.Err())
			failures = append(failures, r.Name()+" "+r.TypeDescription()+": "+string(reflector.Classify(err)))
		}}, controllerruntime.Options{Logger: quiet.Logger, Reflector: reflector.Options{Policy: func(reflector.Failure) reflector.Decision {
			policies++
			return reflector.Retry()
		}}})
		run(t, c)
		require.Equal(t, []string{"a/x"}, names(t, c))
		require.NotEmpty(t, failures)
		require.Equal(t, "configmaps/v1 /v1, Kind=ConfigMap: forbidden", failures[0])
		require.Equal(t, len(failures), policies)
	})
}

// counting is a transport that a program has wrapped.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/configmaps") { // not those of the mapper
		c.n.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

func TestTheHTTPClientOfTheManagerIsUsed(t *testing.T) {
	t.Parallel()
	bubble(t, []client.Object{configMap("a", "x")}, func(t *testing.T, server *informertest.Server) {
		plain, err := rest.HTTPClientFor(server.Config())
		require.NoError(t, err)
		var n atomic.Int64
		c := started(t, server, cache.Options{HTTPClient: &http.Client{Transport: counting{plain.Transport, &n}, Timeout: time.Nanosecond}})
		require.Equal(t, []string{"a/x"}, names(t, c))
		require.Positive(t, n.Load())

		// A config that asks for JSON gets it; a program's own agent is sent.
		cfg := rest.CopyConfig(server.Config())
		cfg.ContentType, cfg.UserAgent = "application/json", "my-program"
		made, err := controllerruntime.New(cfg, cache.Options{})
		require.NoError(t, err)
		run(t, made.(*controllerruntime.Cache))
		server.ResetRequests()
		require.Equal(t, []string{"a/x"}, names(t, made))
		require.Equal(t, "my-program", server.Requests()[0].UserAgent)
	})
}

// Promise controllerruntime/8
func TestEqualPartsAreStoredOnceUnlessSeparate(t *testing.T) {
	t.Parallel()
	var objs []client.Object
	for _, namespace := range []string{"a", "b", "c"} {
		for range 60 {
			objs = append(objs, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x" + strings.Repeat("x", len(objs))},
				Data:       map[string]string{"settings": strings.Repeat("the same in all of them ", 40)},
			})
		}
	}
	bubble(t, objs, func(t *testing.T, server *informertest.Server) {
		distinct := func(own controllerruntime.Options) int {
			own.Logger = quiet.Logger
			c := newCache(t, server, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}, "c": {}}}, own)
			run(t, c)
			texts := map[*byte]bool{}
			var list corev1.ConfigMapList
			require.NoError(t, c.List(t.Context(), &list, client.UnsafeDisableDeepCopy))
			for _, one := range list.Items {
				texts[unsafe.StringData(one.Data["settings"])] = true
			}
			return len(texts)
		}
		shared, separate := distinct(controllerruntime.Options{}), distinct(controllerruntime.Options{Separate: true})
		require.Less(t, shared, separate, "shared across informers")
		pool := intern.NewPool()
		distinct(controllerruntime.Options{InternPool: pool})
		require.Positive(t, pool.Stats().Found)
	})
}

func TestOptionsThatContradictAreRefused(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		refused := func(why string, opts cache.Options, own controllerruntime.Options) {
			t.Helper()
			_, err := controllerruntime.NewWith(own)(server.Config(), opts)
			require.ErrorContains(t, err, why)
		}
		none := controllerruntime.Options{}
		by := func(obj client.Object, o cache.ByObject) cache.Options {
			return cache.Options{ByObject: map[client.Object]cache.ByObject{obj: o}}
		}
		_, err := controllerruntime.New(nil, cache.Options{})
		require.ErrorContains(t, err, "the rest.Config is nil")
		refused("set one of the two", cache.Options{}, controllerruntime.Options{Separate: true, InternPool: intern.NewPool()})
		refused("Options.NewInformer", cache.Options{NewInformer: func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
			return nil
		}}, none)
		refused("is not namespaced, but its ByObject.Namespaces setting is not nil", by(&corev1.Namespace{}, cache.ByObject{Namespaces: map[string]cache.Config{}}), none)
		refused("a key of ByObject is nil", by((*corev1.Pod)(nil), cache.ByObject{}), none)
		refused("failed to get GVK", by(&unknown{}, cache.ByObject{}), none)
		refused("failed to determine", by(unstructuredOf(widget.GroupVersion().WithKind("None")), cache.ByObject{}), none)
		refused("two keys of ByObject are of the kind", cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {}, unstructuredOf(corev1.SchemeGroupVersion.WithKind("Pod")): {},
		}}, none)
		refused("matches nothing", by(&corev1.Pod{}, cache.ByObject{Label: labels.Nothing()}), none)
		refused("matches nothing", cache.Options{DefaultFieldSelector: fields.Nothing()}, none)
		refused("matches nothing", cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {LabelSelector: labels.Nothing()}}}, none)
		refused("SyncPeriod is -1s", cache.Options{SyncPeriod: ptr.To(-time.Second)}, none)
		cfg := rest.CopyConfig(server.Config())
		cfg.Host = "http://a b"
		_, err = controllerruntime.New(cfg, cache.Options{Mapper: nil})
		require.Error(t, err)

		// What only an informer can find is found when it is made.
		c := newCache(t, server, cache.Options{}, controllerruntime.Options{Logger: quiet.Logger, Reflector: reflector.Options{PageSize: -1}})
		_, err = c.GetInformer(t.Context(), &corev1.Pod{})
		require.ErrorContains(t, err, "PageSize is negative")
		require.Empty(t, c.Health())
	})
}

// warnings counts the warnings of a server.
type warnings struct{ n atomic.Int32 }

func (w *warnings) HandleWarningHeader(int, string, string) { w.n.Add(1) }

type warner struct{ http.RoundTripper }

func (w warner) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Header.Set("Warning", `299 - "v1 is deprecated"`)
	}
	return resp, err
}

func TestWarningsReachTheHandlerOfTheConfig(t *testing.T) {
	bubble(t, nil, func(t *testing.T, server *informertest.Server) {
		var got warnings
		cfg := server.Config()
		cfg.WarningHandler = &got
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return warner{rt} })
		made, err := controllerruntime.NewWith(quiet)(cfg, cache.Options{})
		require.NoError(t, err)
		run(t, made.(*controllerruntime.Cache))
		names(t, made)
		require.Positive(t, got.n.Load())
	})
}
