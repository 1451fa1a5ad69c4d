package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// saved is what compare -scaling -json writes, for one small series.
func saved(t *testing.T) string {
	var rep bench.Report
	for _, x := range []float64{1, 10} {
		outcome := bench.ReportOutcome{Who: "another", Figure: x, Samples: []bench.Sample{{Figure: x}}}
		rep.Entries = append(rep.Entries, bench.Entry{
			Area: "scaling", Work: strings.Repeat("x", int(x)), Unit: "ns", Ours: outcome, Theirs: outcome,
			Point: &bench.Point{Series: "small-series", Title: "Title", XLabel: "x", YLabel: "y", X: x},
		})
	}
	var out bytes.Buffer
	require.NoError(t, rep.WriteJSON(&out))
	return out.String()
}

func TestChartsAreWrittenIntoAFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", "charts")
	var out strings.Builder
	require.NoError(t, run([]string{"-into", folder}, strings.NewReader(saved(t)), &out))
	require.Equal(t, filepath.Join(folder, "small-series.svg")+"\n", out.String())
	fromInput, err := os.ReadFile(filepath.Join(folder, "small-series.svg"))
	require.NoError(t, err)

	file := filepath.Join(t.TempDir(), "saved.json")
	require.NoError(t, os.WriteFile(file, []byte(saved(t)), 0o644))
	require.NoError(t, run([]string{"-from", file, "-into", folder}, nil, &out))
	fromFile, err := os.ReadFile(filepath.Join(folder, "small-series.svg"))
	require.NoError(t, err)
	require.Equal(t, string(fromInput), string(fromFile))
}

func TestSummaryIsDrawnOfTheTable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var out strings.Builder
	require.NoError(t, run([]string{"-summary", "-from", "../../results/compare.json", "-into", folder}, nil, &out))
	require.Equal(t, filepath.Join(folder, "summary.svg")+"\n", out.String())
	is, err := os.ReadFile(filepath.Join(folder, "summary.svg"))
	require.NoError(t, err)
	should, err := os.ReadFile("../../charts/summary.svg")
	require.NoError(t, err)
	require.Equal(t, string(should), string(is))
}

func TestChartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "charts")
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{nil, "", "-into is needed"},
		{[]string{"-into", folder, "more"}, "", `unexpected argument "more"`},
		{[]string{"-into", folder, "-from", filepath.Join(folder, "none.json")}, "", "no such file"},
		{[]string{"-into", folder}, "", "there is nothing"},
		{[]string{"-into", folder}, "{}", "there are none"},
		{[]string{"-into", folder, "-summary"}, saved(t), "no result of"},
		{[]string{"-into", folder}, "not JSON", "invalid character"},
		{[]string{"-into", folder}, strings.ReplaceAll(saved(t), "small-series", "../escaped"), "cannot be that of a file"},
	} {
		err := run(c.args, strings.NewReader(c.in), &strings.Builder{})
		require.ErrorContains(t, err, c.want)
	}
	require.NoDirExists(t, folder, "nothing is written for bad input")
}
