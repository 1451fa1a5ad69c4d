// Package scenario is the demo of the example: replicas in processes of their own share
// many Foos; one is killed, two are added, while Foos change; and package ledger counts what
// was done twice at once, and what was missed.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// check returns an error if a field is missing, or has a value with which the scenario
// would not show what it is about.
func (o *Options) check() error {
	for name, missing := range map[string]bool{
		"Config": o.Config == nil, "Kubeconfig": o.Kubeconfig == "", "Program": o.Program == "", "Namespace": o.Namespace == "",
		"Transcript": o.Transcript == nil, "Stderr": o.Stderr == nil,
	} {
		if missing {
			return fmt.Errorf("scenario: Options.%s is not set", name)
		}
	}
	switch {
	case o.Foos < controller.Parts:
		return fmt.Errorf("scenario: Options.Foos is %d; use at least %d, one for each part", o.Foos, controller.Parts)
	case o.Changed < 2 || o.Changed > o.Foos:
		return fmt.Errorf("scenario: Options.Changed is %d; use 2 to %d, the number of Foos", o.Changed, o.Foos)
	case o.Lease < time.Second:
		return fmt.Errorf("scenario: Options.Lease is %v; use at least 1s", o.Lease)
	case o.Workers < 1:
		return fmt.Errorf("scenario: Options.Workers is %d; use at least 1", o.Workers)
	case o.Patience <= o.Lease:
		return fmt.Errorf("scenario: Options.Patience is %v; use more than the lease duration of %v, after which the parts of the replica that is killed are free", o.Patience, o.Lease)
	}
	return nil
}

// script is a scenario that runs.
type script struct {
	Options
	foos    *client.Client[*api.Foo]
	ledger  *ledger.Ledger
	bell    demo.Bell
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
	if err := s.ledger.Begin(ctx); err != nil {
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
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &script{Options: opts, bell: demo.NewBell()}
	var err error
	if s.foos, err = client.New[*api.Foo](opts.Config, api.Resource, client.Options{}); err != nil {
		return nil, err
	}
	s.ledger, err = ledger.New(opts.Config, opts.Namespace)
	return s, err
}

func (s *script) steps() demo.Step {
	return demo.Steps(
		s.create,
		s.start("replica-a", "replica-b", "replica-c"), s.settle,
		// One ends in the middle of its work.
		s.say("change %d foos, and kill -9 replica-b in the middle", s.Changed),
		s.change(func() { s.kill("replica-b") }), s.settle,
		// Two come, and parts are handed over while their Foos change.
		s.start("replica-d", "replica-e"), s.say("change %d foos meanwhile", s.Changed),
		s.change(func() {}), s.settle,
		s.verdict,
	)
}

func (s *script) say(format string, args ...any) demo.Step {
	return func(context.Context) error {
		s.Transcript.Say("you", format, args...)
		return nil
	}
}

func name(i int) string { return fmt.Sprintf("foo-%05d", i) }

// each calls do for the numbers below n, some at a time.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

func (s *script) create(ctx context.Context) error {
	s.Transcript.Say("you", "create %d foos", s.Foos)
	return each(ctx, s.Foos, func(ctx context.Context, i int) error {
		count := int32(1)
		_, err := s.foos.Create(ctx, &api.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name(i)},
			Spec:       api.FooSpec{DeploymentName: name(i), Replicas: &count},
		})
		return err
	})
}

// change changes Foos, and calls middle when half of them are changed.
func (s *script) change(middle func()) demo.Step {
	return func(ctx context.Context) error {
		s.rounds++
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1+s.rounds)
		for half := range 2 {
			err := each(ctx, s.Changed/2, func(ctx context.Context, i int) error {
				_, err := s.foos.Patch(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name(half*s.Changed/2 + i)}, types.MergePatchType, patch)
				return err
			})
			if err != nil {
				return err
			}
			if half == 0 {
				middle()
			}
		}
		return nil
	}
}

func (s *script) start(names ...string) demo.Step {
	return func(context.Context) error {
		s.Transcript.Say("you", "start %s, a process each", strings.Join(names, ", "))
		for _, name := range names {
			p, err := s.launch(name, s.bell.Ring)
			if err != nil {
				return err
			}
			s.running = append(s.running, p)
		}
		return nil
	}
}

func (s *script) kill(name string) {
	for i, p := range s.running {
		if p.name == name {
			p.kill()
			s.running = append(s.running[:i:i], s.running[i+1:]...)
			return
		}
	}
}

// settle waits until all replicas have their share of the parts, and all Foos are done,
// and looks at what is in the caches then.
func (s *script) settle(ctx context.Context) error {
	share := controller.Parts / len(s.running)
	var exited error
	err := s.bell.Until(ctx, s.Patience, func() bool {
		settled := true
		for _, p := range s.running {
			select {
			case <-p.ended:
				exited = fmt.Errorf("%s has ended by itself: %v; its log says why", p.name, p.cmd.ProcessState)
			default:
			}
			parts, _ := p.has()
			settled = settled && parts == share
		}
		return settled || exited != nil
	}, func() string { return fmt.Sprintf("the replicas are to have %d parts each: %s", share, s.describe()) })
	if err = errors.Join(err, exited); err != nil {
		return err
	}
	var names []string
	for _, p := range s.running {
		names = append(names, p.name)
	}
	s.Transcript.Say("replicas", "%s have %d of %d parts each", strings.Join(names, ", "), share, controller.Parts)
	if err := s.checkCaches(); err != nil {
		return err
	}
	if err := s.waitDone(ctx); err != nil {
		return err
	}
	s.Transcript.Say("server", "all %d foos are reconciled, in their newest version", s.Foos)
	return nil
}

// checkCaches checks that each Foo is in one cache, and that no cache has more than
// its share and one part.
func (s *script) checkCaches() error {
	sum, most := 0, s.Foos/len(s.running)+s.Foos/controller.Parts
	for _, p := range s.running {
		_, foos := p.has()
		sum += foos
		if foos > most {
			return fmt.Errorf("%s has %d foos in its cache; it should have at most %d", p.name, foos, most)
		}
	}
	if sum != s.Foos {
		return fmt.Errorf("the caches have %d foos, and there are %d: %s", sum, s.Foos, s.describe())
	}
	return nil
}

func (s *script) describe() string {
	var all []string
	for _, p := range s.running {
		parts, foos := p.has()
		all = append(all, fmt.Sprintf("%s has %d, with %d foos", p.name, parts, foos))
	}
	return strings.Join(all, "; ")
}

func (s *script) waitDone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	if missed := s.ledger.Settle(ctx, s.Foos); missed > 0 {
		return fmt.Errorf("%d foos were missed: not reconciled in their newest version within %v", missed, s.Patience)
	}
	return nil
}

// verdict says what was counted, and looks at the Deployments, too.
func (s *script) verdict(ctx context.Context) error {
	foos, err := s.foos.List(ctx, s.Namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	missed := 0
	for _, foo := range foos {
		if controller.MarkOf(foo, controller.Done).Generation != foo.Generation {
			missed++
		}
	}
	missed += max(s.Foos-len(foos), 0)
	counts, doubles := s.ledger.Counts()
	s.Transcript.Say("ledger", "%d foos missed", missed)
	s.Transcript.Say("ledger", "%d foos reconciled by two replicas at once", counts.Double)
	switch {
	case missed > 0:
		return fmt.Errorf("%d foos were missed", missed)
	case counts.Double > 0:
		return fmt.Errorf("%d writes came after another replica had begun: %s", counts.Double, strings.Join(doubles[:min(len(doubles), 5)], "; "))
	}
	return nil
}
