package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	replicaset "github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/internal/verify/e2e/reconcile/clientgo"
	"github.com/informerkit/informerkit/workqueue"
)

// Side is one of the two that are compared.
type Side string

// The sides.
const (
	Ours     Side = "informerkit"
	ClientGo Side = "client-go"
)

// Sides are both.
var Sides = []Side{Ours, ClientGo}

// Probes say how a controller works, and record what it does. They may be called concurrently.
type Probes struct {
	// Workers is how many the controller has.
	Workers int
	// Handled is called by a handler of the informer of sets that is registered
	// beside the controller's own, with each set that was added or updated.
	Handled func(*api.ReplicaSet)
	// Reconciling is called with the key of a set when a worker begins with it.
	Reconciling func(types.NamespacedName)
}

// Controller is the ReplicaSet controller of one side.
type Controller struct {
	// Run works until the context ends. It may be called once.
	Run func(ctx context.Context) error
	// WaitForSync returns when the caches are filled.
	WaitForSync func(context.Context) error
	// Begin lets [RequestsAlone] send the requests for n more sets, in the order of their
	// names; it is nil for the others, which begin when there are sets. It may be called
	// when WaitForSync has returned.
	Begin func(ctx context.Context, n int) error
}

// NewController returns the controller of a side for one namespace of the API
// server that cfg reaches.
func NewController(side Side, cfg *rest.Config, namespace string, probes Probes) (*Controller, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = "application/json" // of what is written, on all sides
	if probes.Handled == nil {
		probes.Handled = func(*api.ReplicaSet) {}
	}
	switch side {
	case Ours:
		return newOurs(cfg, namespace, probes)
	case ClientGo:
		return newClientGo(cfg, namespace, probes)
	case RequestsAlone:
		return newAlone(cfg, namespace, probes.Workers)
	default:
		return nil, fmt.Errorf("reconcile: there is no side %q; there are %q and %q", side, Sides, RequestsAlone)
	}
}

func newOurs(cfg *rest.Config, namespace string, probes Probes) (*Controller, error) {
	opts := controller.Options{Config: cfg, Workers: probes.Workers, Logger: slog.New(slog.DiscardHandler)}
	if namespace != "" {
		opts.Informers.Namespaces = []string{namespace}
	}
	c := replicaset.New(opts)
	_, err := c.Sets().AddHandler(informer.HandlerFuncs[*api.ReplicaSet]{
		AddFunc:    func(set *api.ReplicaSet, _ bool) { probes.Handled(set) },
		UpdateFunc: func(_, set *api.ReplicaSet) { probes.Handled(set) },
	}, informer.HandlerOptions{Name: "probe"})
	return &Controller{
		Run: func(ctx context.Context) error {
			return c.Controller.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
				if probes.Reconciling != nil {
					probes.Reconciling(key)
				}
				return c.Reconcile(ctx, key)
			})
		},
		WaitForSync: func(ctx context.Context) error { return informer.WaitForSync(ctx, c.Pods(), c.Sets()) },
	}, err
}

func newClientGo(cfg *rest.Config, namespace string, probes Probes) (*Controller, error) {
	c, err := clientgo.New(cfg, clientgo.Options{Namespace: namespace, Reconciling: probes.Reconciling})
	if err != nil {
		return nil, err
	}
	handled := func(obj any) {
		if set, ok := obj.(*api.ReplicaSet); ok {
			probes.Handled(set)
		}
	}
	_, err = c.Sets().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    handled,
		UpdateFunc: func(_, obj any) { handled(obj) },
	})
	return &Controller{
		Run: func(ctx context.Context) error { return c.Run(ctx, probes.Workers) },
		WaitForSync: func(ctx context.Context) error {
			if !cache.WaitFor(ctx, "", c.Pods().HasSyncedChecker(), c.Sets().HasSyncedChecker()) {
				return errors.Join(errors.New("the caches are not synced"), context.Cause(ctx))
			}
			return nil
		},
	}, err
}
