package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Report is what a comparison has shown, with all that is needed to print it: it
// can be saved as JSON, and read and printed later.
type Report struct {
	Host measure.Host `json:"host"`
	// How describes what was compared and how often.
	How     string  `json:"how"`
	Entries []Entry `json:"results"`
}

// Entry is a row of a report. Figures are in the unit, which is "ns", "B", or
// none for plain numbers, per unit of work.
type Entry struct {
	Area string `json:"area"`
	Work string `json:"work"`
	Does string `json:"does"`
	Unit string `json:"unit"`
	// Rate is set if tables show units of work per second.
	Rate   bool          `json:"rate,omitempty"`
	Point  *Point        `json:"point,omitempty"`
	Ours   ReportOutcome `json:"ours"`
	Theirs ReportOutcome `json:"theirs"`
	Ratio  float64       `json:"ratio"`
	Low    float64       `json:"ratioLow"`
	High   float64       `json:"ratioHigh"`
	// Limit is the name of the row that shows how far this one is from what cannot be surpassed.
	Limit   string   `json:"limit,omitempty"`
	Target  string   `json:"target,omitempty"`
	Verdict string   `json:"verdict,omitempty"`
	Misses  []string `json:"misses,omitempty"`
	// Host is the machine that the row was measured on, if that is another one than the
	// report's.
	Host *measure.Host `json:"host,omitempty"`
}

// ReportOutcome is what one side has shown.
type ReportOutcome struct {
	Who string `json:"who"`
	// Shown is the outcome as people are shown it, such as "62.5 ns, 0 allocs".
	Shown      string   `json:"shown"`
	Figure     float64  `json:"figure"`
	Allocs     float64  `json:"allocs"`
	Bytes      float64  `json:"bytes"`
	Goroutines float64  `json:"goroutines"`
	Samples    []Sample `json:"samples"`
}

// Name is that of the row.
func (e Entry) Name() string { return e.Area + ": " + e.Work }

// NewReport returns a report of results.
func NewReport(host measure.Host, how string, results []Result) Report {
	rep := Report{Host: host, How: how, Entries: []Entry{}}
	for _, r := range results {
		rep.Entries = append(rep.Entries, Entry{
			Area: r.Row.Area, Work: r.Row.Work, Does: r.Row.Does, Unit: r.Row.Measure.unit(),
			Rate: r.Row.Rate, Point: r.Row.Point,
			Ours: r.Row.outcome(r.Row.Ours, r.Ours), Theirs: r.Row.outcome(r.Row.Theirs, r.Theirs),
			Ratio: r.Ratio.Median, Low: r.Ratio.Low, High: r.Ratio.High,
			Limit: r.Row.Limit, Target: r.Row.target(), Verdict: r.verdict(), Misses: r.Misses,
		})
	}
	return rep
}

func (r Row) outcome(s Side, o Outcome) ReportOutcome {
	return ReportOutcome{s.Who, r.describe(o), o.Figure.Median, o.Allocs, o.Bytes, o.Goroutines, o.Samples}
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

// WriteJSON writes the report with every sample, for programs and for [ReadReport].
func (r Report) WriteJSON(w io.Writer) error { return measure.WriteJSON(w, r) }

// Replace returns the report with the entries of a newer one in place of its own of
// the same names, in the order of the given names. What has another name than these
// is not measured any more, and is left out.
func (r Report) Replace(newer Report, order []string) Report {
	entries := map[string]Entry{}
	for _, rep := range []Report{r, newer} {
		for _, e := range rep.Entries {
			entries[e.Name()] = e
		}
	}
	r.Entries = []Entry{}
	for _, name := range order {
		if e, ok := entries[name]; ok {
			r.Entries = append(r.Entries, e)
		}
	}
	return r
}

// LoadReport reads a file that WriteJSON has written.
func LoadReport(file string) (Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	rep, err := ReadReport(f)
	if err != nil {
		return rep, fmt.Errorf("%s: %w", file, err)
	}
	return rep, nil
}

// ReadReport reads what WriteJSON has written. It is an error if there is nothing
// in it, or more than the report.
func ReadReport(in io.Reader) (Report, error) {
	dec := json.NewDecoder(in)
	dec.DisallowUnknownFields()
	var rep Report
	if err := dec.Decode(&rep); errors.Is(err, io.EOF) {
		return rep, errors.New("reading results: there is nothing, where compare -json should have written")
	} else if err != nil {
		return rep, fmt.Errorf("reading results, as compare -json writes them: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return rep, errors.New("reading results: something follows them")
	}
	if len(rep.Entries) == 0 {
		return rep, errors.New("reading results: there are none")
	}
	seen := map[string]bool{}
	for _, e := range rep.Entries {
		switch name := e.Name(); {
		case e.Area == "" || e.Work == "" || e.Ours.Who == "" || e.Theirs.Who == "":
			return rep, fmt.Errorf("reading results: %q lacks the name of its area, its work, or a side", name)
		case seen[name]:
			return rep, fmt.Errorf("reading results: %q occurs twice", name)
		default:
			seen[name] = true
		}
	}
	return rep, nil
}
