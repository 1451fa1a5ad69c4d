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
	// Slack makes the targets easier, for a machine that is too busy or too
	// different to show more than a coarse regression: a ratio, that of the best
	// runs, may be so many times less than it should be. Values up to 1 stand for
	// none. With it, a row that misses its target is measured again, twice at
	// most, and all of its runs count.
	Slack float64
	// Command returns a command that calls [Serve] for one side of the row.
	Command func(ctx context.Context, row Row, ours bool) *exec.Cmd
}

// attempts is how often a row that misses its target is measured if there is slack.
const attempts = 3

// Run measures one row.
func (r *Runner) Run(ctx context.Context, row Row) (Result, error) {
	var ours, theirs []Sample
	for attempt := 1; ; attempt++ {
		o, t, err := r.measure(ctx, row)
		if err != nil {
			return Result{}, err
		}
		ours, theirs = append(ours, o...), append(theirs, t...)
		res := judge(row, ours, theirs, r.Slack)
		if len(res.Misses) == 0 || r.Slack <= 1 || attempt == attempts {
			return res, nil
		}
	}
}

// measure returns samples of both sides, taken in turns: ours, theirs, ours …
func (r *Runner) measure(ctx context.Context, row Row) (o, t []Sample, err error) {
	ours, theirs := &contestant{r: r, row: row, ours: true}, &contestant{r: r, row: row}
	defer func() {
		// After an error, which is what is returned; otherwise they have stopped.
		_, _ = ours.stop(), theirs.stop()
	}()
	for range row.rounds(r.Rounds) {
		for _, c := range []*contestant{ours, theirs} {
			if err := c.run(ctx); err != nil {
				return nil, nil, fmt.Errorf("%s (%s): %w", row.Name(), c.side().Who, err)
			}
		}
	}
	if err := errors.Join(ours.stop(), theirs.stop()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", row.Name(), err)
	}
	return ours.samples, theirs.samples, nil
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
