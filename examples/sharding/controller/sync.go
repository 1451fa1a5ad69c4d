package controller

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/foo/api"
	sample "github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/workqueue"
)

// sync brings the Deployment of one Foo to what the Foo asks for. The context ends if the
// part is lost.
func (c *Controller) sync(ctx context.Context, part *sharding.Part, key types.NamespacedName) (workqueue.Result, error) {
	foo, exists := c.foos.Snapshot().Get(key)
	// It may have been made again while this began: then it is in another part.
	if !exists || c.ranges.KeyOf(foo).Part != part.Index || foo.DeletionTimestamp != nil {
		return workqueue.Result{}, nil
	}
	if foo.Spec.DeploymentName == "" {
		return workqueue.Result{}, workqueue.Terminal(fmt.Errorf("foo %s: spec.deploymentName is empty", key))
	}
	name := types.NamespacedName{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}
	deployment, err := c.deployments.Lister().Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return workqueue.Result{}, err
	}
	// The Deployment of an earlier Foo of this name does not count. Its deletion is an event for the part of that Foo,
	// so this one is tried again, by the error below, until it is gone.
	asked := err == nil && metav1.IsControlledBy(deployment, foo) && isScaled(foo, deployment)
	if asked && MarkOf(foo, Done).Generation == foo.Generation {
		return workqueue.Result{}, nil
	}

	mark := Mark{Replica: c.opts.Identity, Part: part.Index, Term: part.Transitions, Generation: foo.Generation}
	// It fails if the cache still has a Foo that is gone. Without that, the Deployment of such a Foo would
	// be created and deleted by the garbage collector, in turn, until the cache is up to date.
	if _, err := c.mark(ctx, foo, mark, Working, ""); err != nil {
		return workqueue.Result{}, err
	}
	var written *appsv1.Deployment
	switch {
	case deployment == nil:
		// If it exists, it is not the Foo's, or the cache of a new owner does not have it yet:
		// then an error says so, and it is tried again.
		written, err = c.deploymentClient.Create(ctx, sample.NewDeployment(foo))
	case !metav1.IsControlledBy(deployment, foo):
		err = fmt.Errorf("deployment %s is not controlled by foo %s", name, key)
	case !asked:
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas(foo))
		if written, err = c.deploymentClient.Patch(ctx, name, types.MergePatchType, patch); err != nil {
			err = fmt.Errorf("scale deployment %s: %w", name, err)
		}
	default:
		err = nil
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	// Not again before the caches have what was written: it would look undone. They are two, and
	// either may be behind the other.
	var seen workqueue.Condition
	if written != nil {
		seen = c.deployments.Seen(written)
	}
	marked, err := c.mark(ctx, foo, mark, Done, Working)
	if err != nil {
		return workqueue.Result{Until: seen}, err
	}
	return workqueue.Result{Until: workqueue.All(seen, c.foos.Seen(marked))}, nil
}

// mark writes a mark. The writes carry no resourceVersion on purpose: with one, the server
// would refuse the second of two replicas, and the demo could not count that there were two. The UID is a
// precondition: another Foo may have the name by now.
func (c *Controller) mark(ctx context.Context, foo *api.Foo, m Mark, set, remove string) (*api.Foo, error) {
	patch, err := m.patch(foo.UID, set, remove)
	if err != nil {
		return nil, err
	}
	marked, err := c.fooClient.Patch(ctx, client.KeyOf(foo), types.MergePatchType, patch)
	if err != nil {
		return nil, fmt.Errorf("mark foo %s: %w", client.KeyOf(foo), err)
	}
	return marked, nil
}

// replicas is what a Foo asks for.
func replicas(foo *api.Foo) int32 {
	if foo.Spec.Replicas == nil {
		return 1
	}
	return *foo.Spec.Replicas
}

func isScaled(foo *api.Foo, deployment *appsv1.Deployment) bool {
	return deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == replicas(foo)
}

// Where a replica writes what it does with a Foo: at the beginning of a reconcile, and at
// its end. So the history of the server says whether two have worked on one at once. A
// controller in production needs neither.
const (
	Working = "examples.informerkit.dev/working"
	Done    = "examples.informerkit.dev/done"
)

// Mark is a reconcile. Term is how many times the part was taken, which grows from owner to
// owner, and Generation that of the Foo.
type Mark struct {
	Replica    string `json:"replica"`
	Part       int    `json:"part"`
	Term       int    `json:"term"`
	Generation int64  `json:"generation"`
}

// MarkOf returns the mark in an annotation of an object; the zero Mark if there is none.
func MarkOf(obj metav1.Object, annotation string) (m Mark) {
	if json.Unmarshal([]byte(obj.GetAnnotations()[annotation]), &m) != nil {
		return Mark{}
	}
	return m
}

// patch returns the merge patch that sets one annotation of an object and removes another one.
func (m Mark) patch(uid types.UID, set, remove string) ([]byte, error) {
	mark, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	annotations := map[string]any{set: string(mark)}
	if remove != "" {
		annotations[remove] = nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": annotations}})
}
