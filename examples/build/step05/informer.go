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
	"time"

	"k8s.io/client-go/rest"
)

// Informer keeps a copy of the objects, and calls a handler for each change. Its
// methods may be called from any goroutine, Run once.
type Informer struct {
	// Store has the copy.
	Store Store

	client  *Client
	handler func(Event)
	version string // up to where the copy has everything; empty: list first
}

// New returns an informer for the ConfigMaps of a namespace.
func New(cfg *rest.Config, namespace string, handler func(Event)) (*Informer, error) {
	client, err := NewClient(cfg, namespace)
	if err != nil {
		return nil, err
	}
	return &Informer{client: client, handler: handler}, nil
}

// Run lists, and watches from there, until ctx ends. What fails is tried again, after a
// delay that grows.
func (i *Informer) Run(ctx context.Context) error {
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
		i.deliver(i.replace(list.Items))
	}
	return i.client.watch(ctx, i.version, i.apply)
}

// apply does what an event of the watch says.
func (i *Informer) apply(event watchEvent) error {
	if event.Type == "ERROR" {
		return statusError(bytes.NewReader(event.Object))
	}
	obj := &Object{}
	if err := json.Unmarshal(event.Object, obj); err != nil {
		return err
	}
	i.version = obj.ResourceVersion // first: the snapshot has it
	switch event.Type {
	case "ADDED", "MODIFIED":
		i.put(obj)
	case "DELETED":
		i.deliver([]Event{{Type: Deleted, Key: KeyOf(obj), Old: obj}})
	case "BOOKMARK": // everything up to this version has been sent
		i.deliver(nil)
	default:
		return fmt.Errorf("the watch sent an event of type %q", event.Type)
	}
	return nil
}

// replace returns what a list means: these objects exist, and no others.
func (i *Informer) replace(items []Object) []Event {
	var events []Event
	listed := map[Key]bool{}
	for n := range items {
		obj := &items[n]
		listed[KeyOf(obj)] = true
		events = append(events, change(i.Get(KeyOf(obj)), obj)...)
	}
	for _, old := range i.List() {
		if !listed[KeyOf(old)] {
			events = append(events, tombstone(old))
		}
	}
	return events
}

// put stores a state of an object.
func (i *Informer) put(obj *Object) { i.deliver(change(i.Get(KeyOf(obj)), obj)) }

// deliver publishes changes, all at once, and then calls the handler for each.
func (i *Informer) deliver(events []Event) {
	next := i.Store.Next()
	for _, event := range events {
		next.Set(event.Key, event.New)
	}
	next.Version = i.version
	i.Store.Publish(next)
	for _, event := range events {
		i.handler(event)
	}
}

// Get returns an object of the copy, or nil.
func (i *Informer) Get(key Key) *Object { return i.Store.Snapshot().Get(key) }

// List returns all objects of the copy.
func (i *Informer) List() []*Object { return slices.Collect(i.Store.Snapshot().All()) }
