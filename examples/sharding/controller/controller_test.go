package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue/history"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// fixture is a server with the kind Foo in a bubble, and what a user has to write with.
type fixture struct {
	t           *testing.T
	server      *informertest.Server
	foos        *client.Client[*api.Foo]
	deployments *client.Client[*appsv1.Deployment]
	log         exampletest.Watcher
	replicas    []*replica
}

// replica is a replica, and what it has said.
type replica struct {
	controller *Controller
	stop       context.CancelFunc
	ended      chan error
	mu         sync.Mutex
	said       []string
}

// inBubble runs a test in a bubble, and stops what it has started.
func inBubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		crd, err := os.ReadFile("../crd.yaml")
		require.NoError(t, err)
		require.NoError(t, demo.Install(t.Context(), server.Config(), crd))
		f := &fixture{t: t, server: server}
		f.log.Seen = func() {}
		f.foos, err = client.New[*api.Foo](server.Config(), api.Resource, client.Options{})
		require.NoError(t, err)
		f.deployments, err = client.New[*appsv1.Deployment](server.Config(), appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{})
		require.NoError(t, err)
		test(f)
		for _, r := range f.replicas {
			f.end(r)
		}
	})
}

// start starts a replica, and waits until it has its parts.
func (f *fixture) start(opts Options) *replica {
	f.t.Helper()
	r := f.begin(opts)
	exampletest.Pass(5 * time.Second)
	return r
}

func (f *fixture) begin(opts Options) *replica {
	f.t.Helper()
	r := &replica{ended: make(chan error, 1)}
	opts.Identity, opts.LeaseNamespace = fmt.Sprint("replica-", len(f.replicas)), "default"
	opts.Log = slog.New(slog.NewTextHandler(&f.log, nil))
	opts.Say = func(format string, args ...any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, fmt.Sprintf(format, args...))
	}
	var err error
	r.controller, err = New(f.server.Config(), opts)
	require.NoError(f.t, err)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(f.t.Context())
	go func() { r.ended <- r.controller.Run(ctx, 2) }()
	f.replicas = append(f.replicas, r)
	return r
}

// end stops a replica, and waits until its parts are handed over.
func (f *fixture) end(r *replica) {
	f.t.Helper()
	if r.stop == nil {
		return
	}
	r.stop()
	require.NoError(f.t, <-r.ended)
	r.stop = nil
}

// says returns what the replica has said last.
func (r *replica) says() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said[len(r.said)-1]
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}
}

func (f *fixture) create(name, deployment string, count *int32) {
	f.t.Helper()
	_, err := f.foos.Create(f.t.Context(), &api.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       api.FooSpec{DeploymentName: deployment, Replicas: count},
	})
	require.NoError(f.t, err)
}

func (f *fixture) foo(name string) *api.Foo {
	f.t.Helper()
	foo, err := f.foos.Get(f.t.Context(), key(name))
	require.NoError(f.t, err)
	return foo
}

func (f *fixture) deployment(name string) *appsv1.Deployment {
	f.t.Helper()
	d, err := f.deployments.Get(f.t.Context(), key(name))
	require.NoError(f.t, err)
	return d
}

func TestFooHasItsDeployment(t *testing.T) {
	inBubble(t, func(f *fixture) {
		t := f.t
		f.create("one", "one", nil)
		f.start(Options{})
		assert.EqualValues(t, 1, *f.deployment("one").Spec.Replicas, "if the Foo does not say how many")
		assert.True(t, metav1.IsControlledBy(f.deployment("one"), f.foo("one")))
		done := MarkOf(f.foo("one"), Done)
		assert.Equal(t, Mark{Replica: "replica-0", Part: done.Part, Term: 1, Generation: f.foo("one").Generation}, done)
		assert.Zero(t, MarkOf(f.foo("one"), Working), "it is done")

		_, err := f.foos.Patch(t.Context(), key("one"), types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
		require.NoError(t, err)
		exampletest.Pass(time.Second)
		assert.EqualValues(t, 3, *f.deployment("one").Spec.Replicas)
		assert.Equal(t, f.foo("one").Generation, MarkOf(f.foo("one"), Done).Generation)

		// What is changed or deleted by hand comes back: it leads to the key of its owner.
		_, err = f.deployments.Patch(t.Context(), key("one"), types.MergePatchType, []byte(`{"spec":{"replicas":9}}`))
		require.NoError(t, err)
		exampletest.Pass(time.Second)
		assert.EqualValues(t, 3, *f.deployment("one").Spec.Replicas)
		require.NoError(t, f.deployments.Delete(t.Context(), key("one"), metav1.DeleteOptions{}))
		exampletest.Pass(time.Second)
		assert.EqualValues(t, 3, *f.deployment("one").Spec.Replicas)

		version := f.foo("one").ResourceVersion
		exampletest.Pass(10 * time.Minute)
		assert.Equal(t, version, f.foo("one").ResourceVersion, "nothing is written if there is nothing to do")
		assert.NotContains(t, f.log.String(), "processing an item")
	})
}

// What a user has to mend is said with its name, and the others are not held up.
func TestFooThatCannotBeServedIsReported(t *testing.T) {
	inBubble(t, func(f *fixture) {
		t := f.t
		f.start(Options{})
		app := map[string]string{"app": "taken"}
		taken := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken"}}
		taken.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
		taken.Spec.Template.Labels = app
		taken.Spec.Template.Spec.Containers = []corev1.Container{{Name: "taken", Image: "taken"}}
		_, err := f.deployments.Create(t.Context(), taken)
		require.NoError(t, err)
		f.create("greedy", "taken", nil)
		f.create("nameless", "", nil)
		f.create("one", "one", nil)
		exampletest.Pass(5 * time.Second)
		assert.NotZero(t, MarkOf(f.foo("one"), Done))
		assert.Zero(t, MarkOf(f.foo("greedy"), Done))
		assert.Zero(t, MarkOf(f.foo("nameless"), Working), "it is not even begun")
		assert.Empty(t, f.deployment("taken").OwnerReferences, "left alone")
		assert.Contains(t, f.log.String(), "foo default/nameless: spec.deploymentName is empty")
		assert.Equal(t, 1, strings.Count(f.log.String(), "default/nameless: "), "it is not tried again: %s", &f.log)
		assert.Contains(t, f.log.String(), "deployment default/taken is not controlled by foo default/greedy")
		// It is tried again: when the Deployment is gone it is done.
		require.NoError(t, f.deployments.Delete(t.Context(), key("taken"), metav1.DeleteOptions{}))
		exampletest.Pass(time.Minute)
		assert.NotZero(t, MarkOf(f.foo("greedy"), Done))
		assert.True(t, metav1.IsControlledBy(f.deployment("taken"), f.foo("greedy")))
	})
}

// Each replica has some of the Foos, and the Deployments of these; when one leaves, the
// other one has all of them.
func TestReplicasShareFoosAndTheirDeployments(t *testing.T) {
	const foos = 100
	inBubble(t, func(f *fixture) {
		t := f.t
		for i := range foos {
			f.create(fmt.Sprint("foo-", i), fmt.Sprint("foo-", i), nil)
		}
		first := f.start(Options{})
		assert.Equal(t, "has 24 of 24 parts, with 100 foos", first.says())
		second := f.start(Options{})
		has := func(r *replica) (names []string) {
			c := r.controller
			for foo := range c.foos.Snapshot().All() {
				names = append(names, foo.Name)
				_, exists := c.deployments.Snapshot().Get(key(foo.Name))
				assert.True(t, exists, "the Deployment of %s", foo.Name)
			}
			assert.Equal(t, len(names), c.deployments.Snapshot().Len())
			assert.Equal(t, fmt.Sprintf("has 12 of 24 parts, with %d foos", len(names)), r.says())
			return names
		}
		all := append(has(first), has(second)...)
		slices.Sort(all)
		assert.Len(t, slices.Compact(all), foos, "each is in one cache")

		f.end(first)
		assert.Equal(t, "has 0 of 24 parts, with 0 foos", first.says())
		exampletest.Pass(5 * time.Second)
		assert.Equal(t, "has 24 of 24 parts, with 100 foos", second.says())
		_, err := f.foos.Patch(t.Context(), key("foo-7"), types.MergePatchType, []byte(`{"spec":{"replicas":2}}`))
		require.NoError(t, err)
		exampletest.Pass(time.Second)
		assert.Equal(t, "replica-1", MarkOf(f.foo("foo-7"), Done).Replica)
	})
}

// More replicas than parts: those without a part stand by, and are ready.
func TestReplicaWithoutAPartStandsBy(t *testing.T) {
	inBubble(t, func(f *fixture) {
		t := f.t
		for range Parts + 1 {
			f.begin(Options{LeaseDuration: time.Minute}) // few renewals, each of which all replicas see
		}
		exampletest.Pass(15 * time.Second)
		without := 0
		for _, r := range f.replicas {
			if r.says() == "joins" || strings.HasPrefix(r.says(), "has 0 ") {
				without++
				assert.NoError(t, r.controller.Readiness().Ready())
			}
		}
		assert.Equal(t, 1, without)
	})
}

// A Foo that is made again under the same name is another one, in another part.
func TestFooThatIsMadeAgainIsServed(t *testing.T) {
	inBubble(t, func(f *fixture) {
		t := f.t
		f.start(Options{})
		for n := int32(1); n <= 5; n++ {
			f.create("one", fmt.Sprint("one-", n), &n)
			exampletest.Pass(time.Second)
			assert.Equal(t, n, *f.deployment(fmt.Sprint("one-", n)).Spec.Replicas)
			assert.Equal(t, f.foo("one").Generation, MarkOf(f.foo("one"), Done).Generation)
			require.NoError(t, f.foos.Delete(t.Context(), key("one"), metav1.DeleteOptions{}))
		}
	})
}

// The history has what the informers have received of a Foo.
func TestHistoryHasTheEventsOfAFoo(t *testing.T) {
	inBubble(t, func(f *fixture) {
		t := f.t
		recorder := history.New(history.Options{Entries: 1024})
		f.start(Options{History: recorder})
		f.create("one", "one", nil)
		exampletest.Pass(time.Second)
		informers := map[string]bool{}
		for _, e := range recorder.Of(history.ParseKey("default/one").String()).Entries {
			if e.What == history.Received {
				informers[e.Part.Informer] = true
			}
		}
		assert.Equal(t, []string{"deployments", "foos"}, slices.Sorted(maps.Keys(informers)))
	})
}

func TestMarks(t *testing.T) {
	t.Parallel()
	foo := &api.Foo{}
	for _, text := range []string{"", "x", "{", "[]", `{"part":"one"}`, `{"replica":7}`} {
		foo.Annotations = map[string]string{Done: text}
		assert.Zero(t, MarkOf(foo, Done), text)
	}
	m := Mark{Replica: `a"b`, Part: 3, Term: 2, Generation: 7}
	patch, err := m.patch("u", Done, Working)
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"uid":"u","annotations":{
		"examples.informerkit.dev/done": "{\"replica\":\"a\\\"b\",\"part\":3,\"term\":2,\"generation\":7}",
		"examples.informerkit.dev/working": null}}}`, string(patch))
	patch, err = m.patch("u", Working, "")
	require.NoError(t, err)
	assert.NotContains(t, string(patch), "null")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := Options{Identity: "me", LeaseNamespace: "default"}
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	_, err := New(cfg, good)
	require.NoError(t, err)
	for says, change := range map[string]func(o *Options){
		`Options.Identity is "A/b"`:                   func(o *Options) { o.Identity = "A/b" },
		`Options.Namespace is ""`:                     func(o *Options) { o.LeaseNamespace = "" },
		"LeaseDuration is 1ms; use 1s to 1h0m0s":      func(o *Options) { o.LeaseDuration = time.Millisecond },
		"LeaseDuration is 2h0m0s; use 1s to 1h0m0s":   func(o *Options) { o.LeaseDuration = 2 * time.Hour },
		"RenewInterval and DrainTimeout must not be ": func(o *Options) { o.LeaseDuration = -time.Second },
	} {
		opts := good
		change(&opts)
		_, err := New(cfg, opts)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err = New(&rest.Config{Host: "::"}, good)
	require.Error(t, err)
}
