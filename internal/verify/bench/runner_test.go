package bench

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childEnv runs the test binary as a child that measures testRow.
const childEnv = "BENCH_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		row := testRow()
		side := row.Ours
		if name == row.Theirs.Who {
			side = row.Theirs
		}
		if err := Serve(row, side, os.Stdin, os.Stdout, ""); err != nil {
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
	var started []string
	r := Runner{Rounds: 3, Time: time.Millisecond, Command: func(ctx context.Context, row Row, ours bool) *exec.Cmd {
		started = append(started, map[bool]string{true: row.Ours.Who, false: row.Theirs.Who}[ours])
		return childOf(ctx, row, ours)
	}}
	row := testRow()
	res, err := r.Run(t.Context(), row)
	require.NoError(t, err)
	require.Equal(t, []string{"nothing", "something"}, started, "a process per side")
	require.Len(t, res.Ours.Samples, 3)
	require.Len(t, res.Theirs.Samples, 3)
	require.Less(t, res.Ours.Allocs, 0.05)
	require.InDelta(t, 1, res.Theirs.Allocs, 0.05)
	require.InDelta(t, 1024, res.Theirs.Bytes, 30)
	require.Empty(t, res.Misses)

	started, row.Fresh = nil, true
	_, err = r.Run(t.Context(), row)
	require.NoError(t, err)
	require.Len(t, started, 6, "a process per run")
}

func TestRunnerReportsAChildThatDies(t *testing.T) {
	t.Parallel()
	r := Runner{Rounds: 1, Command: func(ctx context.Context, _ Row, _ bool) *exec.Cmd {
		return exec.CommandContext(ctx, "false")
	}}
	_, err := r.Run(t.Context(), testRow())
	require.ErrorContains(t, err, "test: allocate (nothing)")
}

func TestRowIsMeasuredAgainOnlyIfThereIsSlack(t *testing.T) {
	t.Parallel()
	row := testRow()
	row.Fresh = true
	row.Want = Target{Ratio: 1e9}
	started := 0
	r := Runner{Rounds: 2, Time: time.Millisecond, Command: func(ctx context.Context, row Row, ours bool) *exec.Cmd {
		started++
		return childOf(ctx, row, ours)
	}}
	for _, c := range []struct{ slack, children float64 }{{0, 4}, {1, 4}, {3, 3 * 4}} {
		r.Slack, started = c.slack, 0
		res, err := r.Run(t.Context(), row)
		require.NoError(t, err)
		require.NotEmpty(t, res.Misses)
		require.Len(t, res.Ours.Samples, started/2, "all runs count")
		require.EqualValues(t, c.children, started, "with a slack of %v", c.slack)
	}
}

// childOf is the test binary as a child.
func childOf(ctx context.Context, row Row, ours bool) *exec.Cmd {
	who := row.Theirs.Who
	if ours {
		who = row.Ours.Who
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+who)
	return cmd
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
