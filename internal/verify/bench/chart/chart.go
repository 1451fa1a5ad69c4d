// Package chart draws the series of a comparison: how a cost grows with what is
// varied, one line for each side.
package chart

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// Chart is one picture.
type Chart struct {
	// Name is that of its file, without an ending.
	Name string
	// Title states the work.
	Title string
	// XLabel and YLabel name the axes; the tick labels have the unit.
	XLabel, YLabel string
	// Unit is that of all values: "s", "B", "/s", or none.
	Unit  string
	Lines []Line
}

// Line is what one side has shown.
type Line struct {
	Who    string
	Points []Point
}

// Point is the median of the runs at one place, with the range of all of them.
type Point struct{ X, Y, Low, High float64 }

// fileName is what a series may be called, since a file is called so.
var fileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Of returns the charts of a report, in its order. Where goroutines are left,
// there is another chart of their number. It is an error if the report has no
// series, or one that makes no sense.
func Of(rep bench.Report) ([]Chart, error) {
	var names []string
	series := map[string][]bench.Entry{}
	for _, e := range rep.Entries {
		if e.Point == nil {
			continue
		}
		name := e.Point.Series
		if series[name] == nil {
			names = append(names, name)
		}
		series[name] = append(series[name], e)
	}
	if len(names) == 0 {
		return nil, errors.New("drawing charts: the results have no series; compare -scaling -json writes some")
	}
	var charts []Chart
	for _, name := range names {
		cs, err := ofSeries(name, series[name])
		if err != nil {
			return nil, fmt.Errorf("drawing the series %q: %w", name, err)
		}
		charts = append(charts, cs...)
	}
	return charts, nil
}

// ofSeries returns the one chart of a series, or the two.
func ofSeries(name string, entries []bench.Entry) ([]Chart, error) {
	if !fileName.MatchString(name) {
		return nil, errors.New("its name cannot be that of a file; it may have small letters, digits and single hyphens")
	}
	first := entries[0]
	for i, e := range entries {
		switch {
		case e.Unit != first.Unit || e.Rate != first.Rate || e.Ours.Who != first.Ours.Who || e.Theirs.Who != first.Theirs.Who:
			return nil, fmt.Errorf("%q compares something else than %q", e.Name(), first.Name())
		case i > 0 && !(e.Point.X > entries[i-1].Point.X):
			return nil, fmt.Errorf("%q is not to the right of the point before it", e.Name())
		}
	}
	c := Chart{Name: name, Title: first.Point.Title, XLabel: first.Point.XLabel, YLabel: first.Point.YLabel}
	var value func(bench.Sample) float64
	switch {
	case first.Rate:
		c.Unit, value = "/s", func(s bench.Sample) float64 { return 1e9 / s.Figure }
	case first.Unit == "ns":
		c.Unit, value = "s", func(s bench.Sample) float64 { return s.Figure / 1e9 }
	default:
		c.Unit, value = first.Unit, func(s bench.Sample) float64 { return s.Figure }
	}
	c.Lines = lines(entries, value)
	charts := []Chart{c}
	if slices.ContainsFunc(entries, func(e bench.Entry) bool { return e.Theirs.Goroutines > 0.5 || e.Ours.Goroutines > 0.5 }) {
		g := c
		g.Name, g.Title = name+"-goroutines", c.Title+": goroutines"
		g.YLabel, g.Unit = "goroutines of each", ""
		g.Lines = lines(entries, func(s bench.Sample) float64 { return s.Goroutines })
		charts = append(charts, g)
	}
	for _, c := range charts {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	return charts, nil
}

// lines returns what both sides have shown.
func lines(entries []bench.Entry, value func(bench.Sample) float64) []Line {
	first := entries[0]
	both := []Line{{Who: first.Ours.Who}, {Who: first.Theirs.Who}}
	for _, e := range entries {
		for i, samples := range [][]bench.Sample{e.Ours.Samples, e.Theirs.Samples} {
			values := make([]float64, len(samples))
			for j, s := range samples {
				values[j] = value(s)
			}
			both[i].Points = append(both[i].Points, point(e.Point.X, values))
		}
	}
	return both
}

func point(x float64, values []float64) Point {
	if len(values) == 0 {
		return Point{X: x, Y: math.NaN()}
	}
	return Point{x, bench.Median(values), slices.Min(values), slices.Max(values)}
}

// check reports what cannot be drawn.
func (c Chart) check() error {
	if len(c.Lines[0].Points) < 2 {
		return errors.New("it has one point only; two make a line")
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			for _, v := range []float64{p.Y, p.Low, p.High} {
				if !(v >= 0 && v < 1e15) || p.X < 0 || p.X > 1e15 {
					return fmt.Errorf("%s at %g: %g is no amount that can be drawn", l.Who, p.X, v)
				}
			}
		}
	}
	return nil
}
