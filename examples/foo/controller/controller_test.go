package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

var deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")

// fixture is a controller at work, and what a user has to write with.
type fixture struct {
	t           *testing.T
	server      *informertest.Server
	writes      *demo.Transcript // a line for each successful write of the controller
	foos        *client.Client[*api.Foo]
	deployments *client.Client[*appsv1.Deployment]
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	server := informertest.Start(t, informertest.Options{})
	crd, err := os.ReadFile("../crd.yaml")
	require.NoError(t, err)
	require.NoError(t, demo.Install(t.Context(), server.Config(), crd))
	f := &fixture{t: t, server: server, writes: demo.NewTranscript(t.Output())}
	f.foos, err = client.New[*api.Foo](server.Config(), api.Resource, client.Options{})
	require.NoError(t, err)
	f.deployments, err = client.New[*appsv1.Deployment](server.Config(), deploymentResource, client.Options{})
	require.NoError(t, err)
	return f
}

// config reaches the server, and prints the writes.
func (f *fixture) config() *rest.Config {
	return demo.PrintWrites(f.server.Config(), f.writes, "controller", line)
}

// start starts the controller; it is stopped at the end of the test.
func (f *fixture) start() *Controller {
	f.t.Helper()
	c := New(controller.Options{Config: f.config(), Workers: 2, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	f.t.Cleanup(func() {
		stop()
		assert.NoError(f.t, <-ended)
	})
	return c
}

// line describes a write: events by what they say.
func line(w demo.Write) string {
	var e eventsv1.Event
	if w.Resource == "events" && json.Unmarshal(w.Body, &e) == nil {
		return fmt.Sprintf("event of %s: %s %s: %s", e.Regarding.Name, e.Type, e.Reason, e.Note)
	}
	return w.Done()
}

func (f *fixture) sees(texts ...string) {
	f.t.Helper()
	require.NoError(f.t, f.writes.Wait(f.t.Context(), texts...))
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: name}
}

func (f *fixture) createFoo(name, deployment string, replicas int32) *api.Foo {
	f.t.Helper()
	foo, err := f.foos.Create(f.t.Context(), &api.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       api.FooSpec{DeploymentName: deployment, Replicas: &replicas},
	})
	require.NoError(f.t, err)
	return foo
}

func (f *fixture) deployment(name string) *appsv1.Deployment {
	f.t.Helper()
	d, err := f.deployments.Get(f.t.Context(), key(name))
	require.NoError(f.t, err)
	return d
}

// available writes a status, as the controller of Deployments would.
func (f *fixture) available(name string, replicas int32) {
	f.t.Helper()
	_, err := f.deployments.Status().Modify(f.t.Context(), key(name), func(d *appsv1.Deployment) error {
		d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas, replicas
		return nil
	})
	require.NoError(f.t, err)
}

func TestFooHasADeploymentThatItOwnsAndItsStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	foo := f.createFoo("web", "web-deployment", 2)
	f.sees("created deployment web-deployment", "event of web: Normal Synced: Foo synced successfully")
	d := f.deployment("web-deployment")
	assert.True(t, metav1.IsControlledBy(d, foo))
	assert.EqualValues(t, 2, *d.Spec.Replicas)
	assert.Equal(t, map[string]string{"app": "nginx", "controller": "web"}, d.Spec.Selector.MatchLabels)

	f.available("web-deployment", 2)
	f.sees("patched the status of foo web")
	foo, err := f.foos.Get(t.Context(), key("web"))
	require.NoError(t, err)
	assert.EqualValues(t, 2, foo.Status.AvailableReplicas)
}

func TestForeignDeploymentIsRefusedWithAnEventAndTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreign := NewDeployment(&api.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "other"}, Spec: api.FooSpec{DeploymentName: "taken"}})
	foreign.OwnerReferences = nil
	before, err := f.deployments.Create(t.Context(), foreign)
	require.NoError(t, err)
	f.start()
	f.createFoo("greedy", "taken", 3)
	f.sees(`event of greedy: Warning ErrResourceExists: Resource "taken" already exists and is not managed by Foo`)
	assert.Equal(t, before.ResourceVersion, f.deployment("taken").ResourceVersion, "left alone")

	require.NoError(t, f.deployments.Delete(t.Context(), key("taken"), metav1.DeleteOptions{}))
	f.sees("created deployment taken") // no event leads there: it was tried again
	f.sees("event of greedy: Normal Synced")
}

func TestEmptyDeploymentNameIsReportedUntilItIsFilledIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.createFoo("nameless", "", 1)
	f.sees("event of nameless: Warning ErrDeploymentNameEmpty: spec.deploymentName is empty")
	_, err := f.foos.Modify(t.Context(), key("nameless"), func(foo *api.Foo) error {
		foo.Spec.DeploymentName = "named"
		return nil
	})
	require.NoError(t, err)
	f.sees("created deployment named", "event of nameless: Normal Synced")
}

// conflict refuses one write of a resource as if another writer had been faster.
func (f *fixture) conflict(resource, subresource string) {
	f.server.Inject(informertest.Fault{
		Verb: "patch", Resource: resource,
		Match:  func(r informertest.Request) bool { return r.Subresource == subresource },
		Effect: informertest.Refuse(apierrors.NewConflict(deploymentResource.GroupResource(), "web", errors.New("another writer was faster"))),
	})
}

func TestScalingIsMadeAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	f.conflict("deployments", "")
	_, err := f.foos.Modify(t.Context(), key("web"), func(foo *api.Foo) error { *foo.Spec.Replicas = 3; return nil })
	require.NoError(t, err)
	f.sees("patched deployment web")
	assert.EqualValues(t, 3, *f.deployment("web").Spec.Replicas)
	assert.Equal(t, 2, f.server.Count("patch", "deployments"), "refused, and written")
}

func TestStatusIsWrittenAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	f.conflict("foos", "status")
	f.available("web", 1)
	f.sees("patched the status of foo web")
	foo, err := f.foos.Get(t.Context(), key("web"))
	require.NoError(t, err)
	assert.EqualValues(t, 1, foo.Status.AvailableReplicas)
}

// A write that is not in the cache yet would be made again, on top of an old version, and refused.
func TestFooIsNotLookedAtAgainBeforeTheCacheHasItsStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createFoo("web", "web", 1)
	// The cache gets the Foo, and nothing about its status.
	f.server.Inject(informertest.Fault{Verb: "watch", Resource: "foos", Effect: informertest.StallWatch(2)})
	c := f.start()
	f.sees("created deployment web")
	f.available("web", 1)
	f.sees("patched the status of foo web")
	f.available("web", 2)
	require.NoError(t, c.deployments.Cache.WaitForObject(t.Context(), f.deployment("web")))
	require.Eventually(t, func() bool {
		in := c.Inspect(10)
		return len(in.Parked) == 1 && len(in.Running)+len(in.Queued)+len(in.Delayed) == 0
	}, time.Minute, time.Millisecond, "the Foo waits for its own status")
	f.server.BreakConnections()
	f.sees("patched the status of foo web")
	assert.Equal(t, 2, f.statusWrites(), "none was refused")
}

// A Foo that waits for its finalizers gets nothing new: it would be in the way of a deletion in the foreground.
func TestNothingIsCreatedForAFooThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	_, err := f.foos.Modify(t.Context(), key("web"), func(foo *api.Foo) error { foo.Finalizers = []string{"example.com/held"}; return nil })
	require.NoError(t, err)
	require.NoError(t, f.foos.Delete(t.Context(), key("web"), metav1.DeleteOptions{}))
	foo, err := f.foos.Get(t.Context(), key("web"))
	require.NoError(t, err)
	require.NoError(t, c.foos.Cache.WaitForObject(t.Context(), foo))
	require.NoError(t, f.deployments.Delete(t.Context(), key("web"), metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return c.deployments.Cache.Snapshot().Len() == 0 && c.idle() }, time.Minute, time.Millisecond)
	assert.Equal(t, 1, f.server.Count("create", "deployments"))
}

// It causes no event: the list that follows lacks it, as the cache did.
func TestDeploymentThatIsDeletedBeforeTheCacheHasItComesBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// The cache gets the bookmark that ends the empty first list, and no Deployment.
	f.server.Inject(informertest.Fault{Verb: "watch", Resource: "deployments", Effect: informertest.StallWatch(1)})
	c := f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	require.Eventually(t, func() bool { return len(c.Inspect(10).Parked) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, f.server.Delete(deploymentResource, metav1.NamespaceDefault, "web"))
	f.server.Compact()
	f.server.BreakConnections()
	f.sees("created deployment web")
	assert.Equal(t, 2, f.server.Count("create", "deployments"))
}

// A scale that is not in the cache yet would be made again.
func TestDeploymentIsScaledOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// The bookmark and the new Deployment.
	f.server.Inject(informertest.Fault{Verb: "watch", Resource: "deployments", Effect: informertest.StallWatch(2)})
	c := f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	require.Eventually(t, func() bool { return c.deployments.Cache.Snapshot().Len() == 1 && c.idle() }, time.Minute, time.Millisecond)
	_, err := f.foos.Modify(t.Context(), key("web"), func(foo *api.Foo) error { *foo.Spec.Replicas = 3; return nil })
	require.NoError(t, err)
	f.sees("patched deployment web")
	require.Eventually(t, func() bool { return len(c.Inspect(10).Parked) == 1 }, time.Minute, time.Millisecond)
	foo, err := f.foos.Modify(t.Context(), key("web"), func(foo *api.Foo) error {
		foo.Labels = map[string]string{"app": "web"}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, c.foos.Cache.WaitForObject(t.Context(), foo))
	f.server.BreakConnections()
	require.Eventually(t, c.idle, time.Minute, time.Millisecond)
	assert.Equal(t, 1, f.server.Count("patch", "deployments"))
}

// idle reports whether there is nothing to do and to wait for.
func (c *Controller) idle() bool {
	in := c.Inspect(10)
	return len(in.Running)+len(in.Queued)+len(in.Delayed)+len(in.Parked) == 0
}

// statusWrites returns how many statuses of Foos were sent to the server.
func (f *fixture) statusWrites() (n int) {
	for _, r := range f.server.Requests() {
		if r.Verb == "patch" && r.Resource == "foos" && r.Subresource == "status" {
			n++
		}
	}
	return n
}

// A deletion that no watch has delivered leads to the Foo all the same: by the last
// known state, which has the owner.
func TestDeploymentWhoseDeletionWasMissedComesBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web", "event of web: Normal Synced")
	require.NoError(t, f.server.Pause())
	require.NoError(t, f.server.Delete(deploymentResource, metav1.NamespaceDefault, "web"))
	f.server.Compact()
	require.NoError(t, f.server.Resume())
	f.sees("created deployment web")
}

// A Deployment that is there when the cache lacks it is not created again: the
// server refuses, and the next attempt finds it.
func TestDeploymentThatTheCacheLacksIsFoundByTheNextAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.server.Inject(informertest.Fault{
		Verb: "create", Resource: "deployments",
		Effect: informertest.Refuse(apierrors.NewAlreadyExists(deploymentResource.GroupResource(), "web")),
	})
	f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web", "event of web: Normal Synced")
	assert.Equal(t, 2, f.server.Count("create", "deployments"))
}

// A list that finds nothing changed leads to no work, and a status that is right is
// not written.
func TestNothingIsWrittenWhenNothingHasChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	f.createFoo("web", "web", 1)
	f.sees("created deployment web")
	f.available("web", 1)
	f.sees("patched the status of foo web")
	lists := f.server.Count("", "deployments")
	f.server.Compact()
	f.server.BreakConnections()

	// A change of a Deployment that leaves the status as it is.
	require.NoError(t, f.server.Modify(deploymentResource, metav1.NamespaceDefault, "web", func(d *unstructured.Unstructured) {
		d.SetLabels(map[string]string{"a": "b"})
	}))
	require.NoError(t, f.server.Create(&api.Foo{ // when this is done, all before it is
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "later"},
		Spec:       api.FooSpec{DeploymentName: "later"},
	}))
	f.sees("created deployment later", "event of later: Normal Synced")
	assert.Greater(t, f.server.Count("", "deployments"), lists)
	assert.Equal(t, 1, f.statusWrites())
	assert.Zero(t, f.server.Count("patch", "deployments")-1, "the one of the test: a status")
}
