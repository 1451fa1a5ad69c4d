package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer/informertest"
)

// With the first variable in its environment this program is a replica, which prints these
// lines and waits for the end of its standard input; with the second, too, it ends at once.
const (
	sayVariable    = "SHARDING_TEST_SAYS"
	statusVariable = "SHARDING_TEST_STATUS"
)

func TestMain(m *testing.M) {
	if lines, ok := os.LookupEnv(sayVariable); ok {
		fmt.Println(lines)
		if os.Getenv(statusVariable) != "" {
			os.Exit(3)
		}
		_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
		os.Exit(0)
	}
	exampletest.Main(m)
}

// options returns those of a scenario on a server whose replicas are this program, and only
// print lines.
func options(t *testing.T, lines string) Options {
	t.Helper()
	server := informertest.Start(t, informertest.Options{})
	crd, err := os.ReadFile("../crd.yaml")
	require.NoError(t, err)
	require.NoError(t, demo.Install(t.Context(), server.Config(), crd))
	program, err := os.Executable()
	require.NoError(t, err)
	return Options{
		Config: server.Config(), Kubeconfig: "none", Program: program, Env: []string{sayVariable + "=" + lines}, Namespace: "default",
		Foos: 24, Changed: 6, Lease: time.Second, Workers: 1, Patience: 1100 * time.Millisecond,
		Transcript: demo.NewTranscript(t.Output()), Stderr: io.Discard,
	}
}

func stay(context.Context) error { return nil }

// What a replica does wrong ends the scenario with an error that says what was expected, and
// of which replica.
func TestScenarioFailsWithTheReplicaThatIsWrong(t *testing.T) {
	t.Parallel()
	for says, test := range map[string]struct {
		lines  string
		change func(o *Options)
	}{
		"not converged after 1.1s: the replicas are to have 8 parts each: replica-a has 3, with 5 foos; replica-b has 3, with 5 foos; replica-c has 3, with 5 foos": {
			lines: "has 3 of 24 parts, with 5 foos",
		},
		"replica-a has 10 foos in its cache; it should have at most 9": {lines: "has 8 of 24 parts, with 10 foos"},
		"the caches have 21 foos, and there are 24: replica-a has 8, with 7 foos; replica-b has 8": {
			lines: "has 8 of 24 parts, with 7 foos",
		},
		"24 foos were missed: not reconciled in their newest version within 1.1s": {lines: "has 8 of 24 parts, with 8 foos"},
		" has ended by itself: exit status 3; its log says why": {
			lines: "no rights", change: func(o *Options) { o.Env = append(o.Env, statusVariable+"=3") },
		},
		"start replica-a: ": {change: func(o *Options) { o.Program = "/does/not/exist" }},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			opts := options(t, test.lines)
			opts.Patience = 1100 * time.Millisecond
			if test.change != nil {
				test.change(&opts)
			}
			if strings.Contains(says, "by itself") {
				opts.Patience = time.Minute // the machine may be slow, and it does not take so long
			}
			err := Play(t.Context(), opts, stay)
			require.ErrorContains(t, err, says)
		})
	}
}

// The last line of a replica counts, and what it prints else does not.
func TestReplicaHasWhatItHasSaidLast(t *testing.T) {
	t.Parallel()
	opts := options(t, "joins\nhas 1 of 24 parts, with 1 foos\nis shown at http://127.0.0.1:1/debug/informers\nhas 2 of 24 parts, with 3 foos")
	var out strings.Builder
	opts.Transcript = demo.NewTranscript(&out)
	s := &script{Options: opts, bell: demo.NewBell()}
	p, err := s.launch("replica-x", s.bell.Ring)
	require.NoError(t, err)
	require.NoError(t, s.bell.Until(t.Context(), time.Minute, func() bool {
		parts, foos := p.has()
		return parts == 2 && foos == 3
	}, func() string { return "it has not said what it has" }))
	p.stop(t.Context())
	p.stop(t.Context()) // again
	assert.Zero(t, p.cmd.ProcessState.ExitCode(), "it has ended by itself, at the end of its standard input")
	assert.Contains(t, out.String(), "replica-x   is shown at http://127.0.0.1:1/debug/informers\n")
	p.kill() // one that has ended
}

// The verdict counts what the server has, whatever replicas have said.
func TestVerdictSaysWhatWasMissedAndWhatWasDoneTwice(t *testing.T) {
	t.Parallel()
	opts := options(t, "")
	var out strings.Builder
	opts.Transcript = demo.NewTranscript(&out)
	s, err := newScript(opts)
	require.NoError(t, err)
	require.NoError(t, s.ledger.Begin(t.Context()))
	require.NoError(t, s.create(t.Context()))
	require.EqualError(t, s.verdict(t.Context()), "24 foos were missed")
	assert.Contains(t, out.String(), "24 foos missed\n")

	// Another replica marks each as done, which one had begun.
	err = demo.Beside(t.Context(), func(ctx context.Context) error {
		for i := range opts.Foos {
			for _, step := range []struct {
				annotation string
				mark       controller.Mark
			}{{controller.Working, controller.Mark{Replica: "a", Term: 1, Generation: 1}}, {controller.Done, controller.Mark{Replica: "b", Term: 2, Generation: 1}}} {
				mark, err := json.Marshal(step.mark)
				if err != nil {
					return err
				}
				patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{step.annotation: string(mark)}}})
				if err != nil {
					return err
				}
				if _, err := s.foos.Patch(ctx, types.NamespacedName{Namespace: "default", Name: name(i)}, types.MergePatchType, patch); err != nil {
					return err
				}
			}
		}
		if missing := s.ledger.Settle(ctx, opts.Foos); missing > 0 {
			return errors.New("the ledger has not seen all")
		}
		return nil
	}, s.ledger.Follow)
	require.NoError(t, err)
	err = s.verdict(t.Context())
	require.ErrorContains(t, err, "24 writes came after another replica had begun: foo-0000")
	require.ErrorContains(t, err, "b in term 2 has written after a had begun in term 1")
	assert.Contains(t, out.String(), "24 foos reconciled by two replicas at once\n")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := Options{
		Config: &rest.Config{Host: "http://127.0.0.1:1"}, Kubeconfig: "k", Program: "p", Namespace: "default", Foos: 24, Changed: 2,
		Lease: time.Second, Workers: 1, Patience: time.Minute, Transcript: demo.NewTranscript(io.Discard), Stderr: io.Discard,
	}
	require.NoError(t, good.check())
	for says, change := range map[string]func(o *Options){
		"Options.Config is not set":                           func(o *Options) { o.Config = nil },
		"Options.Kubeconfig is not set":                       func(o *Options) { o.Kubeconfig = "" },
		"Options.Program is not set":                          func(o *Options) { o.Program = "" },
		"Options.Namespace is not set":                        func(o *Options) { o.Namespace = "" },
		"Options.Transcript is not set":                       func(o *Options) { o.Transcript = nil },
		"Options.Stderr is not set":                           func(o *Options) { o.Stderr = nil },
		"Options.Foos is 0; use at least 24":                  func(o *Options) { o.Foos = 0 },
		"Options.Changed is 1; use 2 to 24":                   func(o *Options) { o.Changed = 1 },
		"Options.Changed is 25; use 2 to 24":                  func(o *Options) { o.Changed = 25 },
		"Options.Lease is 1ms; use at least 1s":               func(o *Options) { o.Lease = time.Millisecond },
		"Options.Workers is 0; use at least 1":                func(o *Options) { o.Workers = 0 },
		"Options.Patience is 1s; use more than the lease dur": func(o *Options) { o.Patience = time.Second },
	} {
		opts := good
		change(&opts)
		err := Play(t.Context(), opts, stay)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n")
	}
	bad := good
	bad.Config = &rest.Config{Host: "::"}
	require.Error(t, Play(t.Context(), bad, stay))
	require.ErrorContains(t, Play(t.Context(), good, stay), "connection refused", "nothing is started without a server")
}

// All numbers are used once, and an error ends it, as the end of the context does.
func TestEach(t *testing.T) {
	t.Parallel()
	seen := make(chan int, 100)
	require.NoError(t, each(t.Context(), 100, func(_ context.Context, i int) error {
		seen <- i
		return nil
	}))
	close(seen)
	numbers := map[int]bool{}
	for i := range seen {
		numbers[i] = true
	}
	assert.Len(t, slices.Collect(maps.Keys(numbers)), 100)
	broken := errors.New("broken")
	require.ErrorIs(t, each(t.Context(), 1000, func(_ context.Context, i int) error {
		if i == 3 {
			return broken
		}
		return nil
	}), broken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, each(ctx, 1000, func(context.Context, int) error { return nil }), context.Canceled)
	require.NoError(t, each(t.Context(), 0, func(context.Context, int) error { return broken }))
}
