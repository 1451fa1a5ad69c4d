// Package controller is the sample controller: for each Foo it keeps a Deployment.
//
// Package informer/controller does the wiring: this file says of which kinds. The other one, sync.go, is
// what a worker does with the key of a Foo. Habits that every controller needs are numbered.
package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
)

// resyncPeriod is how often every Foo is looked at although nothing has happened.
// It asks no server. It is a net below the controller, not a way to notice changes.
const resyncPeriod = 30 * time.Second

// Controller keeps a Deployment for each Foo.
type Controller struct {
	*controller.Controller
	foos        *controller.Resource[*api.Foo]
	deployments *controller.Resource[*appsv1.Deployment]
}

// New returns a controller; opts says for which API server. It makes no request yet.
func New(opts controller.Options) *Controller {
	opts.Name = "sample-controller" // it is also who the Events are from
	opts.Informers.ResyncPeriod = resyncPeriod
	opts.Informers.Transform = func(obj informer.Object) error {
		obj.SetManagedFields(nil) // no controller reads them
		return nil
	}
	c := &Controller{Controller: controller.New(opts)}
	// Habit 1: one informer per type, shared by everything in the program.
	c.foos = controller.For[*api.Foo](c.Controller, api.Resource)
	// A Deployment leads to the Foo that controls it. A missed deletion needs no special case: the
	// last known state, which has the owner, leads there.
	//
	// Habit 3: do nothing when nothing has changed. A resync delivers an update to the same version,
	// and one for the Foos is enough.
	c.deployments = controller.Owns(c.Controller, appsv1.SchemeGroupVersion.WithResource("deployments"),
		controller.ResourceOptions[*appsv1.Deployment]{When: informer.ResourceVersionChanged[*appsv1.Deployment]()})
	return c
}

// Run works until ctx ends, and returns when everything it started has ended.
//
// Habit 2: sync before workers. A worker that starts earlier sees Foos without their Deployments, and
// tries to create them all. The Run of package informer/controller waits, and keeps the caches up to date until
// the last worker has ended.
func (c *Controller) Run(ctx context.Context) error { return c.Controller.Run(ctx, c.sync) }
