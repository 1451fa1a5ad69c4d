package published

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/chart"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// publish fills a new folder with results, a document, a README and a chart.
func publish(t *testing.T) (folder string) {
	folder = t.TempDir()
	outcome := func(ns float64) bench.ReportOutcome {
		return bench.ReportOutcome{Who: "who", Shown: fmt.Sprint(ns) + " ns, 0 allocs", Figure: ns, Samples: []bench.Sample{{Figure: ns}}}
	}
	host := measure.Host{Go: "go1.26.0", Cores: 2}
	comparison := bench.Report{Host: host, How: "once", Entries: []bench.Entry{
		{Area: "store", Work: "get", Unit: "ns", Ours: outcome(50), Theirs: outcome(100), Ratio: 2, Low: 2, High: 2},
		{Area: "what a controller does", Work: "heap per object, equal parts shared, pods", Unit: "B", Ours: outcome(4), Theirs: outcome(10), Ratio: 2.5, Low: 2.5, High: 2.5},
		{Area: "what a controller does", Work: "event to 10 handlers", Unit: "ns", Ours: outcome(8), Theirs: outcome(80), Ratio: 10, Low: 10, High: 10},
	}}
	scaling := bench.Report{Host: host, How: "once"}
	for _, x := range []float64{1, 2} {
		scaling.Entries = append(scaling.Entries, bench.Entry{
			Area: "scaling", Work: fmt.Sprint("get, ", x), Unit: "ns", Ours: outcome(x), Theirs: outcome(2 * x), Ratio: 2, Low: 2, High: 2,
			Point: &bench.Point{Series: "get", Title: "Get", XLabel: "pods", YLabel: "time", X: x},
		})
	}
	save(t, filepath.Join(folder, Comparison), comparison)
	save(t, filepath.Join(folder, Scaling), scaling)

	charts, err := chart.Of(scaling)
	require.NoError(t, err)
	var svg bytes.Buffer
	require.NoError(t, charts[0].WriteSVG(&svg))
	write(t, filepath.Join(folder, Charts, "get.svg"), svg.String())
	summary, err := chart.Summary(comparison)
	require.NoError(t, err)
	svg.Reset()
	require.NoError(t, summary.WriteSVG(&svg))
	write(t, filepath.Join(folder, Charts, "summary.svg"), svg.String())

	document, err := bench.Update("# Benchmarks\n\n<!-- compare -->\n<!-- /compare -->\n\n![get](charts/get.svg)\n", comparison)
	require.NoError(t, err)
	write(t, filepath.Join(folder, Document), document)
	write(t, filepath.Join(folder, "README.md"), "| get <!-- compare: store: get --> | 50 ns | 100 ns | 2× |\n\n![](charts/summary.svg)\n")
	return folder
}

func save(t *testing.T, file string, rep bench.Report) {
	var saved bytes.Buffer
	require.NoError(t, rep.WriteJSON(&saved))
	write(t, file, saved.String())
}

func write(t *testing.T, file, content string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

func TestWhatIsPublishedIsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check(publish(t), "README.md"))
}

func TestWhatIsPublishedIsNotWhatWasMeasured(t *testing.T) {
	t.Parallel()
	replace := func(file, old, by string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			file := filepath.Join(folder, file)
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(content), old)
			write(t, file, strings.ReplaceAll(string(content), old, by))
		}
	}
	remove := func(file string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, file))) }
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, folder string)
		want   []string
	}{
		{"a better figure in the document", replace(Document, "| 50 ns", "| 40 ns"), []string{"BENCHMARKS.md has other figures", "it says    | get | 40 ns", "instead of | get | 50 ns"}},
		{"another host in the document", replace(Document, "go1.26.0", "go1.25.0"), []string{"BENCHMARKS.md has other figures"}},
		{"a better ratio in the README", replace("README.md", "2×", "3×"), []string{"README.md has other figures"}},
		{"a row that is not there", replace("README.md", "store: get", "store: put"), []string{`no result of "store: put"`}},
		{"a document without figures", replace("README.md", "<!-- compare: store: get -->", ""), []string{"no place for figures"}},
		{"no README", remove("README.md"), []string{"no such file"}},
		{"other results", replace(Scaling, `"figure": 2,`, `"figure": 3,`), []string{"charts/get.svg is not drawn of results/scaling.json"}},
		{"a series of another name", replace(Scaling, `"series": "get"`, `"series": "put"`), []string{"no such file", "charts/get.svg is of no series"}},
		{"a chart that is not shown", replace(Document, "charts/get.svg", ""), []string{"charts/get.svg is shown nowhere"}},
		{"a summary that is not shown", replace("README.md", "charts/summary.svg", ""), []string{"charts/summary.svg is shown nowhere"}},
		{"a summary of other results", replace(Comparison, `"figure": 80,`, `"figure": 90,`), []string{"charts/summary.svg is not drawn of results/compare.json"}},
		{"a summary without its rows", replace(Comparison, "heap per object, equal parts shared, pods", "heap"), []string{`no result of "what a controller does: heap per object, equal parts shared, pods"`}},
		{"no summary", remove(Charts + "/summary.svg"), []string{"no such file", "compare -from results/compare.json -charts charts"}},
		{"a stray file", func(t *testing.T, folder string) { write(t, filepath.Join(folder, Charts, "old.svg"), "") }, []string{"charts/old.svg is of no series"}},
		{"another machine", replace(Scaling, `"cores": 2`, `"cores": 4`), []string{"different machines"}},
		{"no results", remove(Comparison), []string{"no such file"}},
		{"broken results", func(t *testing.T, folder string) { write(t, filepath.Join(folder, Scaling), "{") }, []string{"scaling.json: reading results"}},
		{"a table instead of series", replace(Scaling, `"point"`, `"dot"`), []string{"unknown field"}},
	} {
		folder := publish(t)
		c.change(t, folder)
		err := Check(folder, "README.md")
		for _, want := range c.want {
			require.ErrorContains(t, err, want, c.name)
		}
	}
}
