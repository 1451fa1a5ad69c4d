package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/chart"
	"github.com/informerkit/informerkit/internal/verify/bench/rows"
)

// savedLike reads the results into which others are to be put, which must have been
// measured in the same way, and on the same machine unless they are of the heap.
func savedLike(opts options) (bench.Report, error) {
	rep, err := bench.LoadReport(opts.into)
	if err != nil {
		return rep, err
	}
	now := report(opts, nil)
	exact := !slices.ContainsFunc(opts.selection(), func(r bench.Row) bool { return r.Measure != bench.Memory && r.Measure != bench.LiveHeap })
	switch {
	case !reflect.DeepEqual(rep.Host, now.Host) && !exact:
		return rep, fmt.Errorf("%s was measured on another machine, or with other versions: %+v, and this is %+v. Measure all rows again", opts.into, rep.Host, now.Host)
	case rep.How != now.How:
		return rep, fmt.Errorf("%s was measured in another way: %q instead of %q", opts.into, rep.How, now.How)
	}
	return rep, nil
}

// keep puts results into the file that has the saved ones.
func keep(opts options, saved, newer bench.Report) error {
	var order []string
	for _, row := range append(rows.All(), rows.Scaling()...) {
		order = append(order, row.Name())
	}
	if !reflect.DeepEqual(saved.Host, newer.Host) {
		for i := range newer.Entries {
			newer.Entries[i].Host = &newer.Host
		}
	}
	var out bytes.Buffer
	if err := saved.Replace(newer, order).WriteJSON(&out); err != nil {
		return err
	}
	return os.WriteFile(opts.into, out.Bytes(), 0o644)
}

// printSaved prints a report that was saved, draws it, or updates a document with it.
func printSaved(opts options, out io.Writer) error {
	rep, err := bench.LoadReport(opts.from)
	if err != nil {
		return err
	}
	switch {
	case opts.charts != "":
		return drawInto(opts.charts, rep, out)
	case opts.update == "":
		return write(out, opts, rep)
	}
	document, err := os.ReadFile(opts.update)
	if err != nil {
		return err
	}
	updated, err := bench.Update(string(document), rep)
	if err != nil {
		return err
	}
	return os.WriteFile(opts.update, []byte(updated), 0o644)
}

// drawInto draws what a report shows, and prints the files.
func drawInto(folder string, rep bench.Report, out io.Writer) error {
	pictures, err := chart.Pictures(rep)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		var svg bytes.Buffer
		if err := pictures[name].WriteSVG(&svg); err != nil {
			return fmt.Errorf("drawing %s: %w", name, err)
		}
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, svg.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, file)
	}
	return nil
}
