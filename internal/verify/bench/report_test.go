package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// testReport has two rows, of two areas.
func testReport() Report {
	row := testRow()
	row.Does = "Allocates; a unit is a kilobyte."
	row.Want.Ratio = 1.5
	memory := row
	memory.Area, memory.Measure = "memory", LiveHeap
	memory.Point = &Point{Series: "series", Title: "Title", XLabel: "x", YLabel: "y", X: 3}
	ours, theirs := samples(1000, 1000, 1000), samples(2000, 2000, 2000)
	host := measure.Host{Go: "go1.26.0", CPU: "CPU", Cores: 2, Platform: "linux/amd64", Versions: map[string]string{"k8s.io/client-go": "v0.37.2"}}
	return NewReport(host, "wall-clock time", []Result{judge(row, ours, theirs, 1), judge(memory, ours, theirs, 1)})
}

func TestReportIsATable(t *testing.T) {
	t.Parallel()
	var table bytes.Buffer
	testReport().WriteTable(&table)
	require.Contains(t, table.String(), "go1.26.0, linux/amd64, 2 × CPU\nclient-go v0.37.2\nwall-clock time\n")
	require.Contains(t, table.String(), "\ntest\nwork      ours               theirs             peer       ratio   processor time")
	require.Contains(t, table.String(), "allocate  1.00 µs, 0 allocs  2.00 µs, 0 allocs  something  2× ±5%                                ≥ 1.5×, ≤ 0 allocs  ok")
}

func TestReportShowsProcessorTimeAndTheLimit(t *testing.T) {
	t.Parallel()
	rep := testReport()
	timed, limit := rep.Entries[0], rep.Entries[0]
	limit.Work, limit.Ratio, limit.Theirs.Who = "limit", 0.8, "nothing but the least"
	timed.Limit = limit.Name()
	for i := range 3 {
		timed.Ours.Samples[i].CPU, timed.Theirs.Samples[i].CPU = 1000, 3000
	}
	rep.Entries = []Entry{timed, limit}
	require.Equal(t, []string{"2× ±5%", "3×", "0.8× of nothing but the least"}, rep.cells(timed)[4:7])
	timed.Limit = "something else"
	require.Empty(t, rep.limit(timed))
}

func TestReportIsMarkdown(t *testing.T) {
	t.Parallel()
	var markdown bytes.Buffer
	testReport().WriteMarkdown(&markdown)
	require.Equal(t, testTables, markdown.String())
}

// testTables is the Markdown of testReport.
const testTables = `go1.26.0, linux/amd64, 2 × CPU; client-go v0.37.2; wall-clock time.

### test

| work | ours | theirs | peer | ratio | processor time | of the limit | target | verdict |
| --- | ---: | ---: | --- | ---: | ---: | ---: | --- | --- |
| allocate | 1.00 µs, 0 allocs | 2.00 µs, 0 allocs | something | 2× ±5% |  |  | ≥ 1.5×, ≤ 0 allocs | ok |

<details><summary>What the rows mean</summary>

- **allocate**: Allocates; a unit is a kilobyte.

</details>

### memory

| work | ours | theirs | peer | ratio | processor time | of the limit | target | verdict |
| --- | ---: | ---: | --- | ---: | ---: | ---: | --- | --- |
| allocate | 1.00 kB | 2.00 kB | something | 2× ±5% |  |  | ≥ 1.5×, ≤ 0 allocs | ok |

<details><summary>What the rows mean</summary>

- **allocate**: Allocates; a unit is a kilobyte.

</details>
`

func TestSavedReportIsReadAsItWas(t *testing.T) {
	t.Parallel()
	var saved bytes.Buffer
	require.NoError(t, testReport().WriteJSON(&saved))
	require.Equal(t, 2, strings.Count(saved.String(), `"verdict": "ok"`))
	read, err := ReadReport(&saved)
	require.NoError(t, err)
	require.Equal(t, testReport(), read)
}

func TestReadingReportsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	var saved bytes.Buffer
	require.NoError(t, testReport().WriteJSON(&saved))
	whole := saved.String()
	for _, c := range []struct{ in, want string }{
		{"", "there is nothing"},
		{"{}", "there are none"},
		{`{"results": []}`, "there are none"},
		{whole[:len(whole)/2], "unexpected EOF"},
		{"BenchmarkGet 12 ns/op", "invalid character"},
		{`{"benchmarks": []}`, "unknown field"},
		{`{"results": [{}]}`, "lacks the name"},
		{whole + whole, "something follows"},
		{strings.ReplaceAll(whole, `"area": "memory"`, `"area": "test"`), `"test: allocate" occurs twice`},
	} {
		_, err := ReadReport(strings.NewReader(c.in))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "reading results")
	}
}

func FuzzReadReport(f *testing.F) {
	var saved bytes.Buffer
	require.NoError(f, testReport().WriteJSON(&saved))
	f.Add(saved.Bytes())
	f.Add([]byte(`{"results":[{"area":"a","work":"w","ours":{"who":"o"},"theirs":{"who":"t"},"ratio":1e308}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		read, err := ReadReport(bytes.NewReader(in))
		if err != nil {
			return
		}
		require.NotEmpty(t, read.Entries)
		var printed, again bytes.Buffer
		read.WriteTable(&printed)
		read.WriteMarkdown(&printed)
		require.NoError(t, read.WriteJSON(&again))
		_, err = ReadReport(&again)
		require.NoError(t, err, "what was read can be written and read")
	})
}

func TestRowsMeasuredAgainTakeTheirPlace(t *testing.T) {
	t.Parallel()
	entry := func(work string, figure float64) Entry {
		return Entry{Area: "a", Work: work, Ours: ReportOutcome{Figure: figure}}
	}
	old := Report{How: "once", Entries: []Entry{entry("first", 1), entry("gone", 1), entry("third", 1)}}
	newer := Report{How: "once", Entries: []Entry{entry("third", 2), entry("second", 2)}}
	got := old.Replace(newer, []string{"a: first", "a: second", "a: third", "a: never measured"})
	require.Equal(t, []Entry{entry("first", 1), entry("second", 2), entry("third", 2)}, got.Entries)
	require.Len(t, old.Entries, 3, "the old report stays as it is")
}
