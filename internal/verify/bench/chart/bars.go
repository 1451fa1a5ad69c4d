package chart

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// Bars is a picture of a few rows of the table, side by side: a panel for each,
// with a bar for each side.
type Bars struct {
	// Name is that of its file, without an ending.
	Name   string
	Panels []Panel
}

// Panel is one row of the table.
type Panel struct {
	Title string
	Bars  []Bar
}

// Bar is what one side has shown: an amount of which less is better, and how
// people are shown it.
type Bar struct {
	Who    string
	Figure float64
	Shown  string
}

// summary are the rows that the first page of the project shows, with what a
// reader who has seen nothing else calls them.
var summary = []struct{ row, title string }{
	{"what a controller does: heap per object, equal parts shared, pods", "memory of a cached pod, equal parts shared"},
	{"what a controller does: event to 10 handlers", "an event, delivered to 10 handlers"},
}

// Summary returns the picture of the first page. It is an error if a report lacks
// one of its rows.
func Summary(rep bench.Report) (Bars, error) {
	bars := Bars{Name: "summary"}
	for _, s := range summary {
		found := false
		for _, e := range rep.Entries {
			if e.Name() != s.row {
				continue
			}
			found = true
			panel := Panel{Title: s.title}
			for _, o := range []bench.ReportOutcome{e.Theirs, e.Ours} {
				shown, _, _ := strings.Cut(o.Shown, ",") // without its allocations
				who, _, _ := strings.Cut(o.Who, " ")     // the title names the option
				if !(o.Figure > 0 && o.Figure < 1e15) {
					return bars, fmt.Errorf("drawing the summary: %q, %s: %g is no amount that can be drawn", s.row, who, o.Figure)
				}
				panel.Bars = append(panel.Bars, Bar{who, o.Figure, shown})
			}
			bars.Panels = append(bars.Panels, panel)
		}
		if !found {
			return bars, fmt.Errorf("drawing the summary: there is no result of %q", s.row)
		}
	}
	return bars, nil
}

// The measures of a panel.
const (
	panelWidth  = vg.Length(330)
	panelHeight = vg.Length(96)
	barHeight   = vg.Length(20)
	nameWidth   = vg.Length(86)
	valueWidth  = vg.Length(52)
)

// WriteSVG writes the picture as an SVG image. It is the same for the same picture.
func (b Bars) WriteSVG(w io.Writer) error {
	width := panelWidth * vg.Length(len(b.Panels))
	return write(w, width, panelHeight, func(all draw.Canvas) {
		for i, p := range b.Panels {
			left := panelWidth * vg.Length(i)
			p.draw(draw.Crop(all, left, left+panelWidth-width, 0, 0))
		}
	})
}

// draw draws the title and, below it, a bar for each side with its figure.
func (p Panel) draw(canvas draw.Canvas) {
	title := style(12, true)
	title.YAlign = draw.YTop
	canvas.FillText(title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, p.Title)
	most := 0.0
	for _, b := range p.Bars {
		most = max(most, b.Figure)
	}
	text := style(11, false)
	text.YAlign = draw.YCenter
	from := canvas.Min.X + nameWidth
	widest := canvas.Max.X - from - valueWidth
	y := canvas.Max.Y - title.Height(p.Title) - 12 - barHeight/2
	for i, b := range p.Bars {
		to := from + widest*vg.Length(b.Figure/most)
		look := looks[len(p.Bars)-1-i] // ours is the last bar, and the first colour
		canvas.FillText(text, vg.Point{X: canvas.Min.X, Y: y}, b.Who)
		canvas.FillPolygon(look.color, []vg.Point{
			{X: from, Y: y - barHeight/2}, {X: to, Y: y - barHeight/2}, {X: to, Y: y + barHeight/2}, {X: from, Y: y + barHeight/2},
		})
		canvas.FillText(text, vg.Point{X: to + 6, Y: y}, b.Shown)
		y -= barHeight + 6
	}
}
