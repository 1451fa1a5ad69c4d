package workqueue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// logged runs items with the function until stopped, and returns the lines. A
// failed item is retried after a second.
func logged(t *testing.T, opts options, items []string, d time.Duration, fn func(string) error) []string {
	t.Helper()
	var log bytes.Buffer
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	p := start(t, opts, func(_ context.Context, item string) error { return fn(item) })
	addAll(p.q, items)
	advance(d)
	p.stop()
	return strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
}

func TestFailureIsLoggedOncePerMinuteAndWhenItsReasonChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		lines := logged(t, options{}, []string{"a", "fine"}, 150*time.Second, func(item string) error {
			if item == "fine" {
				return nil
			}
			if calls++; calls == 31 || calls == 32 { // at 30 s and 31 s
				return errors.New("forbidden")
			}
			return errors.New("not found")
		})
		require.Len(t, lines, 4)
		for i, want := range []string{
			`msg="processing an item failed" queue=test item=a attempt=1 action=retried error="not found"`,
			`attempt=31 action=retried error=forbidden suppressed=29`,
			`attempt=33 action=retried error="not found" suppressed=1`,
			`attempt=93 action=retried error="not found" suppressed=59`,
		} {
			assert.Contains(t, lines[i], "level=WARN")
			assert.Contains(t, lines[i], want)
			assert.True(t, strings.HasSuffix(lines[i], want), lines[i])
		}
	})
}

func TestEveryItemThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := logged(t, options{}, number(1024, "item %d"), 5*time.Second, func(string) error { return assert.AnError })
		assert.Len(t, lines, 1024)
	})
}

// In an outage everything fails. The log must not grow with the number of items.
func TestLogOfAnOutageIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := logged(t, options{}, number(2000, "item %d"), 5*time.Second, func(string) error { return assert.AnError })
		require.Len(t, lines, 1024+1)
		assert.Contains(t, lines[1024], "fails for more items than are logged one by one")
		assert.Contains(t, lines[1024], `item="item 1024"`)
		assert.True(t, strings.HasSuffix(lines[1024], "suppressed=1"), lines[1024])
	})
	synctest.Test(t, func(t *testing.T) {
		// In the second minute the first items get another line, the others a summary.
		lines := logged(t, options{}, number(1100, "item %d"), 61*time.Second, func(string) error { return assert.AnError })
		assert.Len(t, lines, 2*(1024+1))
		summaries := 0
		for _, line := range lines {
			if strings.Contains(line, "more items than are logged one by one") {
				summaries++
			}
		}
		assert.Equal(t, 2, summaries)
	})
}

// A full log still says at once that an item that has a line fails for another reason.
func TestFullLogReportsAnotherReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		lines := logged(t, options{}, number(1100, "item %d"), 5*time.Second, func(item string) error {
			if item == "item 7" {
				if calls++; calls == 3 {
					return errors.New("forbidden")
				}
			}
			return assert.AnError
		})
		var others []string
		for _, line := range lines[1024+1:] {
			others = append(others, line[strings.Index(line, "item="):])
		}
		assert.Equal(t, []string{
			`item="item 7" attempt=3 action=retried error=forbidden suppressed=1`,
			fmt.Sprintf(`item="item 7" attempt=4 action=retried error=%q`, assert.AnError),
		}, others)
	})
}

// An item that has not failed for a minute makes room for another.
func TestLogForgetsItemsThatNoLongerFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := start(t, options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxAttempts: 2}, func(context.Context, string) error {
			return assert.AnError
		})
		for minute := range 3 {
			for _, item := range number(1024, fmt.Sprint(minute, " item %d")) {
				p.q.Add(item)
			}
			advance(time.Minute)
		}
		p.stop()
		assert.Equal(t, 3*1024, strings.Count(log.String(), "level=WARN"))
		assert.NotContains(t, log.String(), "suppressed")
	})
}

// The item that makes room is the one whose last line is the oldest, not the one
// that was first to fail.
func TestLogForgetsTheItemWithTheOldestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := start(t, options{Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxAttempts: 2}, func(context.Context, string) error {
			return assert.AnError
		})
		addAll(p.q, number(1024, "old-%d"))
		advance(time.Minute)
		p.q.Add("old-0") // a second line
		synctest.Wait()
		p.q.Add("new")
		advance(time.Minute)
		p.stop()
		assert.Contains(t, log.String(), "item=new attempt=1 action=retried")
		assert.NotContains(t, log.String(), "suppressed")
	})
}

func TestDroppedItemsAndPanicsAreAlwaysLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := logged(t, options{CapturePanics: true, MaxAttempts: 5}, []string{"a"}, time.Minute, func(string) error { panic("boom") })
		require.Len(t, lines, 5)
		for i, line := range lines {
			assert.Contains(t, line, "level=ERROR")
			assert.Contains(t, line, "boom")
			assert.Contains(t, line, "stack=")
			assert.Equal(t, i == 4, strings.Contains(line, "it is dropped"), line)
		}
		lines = logged(t, options{}, number(2000, "%d"), time.Minute, func(string) error { return workqueue.Terminal(assert.AnError) })
		assert.Len(t, lines, 2000)
	})
}

// badError is an error whose text cannot be had.
type badError struct{ text *string }

func (e badError) Error() string { return *e.text }

func TestErrorWithoutATextDoesNotEndTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := logged(t, options{}, []string{"a"}, 10*time.Second, func(string) error { return badError{} })
		assert.Len(t, lines, 1)
	})
}

// It changes the default logger, so it must not run in parallel with others.
func TestWithoutALoggerFailuresGoToTheDefault(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for name, discard := range map[string]bool{"nil": false, "discarding": true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			opts := options{MaxAttempts: 1}
			if discard {
				opts.Logger = slog.New(slog.DiscardHandler)
			}
			p := start(t, opts, func(context.Context, string) error { return assert.AnError })
			p.q.Add("a")
			synctest.Wait()
			p.stop()
			assert.Equal(t, !discard, strings.Contains(log.String(), "item=a"), name)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Hour, time.Hour, 1), workqueue.Options[string]{})
		addAll(q, []string{"bad", "fine"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, workqueue.Process(ctx, q, 1, func(_ context.Context, item string) error {
			if item == "bad" {
				return assert.AnError
			}
			return nil
		}))
		assert.Contains(t, log.String(), "item=bad")
		assert.NotContains(t, log.String(), "item=fine")
	})
}

func TestTheLineOfSeveralErrorsIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := logged(t, options{}, []string{"a"}, time.Second, func(string) error {
			return errors.Join(errors.New("not found"), errors.New("forbidden"))
		})
		assert.Contains(t, lines[0], `error="not found; forbidden"`)
	})
}
