package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
)

// With the first variable in its environment this program is a replica, which prints these
// lines, or those of the variable with its name at the end, and waits for the end of its standard input; with the second, too, it ends at once.
const (
	sayVariable    = "SHARDING_TEST_SAYS"
	statusVariable = "SHARDING_TEST_STATUS"
)

func TestMain(m *testing.M) {
	if lines, ok := os.LookupEnv(sayVariable); ok {
		if own, ok := os.LookupEnv(sayVariable + "_" + os.Args[slices.Index(os.Args, "-identity")+1]); ok {
			lines = own
		}
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
func options(t *testing.T, out io.Writer, lines string) (*exampleapp.Env, Options) {
	t.Helper()
	server := informertest.Start(t, informertest.Options{})
	crd, err := os.ReadFile("../crd.yaml")
	require.NoError(t, err)
	require.NoError(t, demo.Install(t.Context(), server.Config(), crd))
	program, err := os.Executable()
	require.NoError(t, err)
	return &exampleapp.Env{Config: server.Config(), Workers: 1, Once: true, Transcript: demo.NewTranscript(out)}, Options{
		Kubeconfig: "none", Program: program, Env: []string{sayVariable + "=" + lines}, Namespace: "default",
		Foos: 24, Changed: 6, Lease: time.Second, Stderr: io.Discard,
	}
}

// What a replica does wrong ends the scenario with an error that says what was expected, and
// of which replica.
func TestScenarioFailsWithTheReplicaThatIsWrong(t *testing.T) {
	t.Parallel()
	// Some of the cases wait as long as this for what does not come; until then, three
	// processes have to be up on a machine that has other things to do.
	const short = 8 * time.Second
	inAll, missed := "24 foos in all", "24 foos were missed"
	for says, test := range map[string]struct {
		lines  string
		change func(o *Options)
	}{
		"the replicas are to have 8 parts each, and 24 foos in all: replica-a has 3, with 8 foos; replica-b has 3, with 8 foos; replica-c has 3, with 8 foos": {
			lines: "has 3 of 24 parts, with 8 foos",
		},
		"24 foos in all: replica-a has 8, with 10 foos; replica-b has 8": {lines: "has 8 of 24 parts, with 10 foos"},
		"a cache has more than its share and one part: replica-a has 8, with 10 foos; replica-b has 8, with 7": {
			lines:  "has 8 of 24 parts, with 7 foos",
			change: func(o *Options) { o.Env = append(o.Env, sayVariable+"_replica-a=has 8 of 24 parts, with 10 foos") },
		},
		"24 foos were missed: they are not reconciled in their newest version": {lines: "has 8 of 24 parts, with 8 foos"},
		" has ended by itself: exit status 3; its log says why": {
			lines: "no rights", change: func(o *Options) { o.Env = append(o.Env, statusVariable+"=3") },
		},
		"start replica-a: ": {change: func(o *Options) { o.Program = "/does/not/exist" }},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			env, opts := options(t, t.Output(), test.lines)
			ctx := t.Context()
			if strings.Contains(says, inAll) || strings.Contains(says, missed) {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, short)
				defer cancel()
			}
			if test.change != nil {
				test.change(&opts)
			}
			require.ErrorContains(t, Play(ctx, env, opts), says)
		})
	}
}

// The last line of a replica counts, and what it prints else does not.
func TestReplicaHasWhatItHasSaidLast(t *testing.T) {
	t.Parallel()
	env, opts := options(t, t.Output(), "joins\nhas 1 of 24 parts, with 1 foos\nhas 2 of 24 parts, with 3 foos")
	s, err := newScript(env, opts)
	require.NoError(t, err)
	p, err := s.launch("replica-x")
	require.NoError(t, err)
	require.NoError(t, demo.Until(t.Context(), func() bool {
		parts, foos := p.has()
		return parts == 2 && foos == 3
	}, func() string { return "it has not said what it has" }))
	p.stop()
	<-p.ended
	assert.Zero(t, p.cmd.ProcessState.ExitCode(), "it has ended by itself, at the end of its standard input")
	p.kill() // one that has ended
}

// The verdict counts what the server has, whatever replicas have said.
func TestVerdictSaysWhatWasMissedAndWhatWasDoneTwice(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	env, opts := options(t, &out, "")
	s, err := newScript(env, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ledger.Run(ctx) }()
	require.NoError(t, informer.WaitForSync(ctx, s.ledger))
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
	require.NoError(t, demo.Until(ctx, func() bool { return s.ledger.missing(opts.Foos) == 0 }, func() string { return "the ledger has not seen all" }))
	err = s.verdict(t.Context())
	require.ErrorContains(t, err, "24 writes came after another replica had begun: foo-0000")
	require.ErrorContains(t, err, "b in term 2 has written after a had begun in term 1")
	assert.Contains(t, out.String(), "24 foos reconciled by two replicas at once\n")
	cancel()
	require.NoError(t, <-ended)
}

func TestNothingIsStartedWithoutAServer(t *testing.T) {
	t.Parallel()
	env, opts := options(t, t.Output(), "")
	env.Config = &rest.Config{Host: "http://127.0.0.1:1"}
	require.ErrorContains(t, Play(t.Context(), env, opts), "connection refused")
}
