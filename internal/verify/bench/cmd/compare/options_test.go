package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

func TestFlagsThatContradictEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"more"}, `unexpected argument "more"`},
		{[]string{"-quick", "-scaling"}, "-quick and -scaling"},
		{[]string{"-json", "-markdown"}, "only one of -json, -markdown, -update and -charts"},
		{[]string{"-from", "f", "-update", "d", "-json"}, "only one of"},
		{[]string{"-into", "f", "-quick"}, "-into keeps results as they are published"},
		{[]string{"-into", "f", "-from", "f"}, "-into cannot change it"},
		{[]string{"-update", "d"}, "-update and -charts need -from"},
		{[]string{"-charts", "d"}, "-update and -charts need -from"},
		{[]string{"-from", "f", "-charts", "d", "-json"}, "only one of"},
		{[]string{"-from", "f", "-quick", "-slack", "2"}, "-quick -slack cannot change it"},
		{[]string{"-slack", "0.5"}, "-slack is 0.5"},
		{[]string{"-slack", "NaN"}, "-slack is NaN"},
		{[]string{"-rounds", "-1"}, "must not be negative"},
		{[]string{"-time", "-1s"}, "must not be negative"},
		{[]string{"-run", "("}, "missing closing )"},
	} {
		_, err := parse(c.args)
		require.ErrorContains(t, err, c.want, "%q", c.args)
	}
}

func TestShortComparisonsHaveFewerRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   []string
		rounds int
		time   time.Duration
	}{
		{nil, 9, 200 * time.Millisecond},
		{[]string{"-quick"}, 5, 100 * time.Millisecond},
		{[]string{"-scaling"}, 5, 200 * time.Millisecond},
		{[]string{"-quick", "-rounds", "3", "-time", "1s"}, 3, time.Second},
	} {
		o, err := parse(c.args)
		require.NoError(t, err)
		require.Equal(t, c.rounds, o.rounds)
		require.Equal(t, c.time, o.time)
	}
}

func TestScalingSelectsTheSeriesAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, scaling := range []bool{false, true} {
		var args []string
		if scaling {
			args = []string{"-scaling"}
		}
		o, err := parse(args)
		require.NoError(t, err)
		selected := o.selection()
		require.NotEmpty(t, selected)
		for _, row := range selected {
			require.Equal(t, scaling, row.Point != nil, row.Name())
		}
	}
}

func TestSavedResultsArePrinted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	results, document := filepath.Join(folder, "results.json"), filepath.Join(folder, "DOCUMENT.md")
	outcome := bench.ReportOutcome{Who: "another", Shown: "5 ns, 0 allocs", Figure: 5}
	rep := bench.Report{Host: measure.Host{Go: "go1.26.0"}, How: "once", Entries: []bench.Entry{
		{Area: "area", Work: "work", Does: "Works.", Ours: outcome, Theirs: outcome, Ratio: 1, Low: 1, High: 1},
	}}
	var saved bytes.Buffer
	require.NoError(t, rep.WriteJSON(&saved))
	require.NoError(t, os.WriteFile(results, saved.Bytes(), 0o644))

	printed := func(args ...string) string {
		var out bytes.Buffer
		missed, err := run(t.Context(), append([]string{"-from", results}, args...), nil, &out)
		require.NoError(t, err)
		require.False(t, missed)
		return out.String()
	}
	require.Contains(t, printed(), "work  5 ns, 0 allocs  5 ns, 0 allocs  another  1× ±0%")
	require.Contains(t, printed("-markdown"), "| work | 5 ns, 0 allocs | 5 ns, 0 allocs | another | 1× ±0% |")
	require.Equal(t, saved.String(), printed("-json"))

	require.NoError(t, os.WriteFile(document, []byte("<!-- compare -->\n<!-- /compare -->\n"), 0o644))
	require.Empty(t, printed("-update", document))
	updated, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, "<!-- compare -->\n\n"+printed("-markdown")+"\n<!-- /compare -->\n", string(updated))
}

func TestSavedResultsThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.json")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	for file, want := range map[string]string{
		filepath.Join(folder, "none.json"): "no such file",
		empty:                              "there is nothing",
	} {
		_, err := run(t.Context(), []string{"-from", file}, nil, &bytes.Buffer{})
		require.ErrorContains(t, err, want)
	}
}
