package controller

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/client"
)

// component is who the events are from.
const component = "sample-controller"

// Reasons and messages of events: what `kubectl describe foo` shows. A log is for
// the operator of the controller, events are for the user of the object.
const (
	SuccessSynced         = "Synced"
	MessageSynced         = "Foo synced successfully"
	ErrNoName             = "ErrDeploymentNameEmpty"
	MessageNoName         = "spec.deploymentName is empty: name the Deployment that this Foo is to own"
	ErrResourceExists     = "ErrResourceExists"
	MessageResourceExists = "Resource %q already exists and is not managed by Foo"
)

func (c *Controller) synced(foo *api.Foo) {
	c.recorder.Eventf(foo, nil, corev1.EventTypeNormal, SuccessSynced, SuccessSynced, MessageSynced)
}

func (c *Controller) warn(foo *api.Foo, reason, message string) {
	c.recorder.Eventf(foo, nil, corev1.EventTypeWarning, reason, SuccessSynced, "%s", message)
}

// eventSink is where client-go's recorder writes to: an event that repeats is
// counted, by a patch, rather than written again.
//
// It knows its writes, as client-go waits for none when it is shut down.
type eventSink struct {
	client *client.Client[*eventsv1.Event]

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // writes
}

func newEventSink(cfg *rest.Config) (*eventSink, error) {
	events, err := client.New[*eventsv1.Event](cfg, eventsv1.SchemeGroupVersion.WithResource("events"), client.Options{})
	return &eventSink{client: events}, err
}

// Create writes a new event.
func (s *eventSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(func() (*eventsv1.Event, error) { return s.client.Create(ctx, e) })
}

// Update replaces an event.
func (s *eventSink) Update(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(func() (*eventsv1.Event, error) { return s.client.Update(ctx, e) })
}

// Patch changes an event.
func (s *eventSink) Patch(ctx context.Context, e *eventsv1.Event, patch []byte) (*eventsv1.Event, error) {
	return s.write(func() (*eventsv1.Event, error) {
		return s.client.Patch(ctx, client.KeyOf(e), types.StrategicMergePatchType, patch)
	})
}

// write calls f, unless the sink is closed: client-go may begin a write even then.
func (s *eventSink) write(f func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.running.Add(1) // with mu held: not while close waits
	}
	s.mu.Unlock()
	if closed {
		return nil, context.Canceled
	}
	defer s.running.Done()
	return f()
}

// close refuses further writes, and waits for those that are running.
func (s *eventSink) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
