// Package flaws shows what is wrong with each of the steps, and that the next one mends
// it: one scenario for both, on an embedded server with a fault. Its tests run it in fake
// time, and the commands of the steps in real time.
package flaws

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Flaw is something that a step does wrong.
type Flaw struct {
	// Step has it, and Mended does not.
	Step, Mended int
	// Story is what happens.
	Story string
	// Wrong is what comes out at Step, Right from Mended on.
	Wrong, Right string

	// history is how many changes the server remembers; 0: many.
	history int
	play    func(w *world) string
}

// withLock stands for the first store of step 5.
const withLock = 50

// Of returns a name for a step.
func Of(step int) string {
	if step == withLock {
		return "step 5, with a lock"
	}
	return fmt.Sprintf("step %d", step)
}

// All are the flaws in the order of the steps.
var All = []Flaw{
	{
		Step: 1, Mended: 2, play: cost,
		Story: "100 objects, and nothing changes for 3 seconds",
		Wrong: "the server sends 400 objects", Right: "the server sends 100 objects",
	},
	{
		Step: 1, Mended: 2, play: between,
		Story: "between two polls, a is deleted and created",
		Wrong: "the handler hears: Added a, Updated a", Right: "the handler hears: Added a, Deleted a, Added a",
	},
	{
		Step: 2, Mended: 3, play: broken,
		Story: "the watch breaks, and until the next one b is deleted and c created",
		Wrong: "the copy has: a b c", Right: "the copy has: a c",
	},
	{
		Step: 3, Mended: 4, play: storm,
		Story: "the server ends each watch at once, for 3 seconds",
		Wrong: "1000 requests, and more if it went on", Right: "fewer than 10 requests",
	},
	{
		Step: 3, Mended: 4, play: outage,
		Story: "the watch breaks, b is deleted, and the server forgets its history",
		Wrong: "the copy has: a b", Right: "the copy has: a",
	},
	{
		Step: 4, Mended: 5, play: half,
		Story: "three objects are listed; at the first event, the handler looks into the copy",
		Wrong: "it finds 1 of 3", Right: "it finds 3 of 3",
	},
	{
		Step: withLock, Mended: 5, play: slowReader,
		Story: "a reader takes its time, and meanwhile something is stored",
		Wrong: "the write waits for the reader", Right: "the write is done",
	},
	{
		Step: withLock, Mended: 5, play: mutation,
		Story: "a reader changes the object that it got: app is db now, and no longer web",
		Wrong: "under web there is an object of db, and nobody notices", Right: "the next write reports that default/a was changed",
	},
	{
		Step: 5, Mended: 6, play: waits, history: 10,
		Story: "the handler is busy with one event while an object changes 100 times",
		Wrong: "2 lists: the server has forgotten what was not read", Right: "1 list",
	},
	{
		Step: 6, Mended: 7, play: slowHandler,
		Story: "a handler is busy, and meanwhile b is created",
		Wrong: "the copy has: a", Right: "the copy has: a b",
	},
	{
		Step: 7, Mended: 8, play: together,
		Story: "an object changes while a worker is busy with it, and another worker is idle",
		Wrong: "2 workers at once on a", Right: "1 worker at once on a",
	},
	{
		Step: 8, Mended: 9, play: twice,
		Story: "the watch is late: the controller looks again before its copy has the backup that it made",
		Wrong: "2 backups of a", Right: "1 backup of a",
	},
	{
		Step: 9, Mended: 10, play: replicas,
		Story: "two replicas of the controller see a new object",
		Wrong: "2 backups of a", Right: "1 backup of a",
	},
}

// Show plays what a step has mended, before and after, and what is still wrong with it.
func Show(ctx context.Context, out io.Writer, step int) error {
	for _, flaw := range All {
		story, steps := flaw.Story, []int{flaw.Step, flaw.Mended}
		switch {
		case flaw.Step == step:
			story, steps = "still open: "+story, steps[:1]
		case flaw.Mended != step:
			continue
		}
		fmt.Fprintln(out, story)
		for _, n := range steps {
			came, err := Play(ctx, flaw, n)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %-20s  %s\n", Of(n), came)
		}
	}
	return nil
}

// Main is the command of a step.
func Main(step int) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what fails is meant to
	if err := Show(context.Background(), os.Stdout, step); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
