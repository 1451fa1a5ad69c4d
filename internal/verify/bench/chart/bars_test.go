package chart

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// ofSummary is a report with the rows of the summary.
func ofSummary() bench.Report {
	row := func(area, work string, theirs, ours bench.ReportOutcome) bench.Entry {
		return bench.Entry{Area: area, Work: work, Ours: ours, Theirs: theirs}
	}
	return reportOf(
		row("store", "get", bench.ReportOutcome{}, bench.ReportOutcome{}),
		row("what a controller does", "event to 10 handlers", bench.ReportOutcome{Who: "client-go", Figure: 8e3, Shown: "8.00 µs, 9 allocs"},
			bench.ReportOutcome{Who: "informerkit", Figure: 800, Shown: "800 ns, 1 allocs"}),
		row("what a controller does", "heap per object, equal parts shared, pods", bench.ReportOutcome{Who: "client-go", Figure: 10e3, Shown: "10.0 kB"},
			bench.ReportOutcome{Who: "informerkit interned", Figure: 4e3, Shown: "4.00 kB"}),
	)
}

func TestSummaryHasABarForEachSide(t *testing.T) {
	t.Parallel()
	bars, err := Summary(ofSummary())
	require.NoError(t, err)
	require.Len(t, bars.Panels, 2)
	require.Equal(t, []Bar{{"client-go", 10e3, "10.0 kB"}, {"informerkit", 4e3, "4.00 kB"}}, bars.Panels[0].Bars)
	require.Equal(t, []Bar{{"client-go", 8e3, "8.00 µs"}, {"informerkit", 800, "800 ns"}}, bars.Panels[1].Bars)

	var first, again bytes.Buffer
	require.NoError(t, bars.WriteSVG(&first))
	require.NoError(t, bars.WriteSVG(&again))
	require.Equal(t, first.String(), again.String(), "the same for the same results")
	requireXML(t, first.String())
	for _, text := range []string{">client-go<", ">informerkit<", ">10.0 kB<", ">800 ns<", bars.Panels[0].Title, bars.Panels[1].Title, "sans-serif"} {
		require.Contains(t, first.String(), text)
	}
}

func TestSummaryOfResultsThatLackARow(t *testing.T) {
	t.Parallel()
	rep := ofSummary()
	rep.Entries = rep.Entries[:2]
	_, err := Summary(rep)
	require.ErrorContains(t, err, `no result of "what a controller does: heap per object, equal parts shared, pods"`)
	for _, figure := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		rep = ofSummary()
		rep.Entries[1].Ours.Figure = figure
		_, err = Summary(rep)
		require.ErrorContains(t, err, "no amount that can be drawn")
	}
}
