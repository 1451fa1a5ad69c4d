package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Informer keeps a copy of the objects, and calls a handler for each change. Its
// methods may be called from any goroutine, Run once.
type Informer struct {
	client  *Client
	handler func(Event)
	version string // up to where the copy has everything; empty: list first

	mu      sync.Mutex
	objects map[Key]*Object
}

// New returns an informer for the ConfigMaps of a namespace.
func New(cfg *rest.Config, namespace string, handler func(Event)) (*Informer, error) {
	client, err := NewClient(cfg, namespace)
	if err != nil {
		return nil, err
	}
	return &Informer{client: client, handler: handler, objects: map[Key]*Object{}}, nil
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
		i.deliver(i.replace(list.Items))
		i.version = list.ResourceVersion
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
	switch event.Type {
	case "ADDED", "MODIFIED":
		i.put(obj)
	case "DELETED":
		i.deliver([]Event{{Type: Deleted, Key: KeyOf(obj), Old: obj}})
	case "BOOKMARK": // everything up to this version has been sent
	default:
		return fmt.Errorf("the watch sent an event of type %q", event.Type)
	}
	i.version = obj.ResourceVersion
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

// deliver stores changes and calls the handler for each.
func (i *Informer) deliver(events []Event) {
	for _, event := range events {
		i.mu.Lock()
		if event.New != nil {
			i.objects[event.Key] = event.New
		} else {
			delete(i.objects, event.Key)
		}
		i.mu.Unlock()
		i.handler(event)
	}
}

// Get returns an object of the copy, or nil.
func (i *Informer) Get(key Key) *Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.objects[key]
}

// List returns all objects of the copy.
func (i *Informer) List() []*Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Values(i.objects))
}
