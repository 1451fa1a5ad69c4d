package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer/client"
)

// Action names one thing that the controller did.
type Action string

// The actions.
const (
	Created  Action = "created"
	Deleted  Action = "deleted"
	Adopted  Action = "adopted"
	Released Action = "released"
)

// Step is one thing that the controller did, for a demo that shows it.
type Step struct {
	Action Action
	Set    types.NamespacedName
	Pod    string
}

func (c *Controller) trace(set *api.ReplicaSet, action Action, pod string) {
	c.traced(Step{Action: action, Set: client.KeyOf(set), Pod: pod})
}
