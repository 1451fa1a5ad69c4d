package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childEnv makes the test binary a child that measures testRow.
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
		who := row.Theirs.Who
		if ours {
			who = row.Ours.Who
		}
		started = append(started, who)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+who)
		return cmd
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

func samples(figures ...float64) []Sample {
	s := make([]Sample, len(figures))
	for i, f := range figures {
		s[i].Figure = f
	}
	return s
}

func TestTargetIsMissedOnlyBeyondTheNoise(t *testing.T) {
	t.Parallel()
	row := Row{Want: Target{Ratio: 2}}
	for _, c := range []struct {
		theirs  []Sample
		verdict string
	}{
		{samples(25, 25, 25, 25, 25), "ok"},
		{samples(19.5, 19.5, 19.5, 19.5, 19.5), "within noise"},
		{samples(15, 15, 15, 15, 15), "MISSED: ratio"},
		{samples(15, 15, 15, 15, 21), "within noise"},
	} {
		res := judge(row, samples(10, 10, 10, 10, 10), c.theirs)
		require.Equal(t, c.verdict, res.verdict())
	}
}

func TestLimitsOfCountsHaveNoNoise(t *testing.T) {
	t.Parallel()
	ours := samples(10, 10, 10)
	for i := range ours {
		ours[i].Allocs = 1
	}
	row := Row{Want: Target{Allocs: AtMost(0)}}
	require.Equal(t, []string{"allocations"}, judge(row, ours, samples(10, 10, 10)).Misses)
	row.Want.Allocs = AtMost(1)
	require.Empty(t, judge(row, ours, samples(10, 10, 10)).Misses)
}

func TestResultsAreWrittenInEachForm(t *testing.T) {
	t.Parallel()
	row := testRow()
	row.Want.Ratio = 1.5
	results := []Result{judge(row, samples(1000, 1000, 1000), samples(2000, 2000, 2000))}

	var table, markdown, data bytes.Buffer
	WriteTable(&table, results)
	require.Contains(t, table.String(), "allocate  1.00 µs, 0 allocs  2.00 µs, 0 allocs  something  2× ±5%  ≥ 1.5×, ≤ 0 allocs  ok")
	WriteMarkdown(&markdown, results)
	require.Contains(t, markdown.String(), "| allocate | 1.00 µs, 0 allocs |")
	require.NoError(t, WriteJSON(&data, ThisHost(), results))
	require.True(t, json.Valid(data.Bytes()))
	require.Equal(t, 1, strings.Count(data.String(), `"verdict": "ok"`))
}
