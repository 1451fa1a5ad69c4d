package flaws

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	step01 "github.com/informerkit/informerkit/examples/build/step01"
	step02 "github.com/informerkit/informerkit/examples/build/step02"
	step03 "github.com/informerkit/informerkit/examples/build/step03"
	step04 "github.com/informerkit/informerkit/examples/build/step04"
	step05 "github.com/informerkit/informerkit/examples/build/step05"
	"github.com/informerkit/informerkit/examples/build/step05/locked"
	step06 "github.com/informerkit/informerkit/examples/build/step06"
	step07 "github.com/informerkit/informerkit/examples/build/step07"
	step08 "github.com/informerkit/informerkit/examples/build/step08"
	step09 "github.com/informerkit/informerkit/examples/build/step09"
	step10 "github.com/informerkit/informerkit/examples/build/step10"
)

const namespace = "default"

// informer is what the informers of all steps have in common.
type informer interface {
	Run(ctx context.Context) error
	Get(key types.NamespacedName) *corev1.ConfigMap
	List() []*corev1.ConfigMap
}

// newInformer returns the informer of a step. handle is called with its events.
func newInformer(step int, cfg *rest.Config, handle func(event string)) (informer, error) {
	switch step {
	case 1:
		return step01.New(cfg, namespace, func(e step01.Event) { handle(e.String()) })
	case 2:
		return step02.New(cfg, namespace, func(e step02.Event) { handle(e.String()) })
	case 3:
		return step03.New(cfg, namespace, func(e step03.Event) { handle(e.String()) })
	case 4:
		return step04.New(cfg, namespace, func(e step04.Event) { handle(e.String()) })
	case 5:
		return step05.New(cfg, namespace, func(e step05.Event) { handle(e.String()) })
	case 6:
		return step06.New(cfg, namespace, func(e step06.Event) { handle(e.String()) })
	case 7:
		i, err := step07.New(cfg, namespace)
		return followed[step07.Event]{i, handle}, err
	case 8:
		i, err := step08.New(cfg, namespace)
		return followed[step08.Event]{i, handle}, err
	case 9:
		i, err := step09.New(cfg, namespace)
		return followed[step09.Event]{i, handle}, err
	case 10:
		i, err := step10.New(cfg, namespace)
		return followed[step10.Event]{i, handle}, err
	}
	return nil, fmt.Errorf("step %d has no informer", step)
}

// follower is an informer from step 7 on: handlers follow it.
type follower[E fmt.Stringer] interface {
	informer
	Follow(ctx context.Context, handler func(E))
}

// followed is such an informer with a handler.
type followed[E fmt.Stringer] struct {
	follower[E]
	handle func(event string)
}

// Run runs the informer and the handler.
func (f followed[E]) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.Follow(ctx, func(event E) { f.handle(event.String()) }) })
	return f.follower.Run(ctx)
}

// work runs an informer with workers.
func work(ctx context.Context, step, workers int, cfg *rest.Config, do func(context.Context, types.NamespacedName) error) error {
	var group sync.WaitGroup
	defer group.Wait()
	switch step {
	case 7:
		i, err := step07.New(cfg, namespace)
		if err != nil {
			return err
		}
		group.Go(func() { i.Work(ctx, workers, step07.Original, do) })
		return i.Run(ctx)
	case 8:
		i, err := step08.New(cfg, namespace)
		if err != nil {
			return err
		}
		group.Go(func() { i.Work(ctx, step08.NewWorkQueue[step08.Key](), workers, step08.Original, do) })
		return i.Run(ctx)
	case 9:
		i, err := step09.New(cfg, namespace)
		if err != nil {
			return err
		}
		group.Go(func() { i.Work(ctx, step09.NewWorkQueue[step09.Key](), workers, step09.Original, do) })
		return i.Run(ctx)
	case 10:
		i, err := step10.New(cfg, namespace)
		if err != nil {
			return err
		}
		group.Go(func() { i.Work(ctx, step10.NewWorkQueue[step10.Key](), workers, step10.Original, do) })
		return i.Run(ctx)
	}
	return fmt.Errorf("step %d has no workers", step)
}

// controller is the controller of a step.
type controller interface {
	Run(ctx context.Context, workers int) error
}

// newController returns the controller of a step.
func newController(step int, cfg *rest.Config, identity string) (controller, error) {
	switch step {
	case 8:
		return step08.NewController(cfg, namespace)
	case 9:
		return step09.NewController(cfg, namespace)
	case 10:
		return step10.NewController(cfg, namespace, identity)
	}
	return nil, fmt.Errorf("step %d has no controller", step)
}

// store is what the stores of step 5 have in common, with an index of the label app.
type store interface {
	Set(obj *corev1.ConfigMap)
	ByIndex(value string, each func(*corev1.ConfigMap))
}

func app(obj *corev1.ConfigMap) string { return obj.Labels["app"] }

// newStore returns a store of step 5: the one with a lock, or that of snapshots.
// mutated is called if it notices that an object was changed.
func newStore(step int, mutated func(types.NamespacedName)) store {
	if step == withLock {
		return locked.New(app)
	}
	return snapshots{&step05.Store{
		Index:      func(obj *corev1.ConfigMap) []string { return []string{app(obj)} },
		OnMutation: mutated,
	}}
}

// snapshots writes and reads as a store with a lock does.
type snapshots struct{ store *step05.Store }

func (s snapshots) Set(obj *corev1.ConfigMap) {
	next := s.store.Next()
	next.Set(step05.KeyOf(obj), obj)
	s.store.Publish(next)
}

func (s snapshots) ByIndex(value string, each func(*corev1.ConfigMap)) {
	for _, obj := range s.store.Snapshot().ByIndex(value) {
		each(obj)
	}
}
