package build

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Interval is the time between two polls.
const Interval = time.Second

// Informer keeps a copy of the objects, and calls a handler for each change. Its
// methods may be called from any goroutine, Run once.
type Informer struct {
	client  *Client
	handler func(Event)

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

// Run polls until ctx ends, or a request fails.
func (i *Informer) Run(ctx context.Context) error {
	for {
		list, err := i.client.list(ctx)
		if err != nil {
			return err
		}
		i.deliver(i.replace(list.Items))
		select {
		case <-time.After(Interval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
			events = append(events, Event{Type: Deleted, Key: KeyOf(old), Old: old})
		}
	}
	return events
}

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
