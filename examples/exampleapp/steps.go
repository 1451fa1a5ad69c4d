package exampleapp

import (
	"bufio"
	"context"
	"fmt"
)

// Step is one step of an example that goes on when the user presses Return.
type Step struct {
	// Says is the heading.
	Says string
	// Do does it. What it returns is printed, one line each.
	Do func(context.Context) (lines []string, err error)
}

// Steps takes the steps one after the other, and waits for Return between them
// unless -once is given. It ends at the first error, and when ctx does.
func (e *Env) Steps(ctx context.Context, steps ...Step) error {
	pressed := make(chan struct{})
	if !e.Once && e.In != nil {
		go func() { // ends with the process: a read from a terminal cannot be interrupted
			for in := bufio.NewScanner(e.In); in.Scan(); {
				pressed <- struct{}{}
			}
			close(pressed)
		}()
	}
	for i, step := range steps {
		fmt.Fprintf(e.Out, "\n%d. %s\n", i+1, step.Says)
		lines, err := step.Do(ctx)
		for _, line := range lines {
			fmt.Fprintf(e.Out, "   %s\n", line)
		}
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step.Says, err)
		}
		if e.Once || i == len(steps)-1 {
			continue
		}
		fmt.Fprint(e.Out, "   (press Return to go on)")
		select {
		case <-pressed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
