package bench

import (
	"encoding/json"
	"io"
)

// report is the JSON form of a comparison.
type report struct {
	Host    Host        `json:"host"`
	Results []resultRow `json:"results"`
}

type resultRow struct {
	Area    string      `json:"area"`
	Work    string      `json:"work"`
	Does    string      `json:"does"`
	Unit    string      `json:"unit"`
	Ours    outcomeJSON `json:"ours"`
	Theirs  outcomeJSON `json:"theirs"`
	Ratio   float64     `json:"ratio"`
	Low     float64     `json:"ratioLow"`
	High    float64     `json:"ratioHigh"`
	Target  string      `json:"target,omitempty"`
	Verdict string      `json:"verdict,omitempty"`
	Misses  []string    `json:"misses,omitempty"`
}

type outcomeJSON struct {
	Who        string   `json:"who"`
	Figure     float64  `json:"figure"`
	Allocs     float64  `json:"allocs"`
	Bytes      float64  `json:"bytes"`
	Goroutines float64  `json:"goroutines"`
	Samples    []Sample `json:"samples"`
}

// WriteJSON writes the results with everything that was measured, for programs.
// Figures are in nanoseconds, bytes, or plain numbers, per unit of the row.
func WriteJSON(w io.Writer, host Host, results []Result) error {
	rep := report{Host: host, Results: []resultRow{}}
	for _, r := range results {
		rep.Results = append(rep.Results, resultRow{
			Area: r.Row.Area, Work: r.Row.Work, Does: r.Row.Does, Unit: r.Row.Measure.unit(),
			Ours: side(r.Row.Ours.Who, r.Ours), Theirs: side(r.Row.Theirs.Who, r.Theirs),
			Ratio: r.Ratio.mid, Low: r.Ratio.low, High: r.Ratio.high,
			Target: r.Row.target(), Verdict: r.verdict(), Misses: r.Misses,
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rep)
}

func side(who string, o Outcome) outcomeJSON {
	return outcomeJSON{who, o.Figure.mid, o.Allocs, o.Bytes, o.Goroutines, o.Samples}
}

func (m Measure) unit() string {
	switch m {
	case Time, Latency:
		return "ns"
	case LiveHeap, Memory:
		return "B"
	default:
		return ""
	}
}
