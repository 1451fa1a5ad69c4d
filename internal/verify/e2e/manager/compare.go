package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// Options say how much is compared.
type Options struct {
	Pods   int  // that are there before
	Rounds int  // runs of each side
	Share  bool // our informers store equal parts of objects once
	// Progress receives what is being done; nil discards it.
	Progress io.Writer
}

// The two sides, by their index everywhere.
const (
	theirs = iota
	ours
)

// env selects the informers of a side.
var env = [2]string{theirs: "INFORMERKIT=off", ours: "INFORMERKIT="}

// run is what was found in one run.
type run struct {
	steady, end memory          // before the script, and after it
	cpu         time.Duration   // of the whole run
	times       []time.Duration // until the program was at rest after its start, and after each step
	requests    map[string]int
	state       state
}

// comparison is one in progress.
type comparison struct {
	Options
	cp                *controlplane.ControlPlane
	client            kubernetes.Interface
	objects           dynamic.Interface
	program, dir, log string
	number            int
}

// Compare runs both sides in turns.
func Compare(ctx context.Context, opts Options) (_ *Report, err error) {
	if opts.Pods < 1 || opts.Rounds < 1 {
		return nil, fmt.Errorf("manager: pods and rounds must be more than zero: %+v", opts)
	}
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	c := &comparison{Options: opts}
	if c.dir, err = os.MkdirTemp("", "informerkit-manager-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(c.dir)
		}
	}()
	if c.program, err = buildProgram(ctx, opts.Share, opts.Progress); err != nil {
		return nil, err
	}
	policy := filepath.Join(c.dir, "policy.yaml")
	c.log = filepath.Join(c.dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	c.cp, err = controlplane.Start(ctx, controlplane.Options{
		Progress:     opts.Progress,
		FeatureGates: map[string]bool{"APIServerIdentity": false, "UnknownVersionInteroperabilityProxy": false}, // it writes every ten seconds
		APIServerFlags: []string{
			"--audit-policy-file=" + policy, "--audit-log-path=" + c.log, "--audit-log-mode=batch", "--event-ttl=6h",
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.cp.Stop()) }()
	config := c.cp.Config()
	config.UserAgent = "script"
	if c.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	c.say("creating %d pods", opts.Pods)
	if err := populate(ctx, c.client, opts.Pods); err != nil {
		return nil, err
	}
	// What the program does once in the life of a cluster belongs to no side.
	if _, err := c.run(ctx, theirs, nil); err != nil {
		return nil, err
	}
	report := &Report{options: opts}
	for range opts.Rounds {
		for side := range env {
			r, err := c.run(ctx, side, steps)
			if err != nil {
				return nil, err
			}
			report.runs[side] = append(report.runs[side], *r)
		}
	}
	return report, nil
}

func (c *comparison) say(format string, args ...any) {
	fmt.Fprintf(c.Progress, "manager: "+format+"\n", args...)
}

// run starts the program on one side and plays steps.
func (c *comparison) run(ctx context.Context, side int, steps []step) (_ *run, err error) {
	c.number++
	s := &script{client: c.client, prefix: fmt.Sprintf("run%d-", c.number)}
	c.say("run %d, %s", c.number, env[side])
	offset, began := sizeOf(c.log), time.Now()
	p, err := c.cp.StartManager(ctx, c.program, []string{env[side]}, managerFlags...)
	if err != nil {
		return nil, err
	}
	r := &run{}
	defer func() {
		var stopped error
		r.cpu, stopped = p.Stop()
		err = errors.Join(err, stopped)
	}()
	rest := func(began time.Time, done func(context.Context) (bool, error)) error {
		took, err := c.settle(ctx, began, done)
		r.times = append(r.times, took)
		return err
	}
	if err := rest(began, func(ctx context.Context) (bool, error) { return c.canary(ctx, s) }); err != nil {
		return nil, fmt.Errorf("manager: after its start: %w", err)
	}
	if r.steady, err = memoryOf(ctx, p); err != nil {
		return nil, err
	}
	play := func(st step) error {
		began := time.Now()
		if err := st.do(s, ctx, c.cp); err != nil {
			return fmt.Errorf("manager: %s: %w", st.name, err)
		}
		if err := rest(began, func(ctx context.Context) (bool, error) { return st.done(s, ctx) }); err != nil {
			return fmt.Errorf("manager: %s: %w", st.name, err)
		}
		c.say("%s: %.1f s", st.name, r.times[len(r.times)-1].Seconds())
		return nil
	}
	if len(steps) == 0 {
		return r, nil
	}
	for _, st := range steps {
		if err := play(st); err != nil {
			return nil, err
		}
	}
	if r.state, err = stateOf(ctx, c.objects, s.prefix); err != nil {
		return nil, err
	}
	if err := play(last); err != nil {
		return nil, err
	}
	if r.end, err = memoryOf(ctx, p); err != nil {
		return nil, err
	}
	r.requests, err = requests(c.log, offset)
	return r, err
}

// canary is done when the program works: it gives each new namespace a service account.
// Its namespace stays, so that nothing is left to do when the script begins.
func (c *comparison) canary(ctx context.Context, s *script) (bool, error) {
	name := "canary-" + strings.TrimSuffix(s.prefix, "-")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return false, err
	}
	_, err := c.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
	return err == nil, ignoreNotFound(err)
}

// settle returns when done says so and the storage has not changed for five seconds: how
// long after began the last change was.
func (c *comparison) settle(ctx context.Context, began time.Time, done func(context.Context) (bool, error)) (time.Duration, error) {
	const still = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	version, changed, is := "", began, false
	for !is || time.Since(changed) < still {
		list, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return 0, fmt.Errorf("asking for the newest version: %w", err)
		}
		if list.ResourceVersion != version {
			version, changed = list.ResourceVersion, time.Now()
		}
		if !is {
			if is, err = done(ctx); err != nil {
				return 0, err
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the cluster does not come to rest: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return changed.Sub(began), nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
