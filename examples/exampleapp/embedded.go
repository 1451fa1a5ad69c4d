package exampleapp

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer/informertest"
)

// Play starts the embedded API server and plays a demo on it. try are things to
// do with the server afterwards: the arguments of kubectl, for the user who did
// not ask for it to end.
func (e *Env) Play(ctx context.Context, try []string, script func(context.Context, *rest.Config, demo.Options) error) error {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		return err
	}
	defer server.Close()

	transcript := e.Transcript
	transcript.Say("server", "an embedded API server listens on %s", server.Config().Host)
	if url := e.InspectURL(); url != "" {
		transcript.Say("inspect", "informers and queues are shown at %s", url)
	}
	kubectl := "kubectl --server " + server.Config().Host
	if e.Namespace != "" {
		kubectl += " --namespace " + e.Namespace
		if err := createNamespace(server, e.Namespace); err != nil {
			return err
		}
	}
	opts := demo.Options{Namespace: e.Namespace, Transcript: transcript, Log: e.Log, Inspect: e.Inspect, History: e.History}
	if !e.Once {
		opts.Stay = func() {
			transcript.Say("demo", "the end; the controller goes on until you press Ctrl-C. Play with it:")
			for _, args := range try {
				_, _ = fmt.Fprintf(e.Out, "\n    %s %s", kubectl, args)
			}
			_, _ = fmt.Fprint(e.Out, "\n\n")
		}
	}
	err = script(ctx, server.Config(), opts)
	if err == nil && e.Once {
		transcript.Say("demo", "the end: every step went as it should")
	}
	return err
}

func createNamespace(server *informertest.Server, name string) error {
	err := server.Create(&metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil // one of those that every server has
	}
	return err
}
