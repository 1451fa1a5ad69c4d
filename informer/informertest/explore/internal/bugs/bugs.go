package bugs

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// Start runs a controller until ctx ends.
type Start = func(ctx context.Context, cfg *rest.Config) error

// Case is a bug.
type Case struct {
	Name string
	// Source is where the bug was published.
	Source string
	// Buggy and Mended are the controller with the bug and without it.
	Buggy, Mended Start
	// Subject is the test of both; it has no Start.
	Subject explore.Subject
	// Without are perturbations that Subject does not expect.
	Without []string
	// Replicas is how many of them run at the same time; 0 means 1.
	Replicas int
}

// Cases returns all ten.
func Cases() []Case {
	return []Case{
		staleCache(), orphan(), finalizer(), generateName(), putBack(),
		sameName(), unseen(), requeue(), leadership(), hotLoop(),
	}
}

// Of returns the subject with one of the two controllers.
func (c Case) Of(start Start) explore.Subject {
	c.Subject.Start = start
	return c.Subject
}

// Options returns what the subject needs.
func (c Case) Options() explore.Options {
	return explore.Options{Replicas: c.Replicas, Without: c.Without, Server: informertest.Options{Resources: []informertest.Resource{{
		Group: Apps.Group, Versions: []string{Apps.Version}, Kind: Kind.Kind,
		StatusSubresource: true, RequireResourceVersion: true,
	}}}}
}
