package main

import (
	"io"
	"os"

	"github.com/informerkit/informerkit/internal/bench"
)

// printSaved prints a report that was saved, or updates a document with it.
func printSaved(opts options, out io.Writer) error {
	file, err := os.Open(opts.from)
	if err != nil {
		return err
	}
	defer file.Close()
	rep, err := bench.ReadReport(file)
	if err != nil {
		return err
	}
	if opts.update == "" {
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
