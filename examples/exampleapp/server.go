package exampleapp

import (
	"context"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// Server is the API server that an example works on.
type Server struct {
	// Config leads to it.
	Config *rest.Config
	// Embedded is the embedded one, for what only that can be asked for; nil on a
	// cluster.
	Embedded *informertest.Server
}

// Start returns the API server of the cluster, or else starts the embedded one.
// Close it at the end.
func (e *Env) Start() (*Server, error) {
	if !e.Embedded() {
		return &Server{Config: e.Config}, nil
	}
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		return nil, err
	}
	if e.Namespace != "" {
		if err := createNamespace(server, e.Namespace); err != nil {
			server.Close()
			return nil, err
		}
	}
	e.Transcript.Say("server", "an embedded API server listens on %s", server.Config().Host)
	if url := e.InspectURL(); url != "" {
		e.Transcript.Say("inspect", "informers and queues are shown at %s", url)
	}
	return &Server{Config: server.Config(), Embedded: server}, nil
}

// Close stops the embedded API server.
func (s *Server) Close() {
	if s.Embedded != nil {
		s.Embedded.Close()
	}
}

// PartLog is the log of the parts of an example. What fails on the embedded server
// is part of the demo, which prints it; and what ends an example is printed by Main.
func (e *Env) PartLog() *slog.Logger {
	if e.Embedded() || e.Once {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

// Policy is for reflector.Options. An example that ends by itself on a cluster
// ends also if it cannot even read there; any other tries again until it can.
func (e *Env) Policy() func(reflector.Failure) reflector.Decision {
	if e.Once && !e.Embedded() {
		return StopUnlessSynced
	}
	return nil
}

// StopUnlessSynced is a policy that lets a reflector fail with the first error
// before it has read everything, as a program would that only reads once.
func StopUnlessSynced(f reflector.Failure) reflector.Decision {
	if !f.Synced {
		return reflector.Stop()
	}
	return reflector.Retry()
}

// Beside runs the parts of an example beside its script, which is what the user
// does. With -once it ends after the script, else when ctx does.
func (e *Env) Beside(ctx context.Context, script func(context.Context) error, parts ...func(context.Context) error) error {
	return demo.Beside(ctx, func(ctx context.Context) error {
		if err := script(ctx); err != nil {
			return err
		}
		if !e.Once {
			e.Transcript.Say("demo", "goes on until you press Ctrl-C")
			<-ctx.Done()
		}
		return nil
	}, parts...)
}
