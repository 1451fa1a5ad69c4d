package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/informerkit/informerkit/informer"
)

// Source returns a source of the events of an informer of this library, for
// controller.Watch or WatchesRawSource of a builder:
//
//	controllers.Source(pods, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})
//
// The informer is run by the program, for example by the manager, see [Runnable]. An
// event of the first list has IsInInitialList, and a resync has twice the same object, so
// that queues with priorities handle them last. The handler is removed when the
// controller stops. A source is for one controller.
func Source[T client.Object](inf informer.Cache[T], h handler.TypedEventHandler[T, reconcile.Request], predicates ...predicate.TypedPredicate[T]) source.SyncingSource {
	return TypedSource(inf, h, predicates...)
}

// TypedSource is [Source] for controllers with requests of another type.
func TypedSource[T client.Object, request comparable](inf informer.Cache[T], h handler.TypedEventHandler[T, request], predicates ...predicate.TypedPredicate[T]) source.TypedSyncingSource[request] {
	return &informerSource[T, request]{informer: inf, handler: h, predicates: predicates}
}

// informerSource implements source.TypedSyncingSource.
type informerSource[T client.Object, request comparable] struct {
	informer   informer.Cache[T]
	handler    handler.TypedEventHandler[T, request]
	predicates []predicate.TypedPredicate[T]

	mu           sync.Mutex // guards registration
	registration *informer.Registration
}

// String names the source in the logs of the controller.
func (s *informerSource[T, request]) String() string {
	if isNilPointer(s.informer) {
		return "informer source"
	}
	return "informer source: " + s.informer.Name()
}

// Start adds the handler to the informer. It does not block.
func (s *informerSource[T, request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	switch {
	case isNilPointer(s.informer):
		return errors.New("controllers: the informer of the source is nil; pass what informer.New or informer.For returned")
	case isNilPointer(s.handler):
		return fmt.Errorf("controllers: the handler of the %v is nil; pass one of package handler", s)
	case isNilPointer(queue):
		return fmt.Errorf("controllers: the %v was started without a queue", s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registration != nil {
		return fmt.Errorf("controllers: the %v was started before; make one per controller", s)
	}
	r, err := s.informer.AddHandler(informer.HandlerFunc[T](func(e informer.Event[T]) { s.handle(ctx, e, queue) }))
	if err != nil {
		return fmt.Errorf("controllers: %v: %w", s, err)
	}
	s.registration = r
	// The informer may outlive the controller, and other controllers may use it.
	context.AfterFunc(ctx, r.Remove)
	return nil
}

// handle passes on an event that all predicates let through.
func (s *informerSource[T, request]) handle(ctx context.Context, e informer.Event[T], queue workqueue.TypedRateLimitingInterface[request]) {
	switch e.Type {
	case informer.Added:
		created := event.TypedCreateEvent[T]{Object: e.New, IsInInitialList: e.Origin == informer.InitialList}
		for _, p := range s.predicates {
			if !p.Create(created) {
				return
			}
		}
		s.handler.Create(ctx, created, queue)
	case informer.Updated:
		updated := event.TypedUpdateEvent[T]{ObjectOld: e.Old, ObjectNew: e.New}
		for _, p := range s.predicates {
			if !p.Update(updated) {
				return
			}
		}
		s.handler.Update(ctx, updated, queue)
	case informer.Deleted:
		deleted := event.TypedDeleteEvent[T]{Object: e.Object(), DeleteStateUnknown: e.FinalStateUnknown}
		for _, p := range s.predicates {
			if !p.Delete(deleted) {
				return
			}
		}
		s.handler.Delete(ctx, deleted, queue)
	}
}

// WaitForSync waits until the handler has got every object that existed. The error says
// why it has not.
func (s *informerSource[T, request]) WaitForSync(ctx context.Context) error {
	s.mu.Lock()
	r := s.registration
	s.mu.Unlock()
	if r == nil {
		return fmt.Errorf("controllers: the %v was not started", s)
	}
	return informer.WaitForSync(ctx, r)
}

// Runnable returns an informer as what a manager runs, before the controllers and
// whether or not it is the leader:
//
//	mgr.Add(controllers.Runnable(pods))
func Runnable(inf informer.Runnable) manager.Runnable { return runnable{inf} }

// runnable implements manager.Runnable and manager.LeaderElectionRunnable.
type runnable struct{ informer informer.Runnable }

// Start runs the informer until ctx ends.
func (r runnable) Start(ctx context.Context) error {
	if isNilPointer(r.informer) {
		return errors.New("controllers: Runnable got no informer; pass what informer.New returned")
	}
	return r.informer.Run(ctx)
}

// NeedLeaderElection is false: a replica that waits to become the leader has a warm
// cache.
func (r runnable) NeedLeaderElection() bool { return false }

// isNilPointer reports whether v is nil, or a nil pointer in an interface.
func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
