package reconcile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// outcomes returns an outcome for each round with these processor times, and as many
// allocations and bytes.
func outcomes(cpu ...float64) []outcome {
	all := make([]outcome, len(cpu))
	for i, v := range cpu {
		all[i] = outcome{
			figures:  map[string]float64{workCPU: v, workAllocations: 1000 * v, workBytes: 1000 * v},
			requests: map[string]int{"create pods": 5},
		}
	}
	return all
}

func rowOf(t *testing.T, r *Report, work string) *Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Work == work {
			return row
		}
	}
	require.Fail(t, "there is no such row", work)
	return nil
}

func throughputOf(ours, clientGo, alone []outcome) *Report {
	return newReport(Host{}, Defaults, map[string]map[Side][]outcome{
		areaThroughput: {Ours: ours, ClientGo: clientGo, RequestsAlone: alone},
	})
}

// A machine that is twice as slow in the second round is so for all three.
func TestRequestsAloneAreALimitRoundByRound(t *testing.T) {
	r := throughputOf(outcomes(300, 600), outcomes(350, 700), outcomes(250, 500))
	cpu := rowOf(t, r, workCPU)
	assert.Equal(t, []float64{250, 500}, cpu.Alone)
	assert.Equal(t, &measure.Interval{Median: 350. / 300, Low: 350. / 300, High: 350. / 300}, cpu.Ratio)
	assert.Equal(t, &measure.Interval{Median: 1.4, Low: 1.4, High: 1.4}, cpu.Most)

	beyond := rowOf(t, r, workCPU+workBeyond)
	assert.Equal(t, []float64{50, 100}, beyond.Ours)
	assert.Equal(t, []float64{100, 200}, beyond.ClientGo)
	assert.Equal(t, &measure.Interval{Median: 2, Low: 2, High: 2}, beyond.Ratio)
	assert.Equal(t, Nanoseconds, beyond.Unit)
	assert.Nil(t, beyond.Alone)
	assert.Nil(t, beyond.Most)

	requests := rowOf(t, r, "create pods")
	assert.Equal(t, []float64{5, 5}, requests.Alone)
	assert.Nil(t, requests.Most)
	assert.Nil(t, rowOf(t, r, workConverge).Alone)
}

// Noise can make a run cheaper than its requests alone. A quotient of that would be
// nonsense, so there is none.
func TestWhatIsNotMoreThanTheRequestsHasNoRatio(t *testing.T) {
	for name, r := range map[string]*Report{
		"ours":      throughputOf(outcomes(300, 500), outcomes(350, 700), outcomes(250, 500)),
		"client-go": throughputOf(outcomes(300, 600), outcomes(350, 450), outcomes(250, 500)),
	} {
		beyond := rowOf(t, r, workCPU+workBeyond)
		assert.Nil(t, beyond.Ratio, name)
		assert.NotNil(t, rowOf(t, r, workCPU).Ratio, name)
	}
}

func TestTableShowsTheRequestsAloneWhereTheyAreALimit(t *testing.T) {
	r := throughputOf(outcomes(3e8), outcomes(3.5e8), outcomes(2.5e8))
	restart := outcomes(1e8)
	r.Rows = append(r.Rows, newReport(Host{}, Defaults, map[string]map[Side][]outcome{
		areaRestart: {Ours: restart, ClientGo: restart},
	}).Rows...)
	var markdown, text bytes.Buffer
	r.WriteMarkdown(&markdown)
	r.WriteTable(&text)
	for _, line := range []string{
		"| work | informerkit | client-go | ratio | requests alone | ratio to them |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
		"| processor time | 300 ms | 350 ms | 1.17× (1.17–1.17) | 250 ms | 1.40× (1.40–1.40) |\n",
		"| processor time beyond the requests | 50.0 ms | 100 ms | 2.00× (2.00–2.00) |  |  |\n",
		"| create pods | 5 | 5 |  | 5 |  |\n",
		"| work | informerkit | client-go | ratio |\n| --- | ---: | ---: | ---: |\n",
		"| processor time | 100 ms | 100 ms | 1.00× (1.00–1.00) |\n",
	} {
		assert.Contains(t, markdown.String(), line)
	}
	assert.Regexp(t, `processor time +300 ms +350 ms +1\.17× \(1\.17–1\.17\) +250 ms +1\.40× \(1\.40–1\.40\)\n`, text.String())
}
