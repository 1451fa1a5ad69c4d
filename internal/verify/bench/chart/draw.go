package chart

import (
	"bytes"
	"image/color"
	"io"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a chart.
const (
	width  = vg.Length(540)
	height = vg.Length(340)
	margin = vg.Length(14)
)

var (
	ink   = color.Gray{Y: 0x22}
	faint = color.Gray{Y: 0x66}
	grid  = color.Gray{Y: 0xdd}
	// The sides differ in colour, in the shape of their points and in their
	// lines. The colours are distinguishable with colour blindness, too
	// (Okabe and Ito).
	looks = []look{
		{color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, draw.CircleGlyph{}, nil},
		{color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, draw.PyramidGlyph{}, []vg.Length{7, 3}},
	}
)

type look struct {
	color  color.Color
	glyph  draw.GlyphDrawer
	dashes []vg.Length
}

// WriteSVG writes the chart as an SVG image. It is the same for the same chart.
func (c Chart) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(width, height)
	if err := c.draw(draw.New(canvas)); err != nil {
		return err
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return writePortable(w, svg.Bytes())
}

// writePortable writes an image whose letters are placed for Liberation Sans. Arial
// has the same widths, and is where Liberation Sans is not.
func writePortable(w io.Writer, svg []byte) error {
	named, portable := []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	_, err := w.Write(bytes.ReplaceAll(svg, named, portable))
	return err
}

// draw draws the chart: title, legend, plot.
func (c Chart) draw(canvas draw.Canvas) error {
	canvas.SetColor(color.White) // for pages that are dark
	canvas.Fill(canvas.Rectangle.Path())
	canvas = draw.Crop(canvas, margin, -margin, margin, -margin)

	title := style(13, true)
	title.YAlign = draw.YTop
	canvas.FillText(title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, c.Title)
	canvas.Max.Y -= title.Height(c.Title) + 8
	c.drawLegend(&canvas)

	p, err := c.plot()
	if err != nil {
		return err
	}
	drawLabels(&canvas, p)
	p.Draw(canvas)
	return nil
}

// drawLabels draws the labels of the axes and takes their places from the canvas.
// The plot would leave room for them as if logarithmic axes were linear.
func drawLabels(canvas *draw.Canvas, p *plot.Plot) {
	below, beside := style(11, false), style(11, false)
	below.XAlign, below.YAlign = draw.XCenter, draw.YBottom
	beside.XAlign, beside.YAlign, beside.Rotation = draw.XCenter, draw.YTop, math.Pi/2
	high := below.Height("X")

	xLabel, yLabel := p.X.Label.Text, p.Y.Label.Text
	p.X.Label.Text, p.Y.Label.Text = "", ""
	whole := *canvas
	canvas.Min.X += high + 8
	canvas.Min.Y += high + 8
	data := p.DataCanvas(*canvas)
	whole.FillText(below, vg.Point{X: data.Center().X, Y: whole.Min.Y}, xLabel)
	whole.FillText(beside, vg.Point{X: whole.Min.X, Y: data.Center().Y}, yLabel)
}

// drawLegend puts the legend above the plot, where no line can be, and takes its
// height from the canvas.
func (c Chart) drawLegend(canvas *draw.Canvas) {
	const thumbnail, gap = 34, 22
	s := style(11, false)
	s.YAlign = draw.YCenter
	high := s.Height("X") + 4
	x, y := canvas.Min.X, canvas.Max.Y-high/2
	for i, l := range c.Lines {
		look := looks[i]
		canvas.StrokeLine2(look.line(), x, y, x+thumbnail, y)
		canvas.DrawGlyph(look.point(), vg.Point{X: x + thumbnail/2, Y: y})
		x += thumbnail + 6
		canvas.FillText(s, vg.Point{X: x, Y: y + 1}, l.Who)
		x += s.Width(l.Who) + gap
	}
	note := style(9, false)
	note.XAlign, note.YAlign, note.Color = draw.XRight, draw.YCenter, faint
	better := "less is better"
	if c.Unit == "/s" {
		better = "more is better"
	}
	canvas.FillText(note, vg.Point{X: canvas.Max.X, Y: y + 1}, better+"; medians, with bars for all runs")
	canvas.Max.Y -= high + 10
}

func (l look) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: 1.8, Dashes: l.dashes}
}

func (l look) point() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: 4, Shape: l.glyph}
}

// plot returns axes and lines.
func (c Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	var xs []float64
	least, most := math.Inf(1), math.Inf(-1)
	for i, l := range c.Lines {
		for _, q := range l.Points {
			if i == 0 {
				xs = append(xs, q.X)
			}
			least, most = min(least, q.Low), max(most, q.High)
		}
	}
	scale, ticks, logarithmic := xAxis(xs)
	p.X.Scale, p.X.Tick.Marker = scale, plot.ConstantTicks(ticks)
	p.X.Label.Text = c.XLabel
	if logarithmic {
		p.X.Label.Text += " (logarithmic)"
	}
	scale, lo, hi, ticks := yAxis(least, most, c.Unit)
	p.Y.Scale, p.Y.Tick.Marker = scale, plot.ConstantTicks(ticks)
	p.Y.Label.Text = c.YLabel
	if _, ok := scale.(plot.LogScale); ok {
		p.Y.Label.Text += " (logarithmic)"
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		plain := style(10, false)
		axis.Tick.Label.Color, axis.Tick.Label.Font = plain.Color, plain.Font
		axis.Color, axis.Tick.Color = ink, ink
		axis.Tick.Length = 5
	}

	lines := plotter.NewGrid()
	for _, l := range []*draw.LineStyle{&lines.Vertical, &lines.Horizontal} {
		l.Color, l.Width = grid, 0.6
	}
	p.Add(lines)
	for i, l := range c.Lines {
		if err := add(p, looks[i], l); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max = xs[0], xs[len(xs)-1]
	p.Y.Min, p.Y.Max = lo, hi
	return p, nil
}

// ranged is what plotters ask of points with a range.
type ranged []Point

func (r ranged) Len() int                            { return len(r) }
func (r ranged) XY(i int) (x, y float64)             { return r[i].X, r[i].Y }
func (r ranged) YError(i int) (below, above float64) { return r[i].Low - r[i].Y, r[i].High - r[i].Y }

// add draws a line with its points, and the range of the runs at each.
func add(p *plot.Plot, look look, l Line) error {
	line, points, err := plotter.NewLinePoints(ranged(l.Points))
	if err != nil {
		return err
	}
	line.LineStyle, points.GlyphStyle = look.line(), look.point()
	bars, err := plotter.NewYErrorBars(ranged(l.Points))
	if err != nil {
		return err
	}
	bars.LineStyle = draw.LineStyle{Color: look.color, Width: 0.8}
	bars.CapWidth = 5
	p.Add(bars, line, points)
	return nil
}

// style is text in ink.
func style(size font.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: plot.DefaultTextHandler}
}
