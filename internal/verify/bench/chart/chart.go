// Package chart draws the series of a comparison: how a cost grows with what is
// varied, one line for each side.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/measure"
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

// Picture is what a file shows.
type Picture interface{ WriteSVG(w io.Writer) error }

// Pictures returns the pictures of a report by the names of their files: the charts of its series,
// or the summary if it has none.
func Pictures(rep bench.Report) (map[string]Picture, error) {
	if !slices.ContainsFunc(rep.Entries, func(e bench.Entry) bool { return e.Point != nil }) {
		bars, err := Summary(rep)
		return map[string]Picture{"summary.svg": bars}, err
	}
	charts, err := Of(rep)
	pictures := map[string]Picture{}
	for _, c := range charts {
		pictures[c.Name+".svg"] = c
	}
	return pictures, err
}

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
	return Point{x, measure.Median(values), slices.Min(values), slices.Max(values)}
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

// look is how a side is drawn: the sides differ in colour, in the shape of their points and
// in their lines. The colours are distinguishable with colour blindness, too (Okabe and Ito).
type look struct {
	color  color.Color
	glyph  draw.GlyphDrawer
	dashes []vg.Length
}

var looks = []look{
	{color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, draw.CircleGlyph{}, nil},
	{color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, draw.PyramidGlyph{}, []vg.Length{7, 3}},
}

// WriteSVG writes the chart as an SVG image. It is the same for the same chart.
func (c Chart) WriteSVG(w io.Writer) error {
	p, err := c.plot()
	if err != nil {
		return err
	}
	return write(w, 540, 340, func(canvas draw.Canvas) { p.Draw(canvas) })
}

// plot returns the axes and the lines.
func (c Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	for size, to := range map[font.Length][]*text.Style{
		12: {&p.Title.TextStyle}, 11: {&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.Legend.TextStyle}, 10: {&p.X.Tick.Label, &p.Y.Tick.Label},
	} {
		for _, t := range to {
			t.Font = style(size, false).Font
		}
	}
	better := "less is better"
	if c.Unit == "/s" {
		better = "more is better"
	}
	p.Title.Text = c.Title + "\n" + better + "; medians, with bars for all runs"
	p.X.Label.Text, p.Y.Label.Text = c.XLabel, c.YLabel
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	var xs []float64
	least, most := math.Inf(1), math.Inf(-1)
	for i, l := range c.Lines {
		for _, q := range l.Points {
			if i == 0 {
				xs = append(xs, q.X)
			}
			least, most = min(least, q.Low), max(most, q.High)
		}
		if err := l.add(p, looks[i]); err != nil {
			return nil, err
		}
	}
	setX(&p.X, xs)
	setY(&p.Y, least, most, c.Unit)
	return p, nil
}

// add draws a line with its points, and the range of the runs at each.
func (l Line) add(p *plot.Plot, look look) error {
	line, points, err := plotter.NewLinePoints(ranged(l.Points))
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: look.color, Width: 1.8, Dashes: look.dashes}
	points.GlyphStyle = draw.GlyphStyle{Color: look.color, Radius: 4, Shape: look.glyph}
	bars, err := plotter.NewYErrorBars(ranged(l.Points))
	if err != nil {
		return err
	}
	bars.LineStyle = draw.LineStyle{Color: look.color, Width: 0.8}
	p.Add(bars, line, points)
	p.Legend.Add(l.Who, line, points)
	return nil
}

// ranged is what plotters ask of points with a range.
type ranged []Point

func (r ranged) Len() int                            { return len(r) }
func (r ranged) XY(i int) (x, y float64)             { return r[i].X, r[i].Y }
func (r ranged) YError(i int) (below, above float64) { return r[i].Low - r[i].Y, r[i].High - r[i].Y }

// write writes what is drawn as an SVG image, on white, since pages may be dark. Its letters
// are placed for Liberation Sans; Arial has the same widths, and is where that is not.
func write(w io.Writer, width, height vg.Length, paint func(draw.Canvas)) error {
	const margin = vg.Length(14)
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	paint(draw.Crop(all, margin, -margin, margin, -margin))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	named, portable := []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	_, err := w.Write(bytes.ReplaceAll(svg.Bytes(), named, portable))
	return err
}

// style is text without serifs.
func style(size font.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: color.Gray{Y: 0x22}, Font: f, Handler: plot.DefaultTextHandler}
}
