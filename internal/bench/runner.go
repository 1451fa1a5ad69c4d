package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Runner measures rows.
type Runner struct {
	// Rounds is the number of runs of each side; some rows have fewer.
	Rounds int
	// Time is the duration of a run, where a row does not fix the repetitions.
	Time time.Duration
	// CPU compares processor time where rows compare time. It says less: neither
	// waiting nor what runs in parallel is seen. But it can be measured on a
	// machine that others use.
	CPU bool
	// Command returns a command that calls [Serve] for one side of the row.
	Command func(ctx context.Context, row Row, ours bool) *exec.Cmd
}

// Result is a measured row.
type Result struct {
	Row          Row
	Ours, Theirs Outcome
	// Ratio is the median of their figure over ours, pair by pair, with the
	// range within which it is certain.
	Ratio interval
	// Misses says which parts of the target are missed, beyond the noise.
	Misses []string
	// Noisy is set if part of the target is missed, but not beyond the noise.
	Noisy bool
}

// Outcome is what one side has shown.
type Outcome struct {
	// Samples are the runs, in order.
	Samples []Sample
	// Figure is the median of their figures, with the range of certainty.
	Figure interval
	// Allocs, Bytes and Goroutines are medians, per unit.
	Allocs, Bytes, Goroutines float64
}

// Run measures one row: ours, theirs, ours, theirs …
func (r *Runner) Run(ctx context.Context, row Row) (Result, error) {
	ours, theirs := &contestant{r: r, row: row, ours: true}, &contestant{r: r, row: row}
	defer func() {
		// After an error, which is what is returned; otherwise they have stopped.
		_, _ = ours.stop(), theirs.stop()
	}()
	for range row.rounds(r.Rounds) {
		for _, c := range []*contestant{ours, theirs} {
			if err := c.run(ctx); err != nil {
				return Result{}, fmt.Errorf("%s (%s): %w", row.Name(), c.side().Who, err)
			}
		}
	}
	if err := errors.Join(ours.stop(), theirs.stop()); err != nil {
		return Result{}, fmt.Errorf("%s: %w", row.Name(), err)
	}
	return judge(row, ours.samples, theirs.samples), nil
}

// contestant is one side of a row that is being measured.
type contestant struct {
	r       *Runner
	row     Row
	ours    bool
	child   *child
	repeat  int
	samples []Sample
}

func (c *contestant) side() Side {
	if c.ours {
		return c.row.Ours
	}
	return c.row.Theirs
}

// run does one run, in the process that is there or in a new one.
func (c *contestant) run(ctx context.Context) error {
	if c.child == nil {
		child, err := start(c.r.Command(ctx, c.row, c.ours))
		if err != nil {
			return err
		}
		c.child = child
	}
	if c.repeat == 0 {
		a, err := c.child.ask(order{Calibrate: c.r.Time})
		if err != nil {
			return err
		}
		c.repeat = a.Repeat
	}
	a, err := c.child.ask(order{Run: c.repeat})
	if err != nil {
		return err
	}
	if c.r.CPU && c.row.Measure == Time {
		a.Sample.Figure = a.Sample.CPU
	}
	c.samples = append(c.samples, a.Sample)
	if c.row.fresh() {
		return c.stop()
	}
	return nil
}

func (c *contestant) stop() error {
	err := c.child.stop()
	c.child = nil
	return err
}

// judge compares the samples with each other and with the target.
func judge(row Row, ours, theirs []Sample) Result {
	res := Result{
		Row: row, Ours: outcome(ours), Theirs: outcome(theirs),
		Ratio: medianInterval(paired(figures(ours), figures(theirs))),
	}
	want := row.Want
	switch {
	case res.Ratio.high < want.Ratio:
		res.Misses = append(res.Misses, "ratio")
	case res.Ratio.mid < want.Ratio:
		res.Noisy = true
	}
	switch {
	case want.Figure.exceeds(res.Ours.Figure.low):
		res.Misses = append(res.Misses, "figure")
	case want.Figure.exceeds(res.Ours.Figure.mid):
		res.Noisy = true
	}
	for _, count := range []struct {
		limit Limit
		value float64
		name  string
	}{
		{want.Allocs, res.Ours.Allocs, "allocations"},
		{want.Bytes, res.Ours.Bytes, "bytes"},
		{want.Goroutines, res.Ours.Goroutines, "goroutines"},
	} {
		if count.limit.countExceeds(count.value) {
			res.Misses = append(res.Misses, count.name)
		}
	}
	return res
}

func outcome(samples []Sample) Outcome {
	pick := func(f func(Sample) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = f(s)
		}
		return median(values)
	}
	return Outcome{
		Samples:    samples,
		Figure:     medianInterval(figures(samples)),
		Allocs:     pick(func(s Sample) float64 { return s.Allocs }),
		Bytes:      pick(func(s Sample) float64 { return s.Bytes }),
		Goroutines: pick(func(s Sample) float64 { return s.Goroutines }),
	}
}

func figures(samples []Sample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.Figure
	}
	return values
}
