package bench

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// childEnv runs the test binary as a child that measures testRow.
const childEnv = "BENCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := Serve([]Row{testRow()}, os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// testRow compares allocating nothing with allocating 1 kB.
func testRow() Row {
	var sink []byte
	subject := func(size int) func() Subject {
		return func() Subject {
			return Subject{Run: func(n int) {
				for range n {
					if size > 0 {
						sink = make([]byte, size)
					}
				}
				_ = sink
			}}
		}
	}
	return Row{
		Area: "test", Work: "allocate", Repeat: 1000,
		Ours:   Side{"nothing", subject(0)},
		Theirs: Side{"something", subject(1024)},
		Want:   Target{Allocs: AtMost(0)},
	}
}

func TestRunnerAlternatesBetweenProcesses(t *testing.T) {
	t.Parallel()
	started := 0
	r := Runner{Rounds: 3, Time: time.Millisecond, Command: counted(&started)}
	row := testRow()
	res, err := r.Run(t.Context(), row)
	require.NoError(t, err)
	require.Equal(t, 2, started, "a process per side")
	require.Len(t, res.Ours.Samples, 3)
	require.Len(t, res.Theirs.Samples, 3)
	require.Less(t, res.Ours.Allocs, 0.05)
	require.InDelta(t, 1, res.Theirs.Allocs, 0.05)
	require.InDelta(t, 1024, res.Theirs.Bytes, 30)
	require.Empty(t, res.Misses)

	started, row.Fresh = 0, true
	_, err = r.Run(t.Context(), row)
	require.NoError(t, err)
	require.Equal(t, 6, started, "a process per run")
}

func TestRunnerReportsAChildThatDies(t *testing.T) {
	t.Parallel()
	r := Runner{Rounds: 1, Command: func() (*exec.Cmd, error) { return exec.Command("false"), nil }}
	_, err := r.Run(t.Context(), testRow())
	require.ErrorContains(t, err, "test: allocate (nothing)")
}

func TestRowIsMeasuredAgainOnlyIfThereIsSlack(t *testing.T) {
	t.Parallel()
	row := testRow()
	row.Fresh = true
	row.Want = Target{Ratio: 1e9}
	started := 0
	r := Runner{Rounds: 2, Time: time.Millisecond, Command: counted(&started)}
	for _, c := range []struct{ slack, children float64 }{{0, 4}, {1, 4}, {3, 3 * 4}} {
		r.Slack, started = c.slack, 0
		res, err := r.Run(t.Context(), row)
		require.NoError(t, err)
		require.NotEmpty(t, res.Misses)
		require.Len(t, res.Ours.Samples, started/2, "all runs count")
		require.EqualValues(t, c.children, started, "with a slack of %v", c.slack)
	}
}

// counted is the test binary as a child, whose starts are counted.
func counted(started *int) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		*started++
		cmd, err := measure.Self()
		cmd.Env = append(os.Environ(), childEnv+"=1")
		return cmd, err
	}
}

func TestRowsThatVaryHaveMoreRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  Row
		want int
	}{
		{Row{}, 9},
		{Row{MoreRounds: 3}, 27},
		{Row{MoreRounds: 3, Rounds: 5}, 5},
		{Row{MoreRounds: 2, Measure: LiveHeap}, 3},
	} {
		require.Equal(t, c.want, c.row.rounds(9), c.row)
	}
}
