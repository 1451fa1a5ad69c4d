package controllerruntime

import (
	"fmt"
	"strings"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// many is the informers of a kind that is read by namespace, as one. A handler is added
// to each: its calls for one namespace are sequential, those for different ones are not.
type many struct {
	kind   *kind
	synced chan struct{}
	watch  func() // closes synced, once
}

var _ cache.Informer = (*many)(nil)

func newMany(k *kind) *many {
	m := &many{kind: k, synced: make(chan struct{})}
	// The goroutine begins when it is asked for, and ends with the informers.
	m.watch = sync.OnceFunc(func() {
		go func() {
			if k.waitForSync(k.ctx) == nil {
				close(m.synced)
			}
		}()
	})
	return m
}

// AddEventHandler implements cache.Informer.
func (m *many) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return m.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (m *many) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return m.AddEventHandlerWithOptions(h, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements cache.Informer. It adds the handler to all
// informers or, after an error, to none.
func (m *many) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	r := &manyRegistrations{of: m, synced: make(chan struct{})}
	for _, p := range m.kind.ordered {
		one, err := p.shared.AddEventHandlerWithOptions(h, options)
		if err != nil {
			_ = m.RemoveEventHandler(r) // it knows all of them
			return nil, err
		}
		r.each = append(r.each, one)
	}
	r.watch = sync.OnceFunc(func() {
		go func() {
			for _, one := range r.each {
				select {
				case <-one.HasSyncedChecker().Done():
				case <-m.kind.ctx.Done():
					return
				}
			}
			close(r.synced)
		}()
	})
	return r, nil
}

// RemoveEventHandler implements cache.Informer.
func (m *many) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*manyRegistrations)
	if !ok || r.of != m {
		return fmt.Errorf("controllerruntime: a %T is no handle of this informer; pass what AddEventHandler has returned", handle)
	}
	for i, one := range r.each {
		if err := m.kind.ordered[i].shared.RemoveEventHandler(one); err != nil {
			return err
		}
	}
	return nil
}

// AddIndexers implements cache.Informer.
func (m *many) AddIndexers(indexers toolscache.Indexers) error {
	for _, p := range m.kind.ordered {
		if err := p.shared.AddIndexers(indexers); err != nil {
			return err
		}
	}
	return nil
}

// HasSynced implements cache.Informer.
func (m *many) HasSynced() bool {
	for _, p := range m.kind.ordered {
		if !p.shared.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker implements cache.Informer.
func (m *many) HasSyncedChecker() toolscache.DoneChecker { return m }

// Name implements toolscache.DoneChecker.
func (m *many) Name() string {
	names := make([]string, len(m.kind.ordered))
	for i, p := range m.kind.ordered {
		names[i] = p.informer.Name()
	}
	return strings.Join(names, ", ")
}

// Done implements toolscache.DoneChecker.
func (m *many) Done() <-chan struct{} {
	m.watch()
	return m.synced
}

// IsStopped implements cache.Informer.
func (m *many) IsStopped() bool {
	for _, p := range m.kind.ordered {
		if !p.shared.IsStopped() {
			return false
		}
	}
	return true
}

// manyRegistrations is a handler's membership in all informers of a kind.
type manyRegistrations struct {
	of     *many
	each   []toolscache.ResourceEventHandlerRegistration // in the order of the parts
	synced chan struct{}
	watch  func()
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *manyRegistrations) HasSynced() bool {
	for _, one := range r.each {
		if !one.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *manyRegistrations) HasSyncedChecker() toolscache.DoneChecker { return r }

// Name implements toolscache.DoneChecker.
func (r *manyRegistrations) Name() string { return "handler of " + r.of.Name() }

// Done implements toolscache.DoneChecker.
func (r *manyRegistrations) Done() <-chan struct{} {
	r.watch()
	return r.synced
}
