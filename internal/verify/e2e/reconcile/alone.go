package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/informer/client"
)

// RequestsAlone is the limit of both sides: it sends the requests of the controller
// during throughput, with the client of ours, and has neither informers nor a queue.
// The sets have to be there when it starts.
const RequestsAlone Side = "requests alone"

// alone serves new sets that it has listed before, each once.
type alone struct {
	namespace string
	pods      *client.Client[*corev1.Pod]
	sets      *client.Client[*api.ReplicaSet]

	listed []*api.ReplicaSet    // by name; those that are not yet in work
	work   chan *api.ReplicaSet // to the workers
}

func newAlone(cfg *rest.Config, namespace string, workers int) (*Controller, error) {
	pods, err := client.New[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{})
	if err != nil {
		return nil, err
	}
	sets, err := client.New[*api.ReplicaSet](cfg, api.GroupVersionResource, client.Options{})
	if err != nil {
		return nil, err
	}
	a := &alone{namespace: namespace, pods: pods, sets: sets, work: make(chan *api.ReplicaSet)}
	return &Controller{Run: func(ctx context.Context) error { return a.run(ctx, workers) }, WaitForSync: a.list, Begin: a.begin}, nil
}

// list reads the sets: what it knows in place of a cache.
func (a *alone) list(ctx context.Context) (err error) {
	a.listed, err = a.sets.List(ctx, a.namespace, metav1.ListOptions{})
	slices.SortFunc(a.listed, func(x, y *api.ReplicaSet) int { return strings.Compare(x.Name, y.Name) })
	return err
}

// begin hands the next n sets to the workers, the first ones first.
func (a *alone) begin(ctx context.Context, n int) error {
	if n > len(a.listed) {
		return fmt.Errorf("there are %d sets left, and not %d; create them before the process starts", len(a.listed), n)
	}
	for _, set := range a.listed[:n] {
		select {
		case a.work <- set:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	a.listed = a.listed[n:]
	return nil
}

// run sends the requests for the sets that begin hands over, until ctx ends or one fails.
func (a *alone) run(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				select {
				case set := <-a.work:
					if err := a.serve(ctx, set); err != nil {
						cancel(err)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// serve does for a new set what both controllers do: it asks whether the set is still there,
// creates the pods, one, two, four … at a time, writes the status without them, and then with them.
func (a *alone) serve(ctx context.Context, set *api.ReplicaSet) error {
	if _, err := a.sets.Get(ctx, client.KeyOf(set)); err != nil {
		return fmt.Errorf("before creating pods: %w", err)
	}
	made := make([]*corev1.Pod, set.Replicas())
	for first, size := 0, 1; first < len(made); first, size = first+size, 2*size {
		batch := made[first:min(first+size, len(made))]
		errs := make([]error, len(batch))
		var creating sync.WaitGroup
		for i := range batch {
			creating.Go(func() { batch[i], errs[i] = a.pods.Create(ctx, controller.NewPod(set)) })
		}
		creating.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("create pods of %s: %w", set.Name, err)
		}
	}
	for _, active := range [][]*corev1.Pod{nil, made} {
		next := set.DeepCopy()
		next.Status, _ = controller.Status(set, active, time.Now())
		var err error
		if set, err = a.sets.Status().Update(ctx, next); err != nil {
			return fmt.Errorf("update the status of %s: %w", next.Name, err)
		}
	}
	return nil
}
