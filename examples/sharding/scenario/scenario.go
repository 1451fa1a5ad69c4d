// Package scenario is the demo of the example: replicas in processes of their own share
// many Foos; one is killed, two are added, while Foos change; and a ledger counts what
// was done twice at once, and what was missed.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
)

// Options configures Play. All fields but Env are required.
type Options struct {
	// Kubeconfig is a file that leads the replicas to the API server, which must serve Foos.
	Kubeconfig string
	// Program is the example as a program: a replica is Program with flags, and Env.
	Program string
	Env     []string
	// Namespace is where the Foos are, and the Leases. No other Foos may be there.
	Namespace string
	// Foos is how many there are, and Changed how many of them change at a time.
	Foos, Changed int
	// Lease is the lease duration.
	Lease time.Duration
	// Stderr gets the logs of the replicas.
	Stderr io.Writer
}

// script is a scenario that runs.
type script struct {
	Options
	*demo.Transcript
	workers int // of a replica
	foos    *client.Client[*api.Foo]
	ledger  *ledger
	running []*process
	rounds  int // of changes
}

// Play plays the demo. It fails if a write came after another replica had begun, if a
// Foo was missed, or if a cache has more than it should. The replicas have ended when it
// returns.
func Play(ctx context.Context, env *exampleapp.Env, opts Options) error {
	s, err := newScript(env, opts)
	if err != nil {
		return err
	}
	if err := env.Inspect(inspect.Informer(s.ledger)); err != nil {
		return err
	}
	defer func() {
		for _, p := range s.running {
			p.stop()
		}
		for _, p := range s.running {
			<-p.ended
		}
	}()
	return env.Beside(ctx, s.steps(), s.ledger.Run)
}

func newScript(env *exampleapp.Env, opts Options) (*script, error) {
	l, err := newLedger(env.Config, opts.Namespace)
	return &script{
		Options: opts, Transcript: env.Transcript, workers: env.Workers, ledger: l, foos: demo.Client[*api.Foo](env.Config, api.Resource),
	}, err
}

func (s *script) steps() demo.Step {
	nothing := func() {}
	return demo.Steps(
		func(ctx context.Context) error { return informer.WaitForSync(ctx, s.ledger) }, s.create,
		s.start("replica-a", "replica-b", "replica-c"), s.settle,
		// One ends in the middle of its work.
		s.Do("you", fmt.Sprintf("change %d foos, and kill -9 replica-b in the middle", s.Changed), nothing),
		s.change(func() { s.kill("replica-b") }), s.settle,
		// Two come, and parts are handed over while their Foos change.
		s.start("replica-d", "replica-e"),
		s.Do("you", fmt.Sprintf("change %d foos meanwhile", s.Changed), nothing),
		s.change(nothing), s.settle,
		s.verdict,
	)
}

func name(i int) string { return fmt.Sprintf("foo-%05d", i) }

func (s *script) create(ctx context.Context) error {
	s.Say("you", "create %d foos", s.Foos)
	for i := range s.Foos {
		count := int32(1)
		foo := &api.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name(i)},
			Spec:       api.FooSpec{DeploymentName: name(i), Replicas: &count},
		}
		if _, err := s.foos.Create(ctx, foo); err != nil {
			return err
		}
	}
	return nil
}

// change changes Foos, and calls middle when half of them are changed.
func (s *script) change(middle func()) demo.Step {
	return func(ctx context.Context) error {
		s.rounds++
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+s.rounds)
		for i := range s.Changed {
			if i == s.Changed/2 {
				middle()
			}
			if _, err := s.foos.Patch(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name(i)}, types.MergePatchType, patch); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *script) start(names ...string) demo.Step {
	return func(context.Context) error {
		s.Say("you", "start %s, a process each", strings.Join(names, ", "))
		for _, name := range names {
			p, err := s.launch(name)
			if err != nil {
				return err
			}
			s.running = append(s.running, p)
		}
		return nil
	}
}

func (s *script) kill(name string) {
	i := slices.IndexFunc(s.running, func(p *process) bool { return p.name == name })
	s.running[i].kill()
	s.running = slices.Delete(s.running, i, i+1)
}

// settle waits until all replicas have their share of the parts, each Foo is in one cache, and all Foos are
// done. It fails if a cache has more than its share and one part then.
func (s *script) settle(ctx context.Context) error {
	share := controller.Parts / len(s.running)
	var exited error
	err := demo.Until(ctx, func() bool {
		settled, sum := true, 0
		for _, p := range s.running {
			select {
			case <-p.ended:
				exited = fmt.Errorf("%s has ended by itself: %v; its log says why", p.name, p.cmd.ProcessState)
			default:
			}
			parts, foos := p.has()
			settled = settled && parts == share
			sum += foos
		}
		return settled && sum == s.Foos || exited != nil
	}, func() string {
		return fmt.Sprintf("the replicas are to have %d parts each, and %d foos in all: %s", share, s.Foos, s.describe())
	})
	if err = errors.Join(err, exited); err != nil {
		return err
	}
	var names []string
	for _, p := range s.running {
		names = append(names, p.name)
		if _, foos := p.has(); foos > s.Foos/len(s.running)+s.Foos/controller.Parts {
			return fmt.Errorf("a cache has more than its share and one part: %s", s.describe())
		}
	}
	s.Say("replicas", "%s have %d of %d parts each", strings.Join(names, ", "), share, controller.Parts)
	err = demo.Until(ctx, func() bool { return s.ledger.missing(s.Foos) == 0 }, func() string {
		return fmt.Sprintf("%d foos were missed: they are not reconciled in their newest version", s.ledger.missing(s.Foos))
	})
	if err == nil {
		s.Say("server", "all %d foos are reconciled, in their newest version", s.Foos)
	}
	return err
}

func (s *script) describe() string {
	var all []string
	for _, p := range s.running {
		parts, foos := p.has()
		all = append(all, fmt.Sprintf("%s has %d, with %d foos", p.name, parts, foos))
	}
	return strings.Join(all, "; ")
}

// verdict says what was counted, and looks at the Foos on the server, too.
func (s *script) verdict(ctx context.Context) error {
	foos, err := s.foos.List(ctx, s.Namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	missed := s.Foos
	for _, foo := range foos {
		if controller.MarkOf(foo, controller.Done).Generation == foo.Generation {
			missed--
		}
	}
	doubles, err := s.ledger.doublesSoFar()
	if err != nil {
		return err
	}
	s.Say("ledger", "%d foos missed", missed)
	s.Say("ledger", "%d foos reconciled by two replicas at once", len(doubles))
	switch {
	case missed > 0:
		return fmt.Errorf("%d foos were missed", missed)
	case len(doubles) > 0:
		return fmt.Errorf("%d writes came after another replica had begun: %s", len(doubles), strings.Join(doubles[:min(len(doubles), 5)], "; "))
	}
	return nil
}
