package build

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// CacheDelay is when to look again for a write that the copy does not have yet.
const CacheDelay = time.Second

// Controller keeps one backup of each ConfigMap that has the label.
type Controller struct {
	Informer *Informer

	queue  *WorkQueue[Key]
	writes Writes
}

// NewController returns a controller for a namespace.
func NewController(cfg *rest.Config, namespace string) (*Controller, error) {
	informer, err := New(cfg, namespace)
	if err != nil {
		return nil, err
	}
	informer.Store.Index = func(obj *Object) []string { return []string{Original(obj).Name} }
	return &Controller{Informer: informer, queue: NewWorkQueue[Key]()}, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context, workers int) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { _ = c.Informer.Run(ctx) }) // it ends with ctx
	select {
	case <-c.Informer.Synced(): // before, each backup would be missing
	case <-ctx.Done():
		return ctx.Err()
	}
	c.Informer.Work(ctx, c.queue, workers, Original, c.reconcile)
	return ctx.Err()
}

// reconcile makes the backup of an object, if it is missing.
func (c *Controller) reconcile(ctx context.Context, key Key) error {
	state := c.Informer.Store.Snapshot()
	if c.writes.Missing(key, state) {
		// The event of the write brings the key back; or else the time does.
		c.queue.AddAfter(key, CacheDelay)
		return nil
	}
	obj := state.Get(key)
	if obj == nil || obj.DeletionTimestamp != nil || obj.Labels[Label] == "" {
		return nil
	}
	if slices.ContainsFunc(state.ByIndex(key.Name), func(o *Object) bool { return metav1.IsControlledBy(o, obj) }) {
		return nil
	}
	backup, err := c.Informer.client.Backup(ctx, obj)
	if err == nil {
		c.writes.Made(key, backup.ResourceVersion)
	}
	return err
}
