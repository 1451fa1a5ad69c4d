package controller

import (
	"errors"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer"
)

// addHandlers maps each event to a key. It is always the key of a Foo.
func (c *Controller) addHandlers() error {
	_, errFoos := informer.EnqueueKeysOf(c.foos, c.queue,
		informer.HandlerOptions{Name: "foos", ResyncPeriod: resyncPeriod})

	// A Deployment maps to the Foo that controls it. Without such a Foo it maps to
	// nothing. A missed deletion needs no special case: the handler receives the
	// last known state (the tombstone's), with its owner.
	//
	// Habit 3: do nothing when nothing has changed. This handler has no resync, which
	// would deliver an update from a version to the same version, and a relist that
	// finds nothing changed delivers nothing. (A handler with a resync that must skip
	// these has informer.ResourceVersionChanged in front.)
	_, errDeployments := informer.EnqueueOwnersOf(c.deployments, c.queue, informer.Owner{Kind: api.Kind},
		informer.HandlerOptions{Name: "deployments"})
	return errors.Join(errFoos, errDeployments)
}
