// Package scenario is the demo of the example: replicas in processes of their own share
// many Foos; one is killed, two are added, while Foos change; and package ledger counts what
// was done twice at once, and what was missed.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/examples/sharding/ledger"
	"github.com/informerkit/informerkit/informer/client"
)

// Options configures Play. All fields but Env and Inspect are required.
type Options struct {
	// Config leads to the API server, which must serve Foos. Kubeconfig is a file that leads
	// the replicas there.
	Config     *rest.Config
	Kubeconfig string
	// Program is the example as a program: a replica is Program with flags, and Env.
	Program string
	Env     []string
	// Namespace is where the Foos are, and the Leases. No other Foos may be there.
	Namespace string
	// Foos is how many there are, and Changed how many of them change at a time.
	Foos, Changed int
	// Lease is the lease duration, and Workers how many Foos a replica works on at a time.
	Lease   time.Duration
	Workers int
	// Patience is how long a step may take.
	Patience time.Duration
	// Inspect has each replica serve a page of package inspect, whose address is printed.
	Inspect    bool
	Transcript *demo.Transcript
	// Stderr gets the logs of the replicas.
	Stderr io.Writer
}

// script is a scenario that runs.
type script struct {
	Options
	foos    *client.Client[*api.Foo]
	ledger  *ledger.Ledger
	running []*process
	rounds  int // of changes
}

// Play plays the demo. It fails if a write came after another replica had begun, if a
// Foo was missed, or if a cache has more than it should. The replicas have ended when it
// returns. Stay is called at the end, while they still run.
func Play(ctx context.Context, opts Options, stay func(context.Context) error) error {
	s, err := newScript(opts)
	if err != nil {
		return err
	}
	defer func() {
		var all sync.WaitGroup
		for _, p := range s.running {
			all.Go(func() { p.stop(context.WithoutCancel(ctx)) })
		}
		all.Wait()
	}()
	return demo.Beside(ctx, func(ctx context.Context) error {
		if err := s.steps()(ctx); err != nil {
			return err
		}
		return stay(ctx)
	}, s.ledger.Follow)
}

func newScript(opts Options) (*script, error) {
	l, err := ledger.New(opts.Config, opts.Namespace)
	if err != nil {
		return nil, err
	}
	return &script{Options: opts, foos: demo.Client[*api.Foo](opts.Config, api.Resource), ledger: l}, nil
}

func (s *script) steps() demo.Step {
	nothing := func() {}
	return demo.Steps(
		s.ledger.Begin, s.create,
		s.start("replica-a", "replica-b", "replica-c"), s.settle,
		// One ends in the middle of its work.
		s.Transcript.Do("you", fmt.Sprintf("change %d foos, and kill -9 replica-b in the middle", s.Changed), nothing),
		s.change(func() { s.kill("replica-b") }), s.settle,
		// Two come, and parts are handed over while their Foos change.
		s.start("replica-d", "replica-e"),
		s.Transcript.Do("you", fmt.Sprintf("change %d foos meanwhile", s.Changed), nothing),
		s.change(nothing), s.settle,
		s.verdict,
	)
}

func name(i int) string { return fmt.Sprintf("foo-%05d", i) }

// each calls do for the numbers below n, some at a time.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	errs := make([]error, 8)
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for i := w; i < n && errs[w] == nil && ctx.Err() == nil; i += len(errs) {
				errs[w] = do(ctx, i)
			}
		})
	}
	workers.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

func (s *script) create(ctx context.Context) error {
	s.Transcript.Say("you", "create %d foos", s.Foos)
	return each(ctx, s.Foos, func(ctx context.Context, i int) error {
		count := int32(1)
		return demo.Create(s.foos, &api.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name(i)},
			Spec:       api.FooSpec{DeploymentName: name(i), Replicas: &count},
		})(ctx)
	})
}

// change changes Foos, and calls middle when half of them are changed.
func (s *script) change(middle func()) demo.Step {
	return func(ctx context.Context) error {
		s.rounds++
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+s.rounds)
		some := func(from int) error {
			return each(ctx, s.Changed/2, func(ctx context.Context, i int) error {
				_, err := s.foos.Patch(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name(from + i)}, types.MergePatchType, patch)
				return err
			})
		}
		if err := some(0); err != nil {
			return err
		}
		middle()
		return some(s.Changed / 2)
	}
}

func (s *script) start(names ...string) demo.Step {
	return func(context.Context) error {
		s.Transcript.Say("you", "start %s, a process each", strings.Join(names, ", "))
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

// settle waits until all replicas have their share of the parts, and all Foos are done. It fails if a Foo is not in one
// cache then, or if a cache has more than its share and one part.
func (s *script) settle(ctx context.Context) error {
	share := controller.Parts / len(s.running)
	var names []string
	var exited error
	err := demo.Until(ctx, s.Patience, func() bool {
		settled := true
		names = nil
		for _, p := range s.running {
			select {
			case <-p.ended:
				exited = fmt.Errorf("%s has ended by itself: %v; its log says why", p.name, p.cmd.ProcessState)
			default:
			}
			parts, _ := p.has()
			settled = settled && parts == share
			names = append(names, p.name)
		}
		return settled || exited != nil
	}, func() string { return fmt.Sprintf("the replicas are to have %d parts each: %s", share, s.describe()) })
	if err = errors.Join(err, exited); err != nil {
		return err
	}
	s.Transcript.Say("replicas", "%s have %d of %d parts each", strings.Join(names, ", "), share, controller.Parts)
	sum, most := 0, s.Foos/len(s.running)+s.Foos/controller.Parts
	for _, p := range s.running {
		_, foos := p.has()
		if sum += foos; foos > most {
			return fmt.Errorf("%s has %d foos in its cache; it should have at most %d", p.name, foos, most)
		}
	}
	if sum != s.Foos {
		return fmt.Errorf("the caches have %d foos, and there are %d: %s", sum, s.Foos, s.describe())
	}
	err = demo.Until(ctx, s.Patience, func() bool { return s.ledger.Missing(s.Foos) == 0 },
		func() string {
			return fmt.Sprintf("%d foos were missed: they are not reconciled in their newest version", s.ledger.Missing(s.Foos))
		})
	if err == nil {
		s.Transcript.Say("server", "all %d foos are reconciled, in their newest version", s.Foos)
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
	doubles, err := s.ledger.Doubles()
	if err != nil {
		return err
	}
	s.Transcript.Say("ledger", "%d foos missed", missed)
	s.Transcript.Say("ledger", "%d foos reconciled by two replicas at once", len(doubles))
	switch {
	case missed > 0:
		return fmt.Errorf("%d foos were missed", missed)
	case len(doubles) > 0:
		return fmt.Errorf("%d writes came after another replica had begun: %s", len(doubles), strings.Join(doubles[:min(len(doubles), 5)], "; "))
	}
	return nil
}
