// Command chart draws what compare -scaling -json has measured: an SVG image for
// each series, named after it. Of what compare -json has measured it draws the
// summary on the first page of the project.
//
//	chart -from results/scaling.json -into charts
//	compare -scaling -json | chart -into charts
//	chart -summary -from results/compare.json -into charts
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/chart"
)

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	from := flags.String("from", "", "the JSON to draw; standard input if there is none")
	into := flags.String("into", "", "the folder for the images, which is made if there is none")
	summary := flags.Bool("summary", false, "instead of series, draw the few rows that the first page of the project shows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *into == "":
		return errors.New("-into is needed: the folder for the images")
	}
	if *from != "" {
		file, err := os.Open(*from)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	rep, err := bench.ReadReport(in)
	if err != nil {
		return err
	}
	if *summary {
		bars, err := chart.Summary(rep)
		if err != nil {
			return err
		}
		return write(bars.Name, bars, *into, out)
	}
	charts, err := chart.Of(rep)
	if err != nil {
		return err
	}
	for _, c := range charts {
		if err := write(c.Name, c, *into, out); err != nil {
			return err
		}
	}
	return nil
}

// write writes a picture into a folder and prints its path.
func write(name string, picture interface{ WriteSVG(io.Writer) error }, folder string, out io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := picture.WriteSVG(&svg); err != nil {
		return fmt.Errorf("drawing %s: %w", name, err)
	}
	file := filepath.Join(folder, name+".svg")
	if err := os.WriteFile(file, svg.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, file)
	return nil
}
