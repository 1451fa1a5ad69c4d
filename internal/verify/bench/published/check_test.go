package published

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/chart"
)

// The places in a folder of results.
const (
	// Comparison is what compare -json has written.
	Comparison = "results/compare.json"
	// Scaling is what compare -scaling -json has written.
	Scaling = "results/scaling.json"
	// Charts are drawn of Scaling; the summary on the first page, of Comparison.
	Charts = "charts"
	// Document shows the comparison and the charts.
	Document = "BENCHMARKS.md"
)

// Check reports what in a folder differs from its results: the figures in its
// Document and in the others, whose paths are relative to it, and the charts.
func Check(folder string, others ...string) error {
	comparison, err := bench.LoadReport(filepath.Join(folder, Comparison))
	if err != nil {
		return err
	}
	scaling, err := bench.LoadReport(filepath.Join(folder, Scaling))
	if err != nil {
		return err
	}
	var problems []error
	if !reflect.DeepEqual(comparison.Host, scaling.Host) {
		problems = append(problems, fmt.Errorf("%s and %s were measured on different machines or versions", Comparison, Scaling))
	}
	for _, document := range append([]string{Document}, others...) {
		problems = append(problems, checkDocument(folder, document, comparison))
	}
	drawn := map[string]bool{}
	problems = append(problems,
		checkPictures(folder, others, comparison, Comparison, drawn), checkPictures(folder, []string{Document}, scaling, Scaling, drawn))
	files, err := filepath.Glob(filepath.Join(folder, Charts, "*"))
	for _, f := range files {
		if name := Charts + "/" + filepath.Base(f); !drawn[name] {
			problems = append(problems, fmt.Errorf("%s is of no series in %s", name, Scaling))
		}
	}
	return errors.Join(append(problems, err)...)
}

func checkDocument(folder, document string, rep bench.Report) error {
	is, err := os.ReadFile(filepath.Join(folder, document))
	if err != nil {
		return err
	}
	should, err := bench.Update(string(is), rep)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	if should == string(is) {
		return nil
	}
	had, want := firstDifference(string(is), should)
	return fmt.Errorf("%s has other figures than %s (run: go run ./cmd/compare -from %s -update %s)\n\tit says    %s\n\tinstead of %s",
		document, Comparison, Comparison, document, had, want)
}

// firstDifference returns the first lines that differ.
func firstDifference(a, b string) (string, string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i], bs[i]
		}
	}
	return "the end of one", "more lines"
}

// checkPictures checks the pictures of a report, of which each is in one of the documents, and
// notes which files these are.
func checkPictures(folder string, documents []string, rep bench.Report, results string, drawn map[string]bool) error {
	pictures, err := chart.Pictures(rep)
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	var shown []byte
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(folder, document))
		if err != nil {
			return err
		}
		shown = append(shown, text...)
	}
	var problems []error
	for name, picture := range pictures {
		file := Charts + "/" + name
		drawn[file] = true
		problems = append(problems, checkPicture(folder, file, picture, results))
		if !bytes.Contains(shown, []byte(file+")")) {
			problems = append(problems, fmt.Errorf("%s is shown nowhere in %s", file, strings.Join(documents, ", ")))
		}
	}
	return errors.Join(problems...)
}

// checkPicture checks that a file is what would be drawn now.
func checkPicture(folder, file string, picture chart.Picture, results string) error {
	redraw := fmt.Sprintf("run: go run ./cmd/compare -from %s -charts %s", results, Charts)
	var should bytes.Buffer
	if err := picture.WriteSVG(&should); err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(folder, file))
	switch {
	case err != nil:
		return fmt.Errorf("%w (%s)", err, redraw)
	case !bytes.Equal(is, should.Bytes()):
		return fmt.Errorf("%s is not drawn of %s (%s)", file, results, redraw)
	}
	return nil
}
