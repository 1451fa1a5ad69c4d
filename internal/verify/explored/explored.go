package explored

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// Prepare sets what is global to the process. Call it in TestMain, outside of any bubble.
func Prepare() {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	// The handler left out holds a mutex while it sleeps, for all goroutines of the process.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	// A panic of a worker ends the process in production. Here it ends this life of the controller.
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(ctx context.Context, v any) {
		crash, ok := ctx.Value(crashKey{}).(chan string)
		if !ok {
			panic(v) // of an unknown life
		}
		select {
		case crash <- fmt.Sprintf("%v\n%s", v, debug.Stack()):
		default: // the first one counts
		}
	}}
}

// crashKey is the key of the channel for panics of workers in the context of a life.
type crashKey struct{}

// Start returns a Start that runs a controller until its context ends or one of its workers panics.
func Start(run func(ctx context.Context, cfg *rest.Config, clients kubernetes.Interface) error) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		cfg.QPS, cfg.Burst = 20, 30 // the defaults of kube-controller-manager
		clients, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		crash, ended := make(chan string, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(context.WithValue(ctx, crashKey{}, crash))
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { ended <- run(ctx, cfg, clients) })
		select {
		case err := <-ended:
			return err
		case v := <-crash:
			cancel()
			running.Wait()
			panic(v)
		}
	}
}

// Step lets pods take steps, then collects garbage.
func Step(s *informertest.Server, steps ...informertest.PodStep) {
	for _, kind := range steps {
		if _, err := s.StepPods(kind, "", nil); err != nil {
			panic(err)
		}
	}
	if err := s.CollectGarbage(); err != nil {
		panic(err)
	}
}

// Case is a controller with what is known about it.
type Case struct {
	// Subject has all that is expected of the controller.
	Subject explore.Subject
	// Known are the findings.
	Known []Finding
	// Searches must find nothing else.
	Searches []Search
}

// Search is a search for other findings.
type Search struct {
	Name string
	// Subject has the expectations of Case.Subject, without what a known finding breaks in this search.
	Subject explore.Subject
	// Without are the built-in rules that a known finding breaks, and the faults that lead to one, as in
	// explore.Options.
	Without []string
	// Quiet is that of explore.Options.
	Quiet time.Duration
}

// Finding is a known way to break a controller.
type Finding struct {
	// Schedule breaks Rule of the package explore.
	Schedule, Rule string
	// Reason is a part of what the rule says; Trace has parts of lines of the trace, in order.
	Reason string
	Trace  []string
	// Rest has the expectations for this finding, if it needs others than Case.Subject.
	Rest *explore.Subject
}

// schedules is how many schedules each search tries, unless the flag -explore.schedules says otherwise.
const schedules = 60

// Test fails unless each known finding is found, and the searches find no other.
func (c Case) Test(t *testing.T) {
	t.Helper()
	if flag.Lookup("explore.schedule").Value.String() != "" {
		explore.Run(t, explore.Options{Without: withoutLeaks}, c.Subject)
		return
	}
	for _, f := range c.Known {
		if err := f.confirm(t, c.Subject); err != nil {
			t.Error(err)
		}
	}
	for _, s := range c.Searches {
		s.run(t)
	}
}

// withoutLeaks is for informers of client-go: one that is stopped while it starts may leave a goroutine.
var withoutLeaks = []string{"leak"}

// run fails the test if there is a finding.
func (s Search) run(t *testing.T) {
	t.Helper()
	began := time.Now()
	result := explore.Search(t, explore.Options{Schedules: schedules, Quiet: s.Quiet, Without: slices.Concat(withoutLeaks, s.Without)}, s.Subject)
	if result.Finding != nil {
		t.Fatalf("%s: not a known finding: describe it in the test and in README.md\n%v", s.Name, result.Finding)
	}
	t.Logf("%s: survived %d schedules around %d writes in %v", s.Name, result.Schedules, result.Writes, time.Since(began).Round(time.Second))
}

// confirm returns an error unless the finding is found.
func (f Finding) confirm(t *testing.T, subject explore.Subject) error {
	t.Helper()
	if f.Rest != nil {
		subject = *f.Rest
	}
	result := explore.Search(t, explore.Options{First: []string{f.Schedule}, Schedules: 1, Without: withoutLeaks}, subject)
	got := result.Finding
	switch {
	case got == nil:
		return fmt.Errorf("%s survives: if this version of the controller has fixed it, remove it from the known findings and from README.md", f.Schedule)
	case got.Rule != f.Rule || !strings.Contains(got.Reason, f.Reason):
		return fmt.Errorf("%s: want %s: %s\ngot %v", f.Schedule, f.Rule, f.Reason, got)
	}
	rest := got.Trace
	for _, part := range f.Trace {
		i := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, part) })
		if i < 0 {
			return fmt.Errorf("%s: %q is not in the trace, or not in this order:\n%v", f.Schedule, part, got)
		}
		rest = rest[i+1:]
	}
	return nil
}
