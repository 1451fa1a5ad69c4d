package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// entry is a place in a series where both sides have had three runs.
func entry(series string, x, ours, theirs float64) bench.Entry {
	outcome := func(who string, v float64) bench.ReportOutcome {
		return bench.ReportOutcome{Who: who, Figure: v, Samples: []bench.Sample{{Figure: v}, {Figure: 2 * v}, {Figure: v / 2}}}
	}
	return bench.Entry{
		Area: "scaling", Work: series + withUnit(x, ""), Unit: "ns",
		Ours: outcome("ours", ours), Theirs: outcome("theirs", theirs),
		Point: &bench.Point{Series: series, Title: "A <title>", XLabel: "things", YLabel: "time", X: x},
	}
}

func reportOf(entries ...bench.Entry) bench.Report { return bench.Report{Entries: entries} }

func TestChartHasALineForEachSide(t *testing.T) {
	t.Parallel()
	table := entry("", 5, 1, 1)
	table.Point = nil
	charts, err := Of(reportOf(table, entry("a", 1, 100, 200), entry("b", 1, 1, 1), entry("a", 10, 300, 800), entry("b", 2, 1, 1)))
	require.NoError(t, err)
	require.Len(t, charts, 2, "a chart for each series, none for rows of the table")
	a := charts[0]
	require.Equal(t, []string{"a", "A <title>", "things", "time", "s"}, []string{a.Name, a.Title, a.XLabel, a.YLabel, a.Unit})
	require.Equal(t, []Line{
		{"ours", []Point{{1, 100e-9, 50e-9, 200e-9}, {10, 300e-9, 150e-9, 600e-9}}},
		{"theirs", []Point{{1, 200e-9, 100e-9, 400e-9}, {10, 800e-9, 400e-9, 1600e-9}}},
	}, a.Lines)
}

func TestRatesAreDrawnAsRates(t *testing.T) {
	t.Parallel()
	first, second := entry("a", 1, 1e6, 2e6), entry("a", 2, 1e6, 2e6)
	first.Rate, second.Rate = true, true
	charts, err := Of(reportOf(first, second))
	require.NoError(t, err)
	require.Equal(t, "/s", charts[0].Unit)
	require.Equal(t, Point{1, 1000, 500, 2000}, charts[0].Lines[0].Points[0])
}

func TestGoroutinesHaveAChartOfTheirOwn(t *testing.T) {
	t.Parallel()
	first, second := entry("a", 1, 1000, 9000), entry("a", 2, 1000, 9000)
	for _, e := range []*bench.Entry{&first, &second} {
		e.Unit = "B"
		e.Theirs.Goroutines = 7
		for i := range e.Theirs.Samples {
			e.Theirs.Samples[i].Goroutines = 7
		}
	}
	charts, err := Of(reportOf(first, second))
	require.NoError(t, err)
	require.Len(t, charts, 2)
	require.Equal(t, "a-goroutines", charts[1].Name)
	require.Equal(t, Point{2, 0, 0, 0}, charts[1].Lines[0].Points[1])
	require.Equal(t, Point{2, 7, 7, 7}, charts[1].Lines[1].Points[1])
	require.NoError(t, charts[1].WriteSVG(io.Discard))
}

func TestResultsThatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	plain := entry("a", 1, 1, 1)
	plain.Point = nil
	silent := entry("a", 2, 1, 1)
	silent.Ours.Samples = nil
	other := entry("a", 2, 1, 1)
	other.Unit = "B"
	for _, c := range []struct {
		name string
		rep  bench.Report
		want string
	}{
		{"nothing", reportOf(), "no series; compare -scaling"},
		{"a table", reportOf(plain), "no series; compare -scaling"},
		{"a single point", reportOf(entry("a", 1, 1, 1)), "one point only"},
		{"a point twice", reportOf(entry("a", 1, 1, 1), entry("a", 1, 1, 1)), "not to the right"},
		{"not a number for a place", reportOf(entry("a", 1, 1, 1), entry("a", math.NaN(), 1, 1)), "not to the right"},
		{"no runs", reportOf(entry("a", 1, 1, 1), silent), "no amount"},
		{"a negative time", reportOf(entry("a", 1, 1, 1), entry("a", 2, -1, 1)), "no amount"},
		{"endless time", reportOf(entry("a", 1, 1, 1), entry("a", 2, math.Inf(1), 1)), "no amount"},
		{"a negative place", reportOf(entry("a", -1, 1, 1), entry("a", 2, 1, 1)), "no amount"},
		{"two units", reportOf(entry("a", 1, 1, 1), other), "something else"},
		{"a path", reportOf(entry("../a", 1, 1, 1), entry("../a", 2, 1, 1)), "cannot be that of a file"},
	} {
		_, err := Of(c.rep)
		require.ErrorContains(t, err, c.want, c.name)
	}
}

func TestImageIsTheSameForTheSameResults(t *testing.T) {
	t.Parallel()
	charts, err := Of(reportOf(entry("a", 0, 100, 200), entry("a", 10, 300, 8000), entry("a", 80, 500, 1e6)))
	require.NoError(t, err)
	var first bytes.Buffer
	require.NoError(t, charts[0].WriteSVG(&first))
	for range 5 {
		var again bytes.Buffer
		require.NoError(t, charts[0].WriteSVG(&again))
		require.Equal(t, first.String(), again.String())
	}
	requireXML(t, first.String())
	for _, text := range []string{
		"A &lt;title&gt;", "things (logarithmic)", "time (logarithmic)", ">ours<", ">theirs<",
		">0<", ">10<", ">80<", ">1 µs<", ">1 ms<", "fill:#FFFFFF", "sans-serif",
	} {
		require.Contains(t, first.String(), text)
	}
}

func requireXML(t *testing.T, s string) {
	dec := xml.NewDecoder(strings.NewReader(s))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// Whatever results there are, a chart of them is refused or drawn, and does not
// end the program.
func FuzzChart(f *testing.F) {
	f.Add(0.0, 1.0, 100.0, 200.0, 3e9, false)
	f.Add(1e-9, 1e9, 1e-9, 1e14, 1.0, true)
	f.Add(1.0, 2.0, 0.0, 0.0, 0.0, false)
	f.Fuzz(func(t *testing.T, x1, x2, a, b, c float64, rate bool) {
		first, second := entry("a", x1, a, b), entry("a", x2, b, c)
		first.Rate, second.Rate = rate, rate
		charts, err := Of(reportOf(first, second))
		if err != nil {
			return
		}
		var svg bytes.Buffer
		require.NoError(t, charts[0].WriteSVG(&svg))
		require.NotContains(t, svg.String(), "NaN")
		require.NotContains(t, svg.String(), "Inf")
	})
}
