package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
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
	// Profile is a folder for profiles of each side of each row; "" is none.
	Profile string
	// Command returns a command that calls [Serve] with the rows.
	Command func() (*exec.Cmd, error)
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
	child   *measure.Process // nil: none is running
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
func (c *contestant) run(ctx context.Context) (err error) {
	if c.child == nil {
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	if c.repeat == 0 {
		if c.repeat, err = measure.Call[int](ctx, c.child, "Calibrate", c.r.Time); err != nil {
			return err
		}
	}
	s, err := measure.Call[Sample](ctx, c.child, "Run", c.repeat)
	if err != nil {
		return err
	}
	if c.r.CPU && c.row.Measure == Time {
		s.Figure = s.CPU
	}
	c.samples = append(c.samples, s)
	if c.row.fresh() {
		return c.stop()
	}
	return nil
}

func (c *contestant) start(ctx context.Context) error {
	cmd, err := c.r.Command()
	if err != nil {
		return err
	}
	if c.child, err = measure.Start(cmd); err != nil {
		return err
	}
	_, err = measure.Call[measure.None](ctx, c.child, "Setup", Assignment{c.row.Name(), c.ours, c.r.Profile})
	return err
}

func (c *contestant) stop() error {
	err := c.child.End()
	c.child = nil
	return err
}
