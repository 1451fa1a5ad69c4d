package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// replica is a controller of its own: a connection, a cache of its ranges, a session.
type replica struct {
	board     *board
	traffic   *traffic
	objects   *sharding.Ranged[*corev1.ConfigMap]
	sharding  *sharding.Replica
	delivered atomic.Int64
	busy      time.Duration // of a reconcile
	stop      context.CancelFunc
	ended     chan error
}

// startReplica starts a replica. It has no part yet.
func startReplica(ctx context.Context, server *remote, b *board, name string, lease, busy time.Duration) (*replica, error) {
	r := &replica{board: b, traffic: &traffic{}, busy: busy, ended: make(chan error, 1)}
	cfg := rest.CopyConfig(server.cfg)
	cfg.Wrap(r.traffic.wrap)
	silent := slog.New(slog.DiscardHandler)
	source, err := reflector.NewResource[*corev1.ConfigMap](cfg, configMaps, reflector.ResourceOptions{})
	if err != nil {
		return nil, err
	}
	if r.objects, err = sharding.NewRanged(source, sharding.HashUID, informer.Options[*corev1.ConfigMap]{Logger: silent}); err != nil {
		return nil, err
	}
	count := informer.HandlerFunc[*corev1.ConfigMap](func(informer.Event[*corev1.ConfigMap]) { r.delivered.Add(1) })
	if _, err = r.objects.AddHandler(count); err != nil {
		return nil, err
	}
	if r.sharding, err = sharding.New(cfg, sharding.Options{
		Name: "controller", Namespace: "default", Identity: name, Parts: b.parts, Work: r.work, LeaseDuration: lease, Logger: silent,
	}); err != nil {
		return nil, err
	}
	group, err := informer.NewGroup(r.objects)
	if err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- group.Run(ctx, r.sharding.Run) }()
	return r, nil
}

// leave ends the replica, and waits until it has given up its parts.
func (r *replica) leave() error {
	r.stop()
	return <-r.ended
}

// kill ends the replica without a farewell: nothing that it sends arrives any more.
func (r *replica) kill() {
	r.traffic.dead.Store(true)
	r.board.killed(r)
	_ = r.leave() // what it could not say is its error
}

// work reads the range of a part, and then processes its objects.
func (r *replica) work(ctx context.Context, part *sharding.Part) error {
	one := r.board.ranges[part.Index]
	if err := r.objects.AddRanges(one); err != nil {
		return err
	}
	defer r.objects.RemoveRanges(one)
	added := time.Now()
	if err := r.objects.WaitForRanges(ctx, one); err != nil {
		return ignoreEnd(ctx, err)
	}
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	mine := func(c *corev1.ConfigMap) bool { return one.Contains(sharding.HashUID.Of(c)) }
	handler, err := r.objects.AddHandler(informer.FilterHandler(mine, informer.EnqueueKey[*corev1.ConfigMap](queue)))
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	defer handler.Remove()
	r.board.began(part.Index, r, time.Since(added))
	defer r.board.ended(part.Index, r)
	err = workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: 2, StopTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
	}, sharding.Guard(part, r.reconcile))
	return err
}

// ignoreEnd returns err unless it is about the end of ctx.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, informer.ErrStopped) {
		return nil
	}
	return err
}

// reconcile takes a moment, and changes nothing.
func (r *replica) reconcile(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	obj, err := r.objects.Lister().Get(key)
	if err != nil {
		return workqueue.Result{}, nil // it is not of this replica any more
	}
	changed, err := strconv.ParseInt(obj.Data[changedAt], 10, 64)
	if err != nil {
		return workqueue.Result{}, workqueue.Terminal(err)
	}
	return workqueue.Result{}, r.board.reconcile(r, key, obj.ResourceVersion, time.Unix(0, changed), func() error {
		if r.busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(r.busy):
			return nil
		}
	})
}

// count returns what the replica has sent and received so far.
func (r *replica) count() shards.Traffic {
	t := r.traffic.count()
	t.Delivered = r.delivered.Load()
	for _, s := range r.objects.Health().Sources {
		t.Dropped += int64(s.Outside)
	}
	return t
}
