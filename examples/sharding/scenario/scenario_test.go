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
	// Two of the cases wait as long as this for what does not come; until then, three
	// processes have to be up on a machine that has other things to do.
	const short = 8 * time.Second
	for says, test := range map[string]struct {
		lines  string
		change func(o *Options)
	}{
		"not converged after 8s: the replicas are to have 8 parts each: replica-a has 3, with 5 foos; replica-b has 3, with 5 foos; replica-c has 3, with 5 foos": {
			lines: "has 3 of 24 parts, with 5 foos",
		},
		"replica-a has 10 foos in its cache; it should have at most 9": {lines: "has 8 of 24 parts, with 10 foos"},
		"the caches have 21 foos, and there are 24: replica-a has 8, with 7 foos; replica-b has 8": {
			lines: "has 8 of 24 parts, with 7 foos",
		},
		"not converged after 8s: 24 foos were missed: they are not reconciled in their newest version": {lines: "has 8 of 24 parts, with 8 foos"},
		" has ended by itself: exit status 3; its log says why": {
			lines: "no rights", change: func(o *Options) { o.Env = append(o.Env, statusVariable+"=3") },
		},
		"start replica-a: ": {change: func(o *Options) { o.Program = "/does/not/exist" }},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			opts := options(t, test.lines)
			opts.Patience = time.Minute
			if strings.Contains(says, short.String()) {
				opts.Patience = short
			}
			if test.change != nil {
				test.change(&opts)
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
	s := &script{Options: opts}
	p, err := s.launch("replica-x")
	require.NoError(t, err)
	require.NoError(t, demo.Until(t.Context(), time.Minute, func() bool {
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
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ledger.Follow(ctx) }()
	require.NoError(t, s.ledger.Begin(t.Context()))
	require.NoError(t, s.create(t.Context()))
	require.EqualError(t, s.verdict(t.Context()), "24 foos were missed")
	assert.Contains(t, out.String(), "24 foos missed\n")

	// Another replica marks each as done, which one had begun.
	for i := range opts.Foos {
		for _, step := range []struct {
			annotation string
			mark       controller.Mark
		}{{controller.Working, controller.Mark{Replica: "a", Term: 1, Generation: 1}}, {controller.Done, controller.Mark{Replica: "b", Term: 2, Generation: 1}}} {
			mark, err := json.Marshal(step.mark)
			require.NoError(t, err)
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{step.annotation: string(mark)}}})
			require.NoError(t, err)
			_, err = s.foos.Patch(ctx, types.NamespacedName{Namespace: "default", Name: name(i)}, types.MergePatchType, patch)
			require.NoError(t, err)
		}
	}
	require.NoError(t, demo.Until(ctx, 0, func() bool { return s.ledger.Missing(opts.Foos) == 0 }, func() string { return "the ledger has not seen all" }))
	err = s.verdict(t.Context())
	require.ErrorContains(t, err, "24 writes came after another replica had begun: foo-0000")
	require.ErrorContains(t, err, "b in term 2 has written after a had begun in term 1")
	assert.Contains(t, out.String(), "24 foos reconciled by two replicas at once\n")
	cancel()
	require.NoError(t, <-ended)
}

func TestNothingIsStartedWithoutAServer(t *testing.T) {
	t.Parallel()
	opts := options(t, "")
	opts.Config = &rest.Config{Host: "http://127.0.0.1:1"}
	require.ErrorContains(t, Play(t.Context(), opts, stay), "connection refused")
	opts.Config = &rest.Config{Host: "::"}
	require.Error(t, Play(t.Context(), opts, stay))
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
