package exampleapp

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/internal/play"
	"github.com/informerkit/informerkit/informer/informertest"
)

// Play starts the embedded API server and plays a scenario on it.
func (e *Env) Play(ctx context.Context, scenario func(context.Context, *rest.Config, play.Options) error) error {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		return err
	}
	defer server.Close()

	story := NewStory(e.Out)
	story.Say("server", "an embedded API server listens on %s", server.Config().Host)
	err = scenario(ctx, server.Config(), play.Options{Namespace: e.Namespace, Say: story.Say, Log: e.Log, Stay: !e.Once})
	if err == nil && e.Once {
		story.Say("story", "the end: every step converged")
	}
	return err
}
