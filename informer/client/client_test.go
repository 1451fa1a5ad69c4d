package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

var (
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

func connect[T client.Object](t *testing.T, gvr schema.GroupVersionResource, opts client.Options) (*client.Client[T], *informertest.Server) {
	t.Helper()
	return connectBy[T](t, "", gvr, opts)
}

// connectBy is connect with the ContentType of the configuration.
func connectBy[T client.Object](t *testing.T, contentType string, gvr schema.GroupVersionResource, opts client.Options) (*client.Client[T], *informertest.Server) {
	t.Helper()
	server := informertest.Start(t, informertest.Options{Scheme: scripted.CoreTypes()})
	cfg := server.Config()
	cfg.ContentType = contentType
	c, err := client.New[T](cfg, gvr, opts)
	require.NoError(t, err)
	return c, server
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// Promise client/1
func TestEveryVerbReachesTheServer(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", "application/json"} {
		t.Run("ContentType "+contentType, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			c, _ := connectBy[*corev1.Pod](t, contentType, pods, client.Options{FieldManager: "test"})
			generated := pod("")
			generated.GenerateName = "p-"
			made, err := c.Create(ctx, generated)
			require.NoError(t, err)
			assert.Empty(t, generated.Name, "the caller's object is not changed")
			assert.Empty(t, generated.Kind)
			key := client.KeyOf(made)
			assert.NotEmpty(t, made.UID)
			assert.Equal(t, corev1.SchemeGroupVersion.WithKind("Pod"), made.GroupVersionKind(), "with its kind")
			require.NotEmpty(t, made.ManagedFields)
			assert.Equal(t, "test", made.ManagedFields[0].Manager)

			made.Labels = map[string]string{"a": "b"}
			updated, err := c.Update(ctx, made)
			require.NoError(t, err)
			assert.NotEqual(t, made.ResourceVersion, updated.ResourceVersion)
			_, err = c.Update(ctx, made)
			assert.True(t, apierrors.IsConflict(err), "the version is checked: %v", err)

			updated.Status.Phase = corev1.PodRunning
			updated, err = c.Status().Update(ctx, updated)
			require.NoError(t, err)
			assert.Equal(t, corev1.PodRunning, updated.Status.Phase)

			patched, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`))
			require.NoError(t, err)
			assert.Equal(t, "c", patched.Labels["a"])
			got, err := c.Get(ctx, key)
			require.NoError(t, err)
			assert.Equal(t, patched, got)

			other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "other"}}
			err = c.Delete(ctx, key, client.Exactly(other))
			assert.True(t, apierrors.IsConflict(err), "preconditions are sent: %v", err)
			require.NoError(t, c.Delete(ctx, key, client.Exactly(got)))
			_, err = c.Get(ctx, key)
			assert.True(t, apierrors.IsNotFound(err))
			assert.ErrorContains(t, err, `pods "`+key.Name+`" not found`)
		})
	}
}

// Promise client/1
func TestClusterScopedAndUnstructuredObjects(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, server := connect[*corev1.Node](t, nodes, client.Options{})
	_, err := c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	dynamic, err := client.New[*unstructured.Unstructured](server.Config(), nodes, client.Options{})
	require.NoError(t, err)
	node, err := dynamic.Get(ctx, types.NamespacedName{Name: "n"})
	require.NoError(t, err)
	assert.Equal(t, "Node", node.GetKind())
	node.SetLabels(map[string]string{"a": "b"})
	node, err = dynamic.Update(ctx, node)
	require.NoError(t, err)
	assert.Equal(t, "b", node.GetLabels()["a"])
	_, err = dynamic.Create(ctx, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m"}}})
	assert.ErrorContains(t, err, `the kind ""; set both`)
}

// Promise client/1
func TestListFollowsPagesAndSelectors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _ := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	for i := range 7 {
		m := configMap(fmt.Sprint("c", i))
		m.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)}
		_, err := c.Create(ctx, m)
		require.NoError(t, err)
	}
	all, err := c.List(ctx, "", metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, all, 7)
	assert.Equal(t, "ConfigMap", all[0].Kind)
	odd, err := c.List(ctx, "default", metav1.ListOptions{LabelSelector: "odd=true"})
	require.NoError(t, err)
	assert.Len(t, odd, 3)
	require.NoError(t, c.DeleteCollection(ctx, "default", metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "odd=true"}))
	all, err = c.List(ctx, "default", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, all, 4)
	none, err := c.List(ctx, "elsewhere", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, none)
	_, err = c.List(ctx, "", metav1.ListOptions{Watch: true})
	assert.ErrorContains(t, err, "a reflector watches")
}

// Promise client/2
func TestApplyOwnsWhatItSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{FieldManager: "one"})
	key := types.NamespacedName{Namespace: "default", Name: "c"}
	config := func(value string) any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c", "namespace": "default"}, "data": map[string]any{"k": value}}
	}
	made, err := c.Apply(ctx, key, config("1"), false)
	require.NoError(t, err)
	assert.Equal(t, "1", made.Data["k"])
	two, err := client.New[*corev1.ConfigMap](server.Config(), configMaps, client.Options{FieldManager: "two"})
	require.NoError(t, err)
	_, err = two.Apply(ctx, key, config("2"), false)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	made, err = two.Apply(ctx, key, config("2"), true)
	require.NoError(t, err)
	assert.Equal(t, "2", made.Data["k"])
	nobody, err := client.New[*corev1.ConfigMap](server.Config(), configMaps, client.Options{})
	require.NoError(t, err)
	_, err = nobody.Apply(ctx, key, config("3"), true)
	assert.ErrorContains(t, err, "needs a FieldManager")
}

// Promise client/4
func TestWritesAreCollectedUntilTheCacheHasSeenThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.NoError(t, inf.Run(ctx)) }()
		require.NoError(t, informer.WaitForSync(ctx, inf))
		c, err := client.New[*corev1.ConfigMap](server.Config(), configMaps, client.Options{Cache: inf, FieldManager: "test"})
		require.NoError(t, err)
		other, err := client.New[*corev1.ConfigMap](server.Config(), configMaps, client.Options{})
		require.NoError(t, err)

		collecting, writes := client.Collect(ctx)
		assert.Nil(t, writes.Seen(), "no condition without a write")
		lag := server.Inject(informertest.Fault{Verb: "watch", Times: -1, Effect: informertest.Delay(time.Minute)})
		_ = lag
		made, err := c.Create(collecting, configMap("a"))
		require.NoError(t, err)
		made.Data = map[string]string{"k": "v"}
		_, err = c.Update(collecting, made)
		require.NoError(t, err)
		_, err = c.Patch(collecting, client.KeyOf(made), types.MergePatchType, []byte(`{"data":{"k":"w"}}`))
		require.NoError(t, err)
		_, err = c.Get(collecting, client.KeyOf(made))
		require.NoError(t, err)
		_, err = c.Create(collecting, configMap("a"))
		require.True(t, apierrors.IsAlreadyExists(err))
		_, err = other.Create(collecting, configMap("b"))
		require.NoError(t, err)
		require.NoError(t, c.Delete(collecting, client.KeyOf(made), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
		assert.Equal(t, 3, writes.Len(), "not reads, not failures, not of clients without a cache, not what the server only tries")

		queue := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
		queue.Park("a", writes.Seen(), time.Hour)
		item, ok := queue.Get(ctx)
		require.True(t, ok)
		queue.Done(item)
		cached, ok := inf.Snapshot().Get(client.KeyOf(made))
		require.True(t, ok)
		assert.Equal(t, "w", cached.Data["k"])
		queue.ShutDown()
		cancel()
		<-inf.Done()
		server.Close()
	})
}

// answering returns a client of a server that answers each request by respond.
func answering(t *testing.T, opts client.Options, cfg *rest.Config, respond http.HandlerFunc) *client.Client[*corev1.ConfigMap] {
	t.Helper()
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	cfg.Host = server.URL
	c, err := client.New[*corev1.ConfigMap](cfg, configMaps, opts)
	require.NoError(t, err)
	return c
}

var key = types.NamespacedName{Namespace: "default", Name: "c"}

// Promise client/5
func TestARequestIsSentAgainIfTheServerAsksForIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code     int
		header   string
		failures int32
		sent     int32
		ok       bool
	}{
		{429, "0", 3, 4, true},
		{503, "0", 3, 4, true},
		{429, "", 3, 1, false}, // not asked for
		{500, "", 1, 1, false},
		{404, "0", 1, 1, false}, // not of this kind
		{429, "soon", 1, 1, false},
		{429, "-1", 1, 1, false},
		{429, "0", 1000, 11, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent atomic.Int32
			var bodies atomic.Int32
			cl := responding(t, func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > 0 {
					bodies.Add(1)
				}
				if sent.Add(1) <= c.failures {
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					w.WriteHeader(c.code)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
			})
			_, err := cl.Update(t.Context(), configMap("c"))
			assert.Equal(t, c.ok, err == nil, "%v", err)
			assert.Equal(t, c.sent, sent.Load())
			assert.Equal(t, c.sent, bodies.Load(), "each with its body")
			if !c.ok {
				var status apierrors.APIStatus
				require.ErrorAs(t, err, &status)
				assert.EqualValues(t, c.code, status.Status().Code)
			}
		})
	}
}

// Promise client/6
func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contentType, body, want string }{
		{"text/html", "<html>login</html>", "is this the address of an API server?"},
		{"", "", "is this the address of an API server?"},
		{"application/json", "", "is not a"},
		{"application/json", "null", "without a name"},
		{"application/json", "{}", "without a name"},
		{"application/json", `{"metadata":{"name":7}}`, "is not a"},
		{"application/json", `{"kind":"Status","apiVersion":"v1","metadata":{"name":"c"},"status":"Success"}`, "is not a"},
		{"application/vnd.kubernetes.protobuf", "k8s", "protobuf"},
		{"application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff\xff\xff", "is not a"},
		{"application/vnd.kubernetes.protobuf", "k8s\x00\n\x0b\n\x02v1\x12\x05Other\x12\x00", `it is a "Other"`},
	} {
		for _, contentType := range []string{"", "application/json"} {
			cl := answering(t, client.Options{}, &rest.Config{QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType}}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				fmt.Fprint(w, c.body)
			})
			_, err := cl.Get(t.Context(), key)
			assert.ErrorContains(t, err, c.want, "%q %q", c.contentType, c.body)
			_, err = cl.List(t.Context(), "", metav1.ListOptions{})
			assert.Error(t, err, "%q %q", c.contentType, c.body)
		}
	}
}

// Untyped objects are of any kind, but a Status is the server's word about a request.
func TestAStatusIsNoUntypedObject(t *testing.T) {
	t.Parallel()
	c, err := client.New[*unstructured.Unstructured](&rest.Config{Host: "http://server", QPS: -1, Transport: responder(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","metadata":{"name":"c"},"status":"Success"}`)
	})}, configMaps, client.Options{})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), key)
	assert.ErrorContains(t, err, "it is a Status")
}

// Promise client/7
func TestARedirectToAnotherServerIsRefused(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(thief.Close)
	c := answering(t, client.Options{FieldManager: "m"}, &rest.Config{QPS: -1, BearerToken: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.Get(t.Context(), key)
	assert.ErrorContains(t, err, "would get the credentials")
	_, err = c.Create(t.Context(), configMap("c"))
	assert.ErrorContains(t, err, "would get the credentials")
	_, err = c.Update(t.Context(), configMap("c"))
	assert.ErrorContains(t, err, "would get the credentials")
	_, err = c.Apply(t.Context(), key, map[string]any{}, true)
	assert.ErrorContains(t, err, "would get the credentials")
	assert.Error(t, c.Delete(t.Context(), key, metav1.DeleteOptions{}))
	assert.Zero(t, stolen.Load())
}

type warned []string

func (w *warned) HandleWarningHeader(code int, _ string, text string) {
	*w = append(*w, fmt.Sprint(code, " ", text))
}

// Promise client/5
func TestWarningsAndUserAgentAndLimits(t *testing.T) {
	t.Parallel()
	var warnings warned
	var agent atomic.Value
	c := answering(t, client.Options{}, &rest.Config{ContentConfig: rest.ContentConfig{ContentType: "application/json"}, WarningHandler: &warnings}, func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent())
		w.Header().Set("Warning", `299 - "v1 is deprecated"`)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
	})
	_, err := c.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, warned{"299 v1 is deprecated"}, warnings)
	assert.Equal(t, rest.DefaultKubernetesUserAgent(), agent.Load())
	for range 20 * rest.DefaultBurst { // the default of client-go; on a slow machine some of it comes back meanwhile
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err = c.Get(ctx, key)
		cancel()
		if err != nil && strings.Contains(err.Error(), "rate limit") {
			return
		}
	}
	assert.ErrorContains(t, err, "rate limit")
}

// Promise client/5
func TestARequestHasAnEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	silent := func(http.ResponseWriter, *http.Request) { <-release }
	c := answering(t, client.Options{Timeout: 20 * time.Millisecond}, &rest.Config{QPS: -1}, silent)
	t.Cleanup(func() { close(release) }) // before the server is closed
	_, err := c.Get(t.Context(), key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	c = answering(t, client.Options{}, &rest.Config{QPS: -1, Timeout: 20 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err = c.Get(t.Context(), key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	_, err = c.Get(ctx, key)
	require.ErrorIs(t, err, assert.AnError)
	c = answering(t, client.Options{Timeout: time.Second}, &rest.Config{QPS: -1}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err = c.Get(t.Context(), key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, apierrors.IsTooManyRequests(errors.Unwrap(err)) || strings.Contains(err.Error(), "429") || strings.Contains(err.Error(), "too many"), "and it says what for: %v", err)
}

// Promise client/8
func TestImpossibleArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	_, err := client.New[*corev1.Pod](nil, pods, client.Options{})
	assert.ErrorContains(t, err, "needs a rest.Config")
	_, err = client.New[*corev1.Pod](cfg, schema.GroupVersionResource{Resource: "pods"}, client.Options{})
	assert.ErrorContains(t, err, "version and plural name are needed")
	_, err = client.New[*corev1.Pod](cfg, schema.GroupVersionResource{Version: "..", Resource: "pods"}, client.Options{})
	assert.ErrorContains(t, err, "can be no part of a URL")
	_, err = client.New[client.Object](cfg, pods, client.Options{})
	assert.ErrorContains(t, err, "is not a pointer to a struct")
	_, err = client.New[*corev1.Pod](cfg, pods, client.Options{Timeout: -1})
	assert.ErrorContains(t, err, "Timeout is -1ns")
	_, err = client.New[*corev1.Pod](&rest.Config{Host: "http://%"}, pods, client.Options{})
	assert.ErrorContains(t, err, "client: pods")

	c, err := client.New[*corev1.Pod](cfg, pods, client.Options{})
	require.NoError(t, err)
	_, err = c.Get(t.Context(), types.NamespacedName{Namespace: "default"})
	assert.ErrorContains(t, err, "the name of the object is empty")
	_, err = c.Get(t.Context(), types.NamespacedName{Namespace: "..", Name: "p"})
	assert.ErrorContains(t, err, "can be no part of a URL")
	_, err = c.Create(t.Context(), nil)
	assert.ErrorContains(t, err, "the object is nil")
	assert.ErrorContains(t, c.Delete(t.Context(), types.NamespacedName{}, metav1.DeleteOptions{}), "the name of the object is empty")
}

// Promise client/1
func TestTheContentTypeOfTheConfigurationDecides(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]string{"": "application/vnd.kubernetes.protobuf", "application/json": "application/json"} {
		var got atomic.Value
		c := answering(t, client.Options{}, &rest.Config{QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType}}, func(w http.ResponseWriter, r *http.Request) {
			got.Store(r.Header.Get("Content-Type"))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
		})
		_, err := c.Create(t.Context(), configMap("c"))
		require.NoError(t, err)
		assert.Equal(t, want, got.Load())
	}
}

// An aggregated API server may have no protobuf of a resource.
//
// Promise client/1
func TestAServerThatDoesNotReadProtobufIsSentJSON(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{}) // without the Go types
	cfg := server.Config()
	cfg.ContentType = ""
	c, err := client.New[*corev1.ConfigMap](cfg, configMaps, client.Options{})
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		made, err := c.Create(t.Context(), configMap(name))
		require.NoError(t, err)
		assert.NotEmpty(t, made.UID)
	}
	creates := slices.DeleteFunc(server.Requests(), func(r informertest.Request) bool { return r.Verb != "create" })
	assert.Len(t, creates, 3, "only the first is sent twice")
}
