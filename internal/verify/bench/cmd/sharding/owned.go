package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// way is how a replica reads owners, and what they own.
type way struct {
	name             string
	owners, children sharding.HashKey
	metadata         bool // of the children
	named            bool // namespaces that the program knows, instead of ranges
}

var ways = []way{
	{name: "each by its own UID", owners: sharding.HashUID, children: sharding.HashUID},
	{name: "HashNamespace for both", owners: sharding.HashNamespace, children: sharding.HashNamespace},
	{name: "namespaces by name", named: true},
	{name: "HashOwner, whole objects", owners: sharding.HashUID, children: sharding.HashOwner},
	{name: "HashOwner, metadata only", owners: sharding.HashUID, children: sharding.HashOwner, metadata: true},
}

// owned measures what one of the replicas needs for its part of the owners, with each way.
// With HashNamespace it is the replica that has the most namespaces; with the others, all
// have about as many owners.
func owned(ctx context.Context, o options) (all []shards.Owned, err error) {
	for _, filter := range o.filters() {
		server, err := launch(ctx, "owned", o.owned, filter)
		if err != nil {
			return nil, err
		}
		for _, w := range ways {
			var one shards.Owned
			if w.metadata {
				one, err = read[*metav1.PartialObjectMetadata](ctx, o, server, w)
			} else {
				one, err = read[*appsv1.Deployment](ctx, o, server, w)
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("%s: %w", w.name, err), server.End())
			}
			one.Filter = filter
			progress("  %s: %.1f s", w.name, one.Seconds)
			all = append(all, one)
		}
		if err := server.End(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// read measures a replica that reads the children as objects of type T: its first lists,
// and then changes of children for some seconds.
func read[T informer.Object](ctx context.Context, o options, server *remote, w way) (one shards.Owned, err error) {
	one = shards.Owned{Way: w.name, Owners: o.owned, Replicas: o.replicas, Rate: o.rate}
	t := &traffic{}
	cfg := rest.CopyConfig(server.cfg)
	cfg.Wrap(t.wrap)
	// Of both phases, and of neither what this program does besides.
	empty, cpu, begin := heap(), measure.CPUTime(), time.Now()
	factory, err := sharding.NewFactory(cfg, informer.FactoryOptions{ByNamespace: w.named, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return one, err
	}
	owners, err := use(factory, w, w.owners, informer.ForOptions[*unstructured.Unstructured]{Resource: foos})
	if err != nil {
		return one, err
	}
	children, err := use(factory, w, w.children, informer.ForOptions[T]{Resource: deployments})
	if err != nil {
		return one, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		err = errors.Join(err, factory.Shutdown(ctx))
		cancel()
	}()
	if err := w.add(o, factory); err != nil {
		return one, err
	}
	factory.Start(ctx)
	if !w.named {
		err = factory.WaitForRanges(ctx)
	}
	if err := errors.Join(err, factory.WaitForSync(ctx)); err != nil {
		return one, err
	}
	one.Seconds, one.CPU = time.Since(begin).Seconds(), (measure.CPUTime() - cpu).Seconds()
	one.Heap = heap() - empty
	one.OwnersHeld, one.ChildrenHeld = owners.Snapshot().Len(), children.Snapshot().Len()
	for child := range children.Snapshot().All() {
		owner := metav1.GetControllerOf(child)
		if _, err := owners.Lister().Get(types.NamespacedName{Namespace: child.GetNamespace(), Name: owner.Name}); err != nil {
			one.Apart++
		}
	}
	listed := t.count()
	one.Lists, one.ListBytes = listed.Lists, listed.ListBytes
	if err := server.set(ctx, "SetRate", o.rate); err != nil {
		return one, err
	}
	// Short: it is repeated for each way.
	at, before := time.Now(), t.count()
	if err := sleep(ctx, 2*time.Second); err != nil {
		return one, err
	}
	one.WatchBytesPerSecond = float64(t.count().Less(before).WatchBytes) / time.Since(at).Seconds()
	return one, server.set(ctx, "SetRate", 0)
}

// use returns an informer of namespaces or of ranges.
func use[T informer.Object](factory *sharding.Factory, w way, key sharding.HashKey, opts informer.ForOptions[T]) (informer.Cache[T], error) {
	if w.named {
		return informer.For(factory.Factory, opts)
	}
	return sharding.For(factory, key, opts)
}

// add makes the factory read what one of the replicas has.
func (w way) add(o options, factory *sharding.Factory) error {
	if w.named {
		for i := 0; i < namespaces; i += o.replicas {
			if err := factory.AddNamespace(namespace(i)); err != nil {
				return err
			}
		}
		return nil
	}
	all := shares(o)
	if w.owners == sharding.HashNamespace {
		return factory.AddRanges(slices.MaxFunc(all, func(a, b []sharding.HashRange) int { return cmp.Compare(inRanges(a), inRanges(b)) })...)
	}
	return factory.AddRanges(all[0]...)
}

// shares are the ranges of each of the replicas, spread like those that rendezvous hashing
// assigns.
func shares(o options) [][]sharding.HashRange {
	all := make([][]sharding.HashRange, o.replicas)
	for i, one := range sharding.SplitHashes(o.parts) {
		all[i%o.replicas] = append(all[i%o.replicas], one)
	}
	return all
}

// inRanges returns how many of the namespaces are in some ranges.
func inRanges(ranges []sharding.HashRange) (n int) {
	for i := range namespaces {
		if slices.ContainsFunc(ranges, func(r sharding.HashRange) bool { return r.Contains(sharding.HashOf(namespace(i))) }) {
			n++
		}
	}
	return n
}
