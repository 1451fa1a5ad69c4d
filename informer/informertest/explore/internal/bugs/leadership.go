package bugs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/workqueue"
)

// leadership gives each App a number that no other App has: the leader asks the server for the highest, and counts on. Its work
// runs with the context of the program. When leadership is lost it is only logged, and two replicas give numbers.
//
// In Kyverno: the "previous leader replica's leader-controller was still running and reconcile resource […] after leader lost".
// In Kthena: "when the lease is lost, the callback only logs […] That's two active writers on one cluster, which breaks the whole
// point of the lease" (https://github.com/volcano-sh/kthena/issues/1793).
//
// Mended: the work ends with the term.
func leadership() Case {
	return Case{
		Name:     "acts after leadership was lost",
		Source:   "https://github.com/kyverno/kyverno/issues/5984",
		Replicas: 2,
		Buggy: numbers(func(program context.Context, work func(ctx context.Context) error, running *sync.WaitGroup) func(context.Context, *leader.Term) error {
			return func(leading context.Context, _ *leader.Term) error {
				running.Go(func() { _ = work(program) })
				<-leading.Done() // leadership is lost, or the program ends
				return nil
			}
		}),
		Mended: numbers(func(_ context.Context, work func(ctx context.Context) error, _ *sync.WaitGroup) func(context.Context, *leader.Term) error {
			return func(leading context.Context, _ *leader.Term) error { return work(leading) }
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				for i := range 6 {
					w.Create(newApp(fmt.Sprint("app-", i), AppSpec{}))
					w.Sleep(10 * time.Second)
				}
			},
			Always: func(v explore.View) error {
				given := map[int]string{}
				for _, app := range explore.List[App](v, Apps, "default") {
					if other, twice := given[app.Status.Number]; twice {
						return fmt.Errorf("%s and %s have the number %d", other, app.Name, app.Status.Number)
					}
					if app.Status.Number != 0 {
						given[app.Status.Number] = app.Name
					}
				}
				return nil
			},
			Eventually: func(v explore.View) error {
				for _, app := range explore.List[App](v, Apps, "default") {
					if app.Status.Number == 0 {
						return fmt.Errorf("%s has no number", app.Name)
					}
				}
				return nil
			},
		},
	}
}

// numbers is the controller. What the leader does, it makes of the work by the function.
func numbers(lead func(program context.Context, work func(ctx context.Context) error, running *sync.WaitGroup) func(context.Context, *leader.Term) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		factory, err := informer.NewFactory(cfg, informer.FactoryOptions{})
		if err != nil {
			return err
		}
		cache, err := informer.For(factory, informer.ForOptions[*App]{Resource: Apps})
		if err != nil {
			return err
		}
		apps, err := client.New[*App](cfg, Apps, client.Options{})
		if err != nil {
			return err
		}
		work := func(ctx context.Context) error {
			highest, err := highestNumber(ctx, apps)
			if err != nil {
				return nil //nolint:nilerr // ctx has ended
			}
			queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "numbers"})
			handler, err := informer.EnqueueKeysOf(cache, queue)
			if err != nil {
				return err
			}
			defer handler.Remove()
			return workqueue.Process(ctx, queue, 1, func(ctx context.Context, key types.NamespacedName) error {
				app, err := cache.Lister().Get(key)
				if err != nil || app.Status.Number != 0 {
					return client.IgnoreNotFound(err)
				}
				app = app.DeepCopy()
				highest++
				app.Status.Number = highest
				_, err = apps.Status().Update(ctx, app)
				return client.IgnoreNotFound(err)
			})
		}
		var running sync.WaitGroup
		defer running.Wait()
		elector, err := leader.New(cfg, leader.Options{
			Name: "numbers", Namespace: "default", Identity: explore.Replica(ctx), Lead: lead(ctx, work, &running),
		})
		if err != nil {
			return err
		}
		return factory.Run(ctx, elector.Run)
	}
}

// highestNumber asks the server, until ctx ends: the cache may be behind, and no number may be missing.
func highestNumber(ctx context.Context, apps *client.Client[*App]) (int, error) {
	for {
		all, err := apps.List(ctx, "", metav1.ListOptions{})
		if err == nil {
			highest := 0
			for _, app := range all {
				highest = max(highest, app.Status.Number)
			}
			return highest, nil
		}
		slog.Warn("cannot list the Apps, will try again", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
