package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Pending is how many deltas may wait to be applied.
const Pending = 1000

// Informer keeps a copy of the objects, and calls a handler for each change. Its
// methods may be called from any goroutine, Run once.
type Informer struct {
	// Store has the copy.
	Store Store

	client  *Client
	handler func(Event)
	version string // up to where the queue has got everything; empty: list first
	queue   *DeltaQueue
}

// New returns an informer for the ConfigMaps of a namespace.
func New(cfg *rest.Config, namespace string, handler func(Event)) (*Informer, error) {
	client, err := NewClient(cfg, namespace)
	if err != nil {
		return nil, err
	}
	return &Informer{client: client, handler: handler, queue: NewDeltaQueue(Pending)}, nil
}

// Run lists, and watches from there, until ctx ends. What fails is tried again, after a
// delay that grows.
func (i *Informer) Run(ctx context.Context) error {
	var applying sync.WaitGroup
	applying.Go(func() { i.applyAll(ctx) })
	defer applying.Wait()
	for failures := 0; ctx.Err() == nil; {
		watched, err := i.follow(ctx)
		if expired(err) {
			i.version = ""
		}
		if watched >= Healthy {
			failures = 0
			continue // a watch ends every few minutes
		}
		failures++
		wait := delay(failures)
		if ctx.Err() == nil && !errors.Is(err, io.EOF) {
			slog.Warn("cannot list or watch the ConfigMaps, and tries again", "error", err, "wait", wait.Round(time.Millisecond))
		}
		pause(ctx, wait)
	}
	return ctx.Err()
}

// follow lists, if there is no version to watch from, and watches until the watch ends. It
// returns for how long it has watched.
func (i *Informer) follow(ctx context.Context) (watched time.Duration, err error) {
	if i.version == "" {
		list, err := i.client.list(ctx)
		if err != nil {
			return 0, err
		}
		i.version = list.ResourceVersion
		if err := i.queue.Add(ctx, Delta{Type: Replaced, Objects: list.Items, Version: i.version}); err != nil {
			return 0, err
		}
	}
	return i.client.watch(ctx, i.version, func(event watchEvent) error { return i.enqueue(ctx, event) })
}

// deltaTypes are the types of the events of a watch.
var deltaTypes = map[string]string{"ADDED": Added, "MODIFIED": Updated, "DELETED": Deleted, "BOOKMARK": Bookmark}

// enqueue queues what an event of the watch says.
func (i *Informer) enqueue(ctx context.Context, event watchEvent) error {
	if event.Type == "ERROR" {
		return statusError(bytes.NewReader(event.Object))
	}
	typ, ok := deltaTypes[event.Type]
	if !ok {
		return fmt.Errorf("the watch sent an event of type %q", event.Type)
	}
	obj := &Object{}
	if err := json.Unmarshal(event.Object, obj); err != nil {
		return err
	}
	i.version = obj.ResourceVersion
	return i.queue.Add(ctx, Delta{Type: typ, Object: obj, Version: i.version})
}

// replace returns what a list means: these objects exist, and no others.
func replace(state *Snapshot, items []Object) []Event {
	var events []Event
	listed := map[Key]bool{}
	for n := range items {
		obj := &items[n]
		listed[KeyOf(obj)] = true
		events = append(events, change(state.Get(KeyOf(obj)), obj)...)
	}
	for old := range state.All() {
		if !listed[KeyOf(old)] {
			events = append(events, tombstone(old))
		}
	}
	return events
}

// applyAll applies what is queued until ctx ends: each batch is one snapshot.
func (i *Informer) applyAll(ctx context.Context) {
	for {
		batch, err := i.queue.Pop(ctx)
		if err != nil {
			return
		}
		next := i.Store.Next()
		var events []Event
		for _, delta := range batch {
			for _, event := range delta.events(next) {
				next.Set(event.Key, event.New)
				events = append(events, event)
			}
			next.Version = delta.Version
		}
		i.deliver(next, events)
	}
}

// deliver publishes a state, and then calls the handler for each change.
func (i *Informer) deliver(next *Snapshot, events []Event) {
	i.Store.Publish(next)
	for _, event := range events {
		i.handler(event)
	}
}

// Get returns an object of the copy, or nil.
func (i *Informer) Get(key Key) *Object { return i.Store.Snapshot().Get(key) }

// List returns all objects of the copy.
func (i *Informer) List() []*Object { return slices.Collect(i.Store.Snapshot().All()) }
