package workqueue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

type (
	queue   = workqueue.RateLimitingQueue[string]
	options = workqueue.ProcessOptions[string]
	outcome = workqueue.Outcome[string]
)

// processing is a ProcessWith under way.
type processing struct {
	q        *queue
	cancel   context.CancelFunc
	returned chan struct{}
	err      error

	mu       sync.Mutex
	outcomes []outcome
}

// start runs ProcessWith in a bubble, with retries after exactly a second.
func start(t *testing.T, opts options, fn func(context.Context, string) error) *processing {
	return startResult(t, opts, resultless(fn))
}

// startResult is start for a function that may ask for something.
func startResult(t *testing.T, opts options, fn func(context.Context, string) (workqueue.Result, error)) *processing {
	p := &processing{
		q:        workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Second, time.Second, 0), workqueue.Options[string]{Name: "test"}),
		returned: make(chan struct{}),
	}
	p.run(t, opts, fn)
	return p
}

// resultless returns fn as a function that asks for nothing.
func resultless(fn func(context.Context, string) error) func(context.Context, string) (workqueue.Result, error) {
	return func(ctx context.Context, item string) (workqueue.Result, error) {
		return workqueue.Result{}, fn(ctx, item)
	}
}

func (p *processing) run(t *testing.T, opts options, fn func(context.Context, string) (workqueue.Result, error)) {
	opts.OnOutcome = func(o outcome) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcomes = append(p.outcomes, o)
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	go func() {
		defer close(p.returned)
		p.err = workqueue.ProcessWith(ctx, p.q, opts, fn)
	}()
	synctest.Wait()
}

func (p *processing) stop() {
	p.cancel()
	<-p.returned
}

func (p *processing) actions() []workqueue.Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	var actions []workqueue.Action
	for _, o := range p.outcomes {
		actions = append(actions, o.Action)
	}
	return actions
}

func TestFailureIsRetriedAndSuccessForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		p := start(t, options{}, func(context.Context, string) error {
			if calls++; calls <= 3 {
				return assert.AnError
			}
			return nil
		})
		p.q.Add("a")
		advance(2 * time.Second)
		assert.Equal(t, 3, p.q.NumRequeues("a"))
		require.Len(t, p.q.Inspect(10_000).Delayed, 1)
		assert.Equal(t, 3, p.q.Inspect(10_000).Delayed[0].Retries)
		advance(time.Second)
		assert.Equal(t, 4, calls)
		assert.Zero(t, p.q.NumRequeues("a"))
		p.stop()
		assert.Equal(t, []workqueue.Action{workqueue.Retried, workqueue.Retried, workqueue.Retried, workqueue.Succeeded}, p.actions())
		assert.Equal(t, 4, p.outcomes[3].Attempt)
		assert.NoError(t, p.err)
		p.assertLost(t, 0, 0)
		assert.True(t, p.q.ShuttingDown())
	})
}

func TestRequeueAfterIsASuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		p := startResult(t, options{MaxAttempts: 2}, func(context.Context, string) (workqueue.Result, error) {
			at = append(at, time.Since(began))
			switch len(at) {
			case 1:
				return workqueue.Result{RequeueAfter: time.Hour}, assert.AnError // the error wins
			case 2, 3:
				return workqueue.Result{RequeueAfter: time.Minute}, nil
			case 4:
				return workqueue.Result{RequeueAfter: 1}, nil
			case 5:
				return workqueue.Result{}, assert.AnError // the first failure again: not dropped
			}
			return workqueue.Result{RequeueAfter: -time.Minute}, nil
		})
		p.q.Add("a")
		advance(time.Hour)
		s := time.Second
		assert.Equal(t, []time.Duration{0, s, 61 * s, 121 * s, 121*s + 1, 122*s + 1}, at)
		p.stop()
		assert.NoError(t, p.outcomes[1].Err)
		assert.Equal(t, time.Minute, p.outcomes[1].Result.RequeueAfter)
		assert.Equal(t, 2, p.outcomes[1].Attempt)
		assert.Equal(t, 1, p.outcomes[2].Attempt)
	})
}

func TestTerminalAndLastAttemptAreNotRetried(t *testing.T) {
	t.Parallel()
	assert.NoError(t, workqueue.Terminal(nil))
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := start(t, options{MaxAttempts: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(_ context.Context, item string) error {
			if item == "terminal" {
				return fmt.Errorf("no use: %w", workqueue.Terminal(assert.AnError))
			}
			return assert.AnError
		})
		p.q.Add("terminal")
		advance(time.Hour)
		require.Equal(t, []workqueue.Action{workqueue.Dropped}, p.actions())
		assert.ErrorIs(t, p.outcomes[0].Err, assert.AnError)
		assert.Zero(t, p.q.NumRequeues("terminal"))

		p.outcomes = nil
		p.q.Add("poison")
		advance(time.Hour)
		assert.Equal(t, []workqueue.Action{workqueue.Retried, workqueue.Retried, workqueue.Dropped}, p.actions())
		assert.Zero(t, p.q.NumRequeues("poison"))

		p.outcomes = nil
		p.q.Add("poison") // an add processes it again
		advance(time.Hour)
		assert.Len(t, p.actions(), 3)
		p.stop()
		assert.Contains(t, log.String(), "level=ERROR msg=\"processing an item failed, and it is dropped\" queue=test item=poison attempt=3 action=dropped")
		assert.Contains(t, log.String(), "level=WARN msg=\"processing an item failed\" queue=test item=poison attempt=1 action=retried")
	})
}

// A bucket counts no failures; the last attempt must be found all the same.
func TestMaxAttemptsDoesNotDependOnTheLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.Bucket[string](nil), workqueue.Options[string]{})
		calls := 0
		ctx, cancel := context.WithCancel(t.Context())
		q.Add("a")
		go func() {
			synctest.Wait()
			cancel()
		}()
		err := workqueue.ProcessWith(ctx, q, options{MaxAttempts: 5}, func(context.Context, string) (workqueue.Result, error) {
			calls++
			return workqueue.Result{}, assert.AnError
		})
		assert.NoError(t, err)
		assert.Equal(t, 5, calls)
	})
}

func TestItemTimeoutEndsTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{ItemTimeout: time.Minute, MaxAttempts: 1}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p.q.Add("a")
		advance(time.Minute)
		require.Len(t, p.outcomes, 1)
		assert.ErrorIs(t, p.outcomes[0].Err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, p.outcomes[0].Took)
		p.stop()
	})
}

func TestCapturedPanicIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := start(t, options{CapturePanics: true, MaxAttempts: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(_ context.Context, item string) error {
			if item == "error" {
				panic(assert.AnError)
			}
			panic("boom")
		})
		p.q.Add("a")
		p.q.Add("error")
		advance(time.Minute)
		p.stop()
		require.Len(t, p.outcomes, 4)
		var panicked *workqueue.PanicError
		require.ErrorAs(t, p.outcomes[0].Err, &panicked)
		assert.Equal(t, "boom", panicked.Value)
		assert.Contains(t, string(panicked.Stack), "TestCapturedPanicIsAFailure")
		assert.Contains(t, panicked.Error(), "boom")
		assert.ErrorIs(t, p.outcomes[1].Err, assert.AnError)
		assert.Contains(t, log.String(), "stack=")
	})
}

// Promise workqueue/1
func TestWorkersRunSideBySideButNeverOnTheSameItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		p := start(t, options{Workers: 4}, func(context.Context, string) error {
			most.Store(max(most.Load(), now.Add(1)))
			<-time.After(time.Second)
			now.Add(-1)
			return nil
		})
		for i := range 8 {
			p.q.Add(fmt.Sprint(i))
		}
		advance(time.Millisecond)
		for i := range 8 {
			p.q.Add(fmt.Sprint(i))
		}
		advance(3 * time.Second)
		assert.EqualValues(t, 4, most.Load())
		assert.Len(t, p.actions(), 12, "the four running ones came again, the four queued ones once")
		p.stop()
	})
}

func TestStopCancelsRunningItemsAndDropsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		addAll(p.q, []string{"running", "queued 1", "queued 2"})
		p.q.AddAfter("delayed", time.Hour)
		synctest.Wait()
		p.q.Add("running") // again
		p.stop()
		assert.NoError(t, p.err)
		assert.Equal(t, []workqueue.Action{workqueue.Interrupted}, p.actions())
		p.assertLost(t, 5, 0) // both requests for the running one
	})
}

// assertLost checks how many requests were dropped by the stop, and that nothing but running
// items is left.
func (p *processing) assertLost(t *testing.T, lost uint64, running int) {
	t.Helper()
	s := p.q.Stats()
	assert.Equal(t, lost, s.ShutdownLosses)
	assert.Equal(t, running, s.Running)
	assert.Zero(t, s.Queued+s.Again+s.Delayed+s.Parked, "%+v", s)
}

func TestStopTimeoutLeavesRunningItemsInPeaceUntilThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := startResult(t, options{Workers: 2, StopTimeout: time.Minute}, func(ctx context.Context, item string) (workqueue.Result, error) {
			if item == "polite" {
				<-time.After(30 * time.Second)
				return workqueue.Result{}, ctx.Err()
			}
			<-release
			return workqueue.Result{RequeueAfter: time.Second}, nil
		})
		addAll(p.q, []string{"polite", "stuck", "queued"})
		synctest.Wait()
		began := time.Now()
		p.stop()
		assert.Equal(t, time.Minute, time.Since(began))
		assert.ErrorIs(t, p.err, workqueue.ErrStopTimeout)
		p.assertLost(t, 1, 1)
		assert.Equal(t, []workqueue.Action{workqueue.Succeeded}, p.actions(), "the polite one was disturbed")
		close(release)
		synctest.Wait()
		assert.Zero(t, p.q.Stats().Running)
	})
}

func TestDrainFinishesWhatIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{Drain: true}, func(ctx context.Context, item string) error {
			<-time.After(time.Second)
			if item == "bad" {
				return assert.AnError
			}
			return ctx.Err()
		})
		addAll(p.q, []string{"a", "bad", "c"})
		p.q.AddAfter("delayed", time.Hour)
		synctest.Wait()
		p.stop()
		assert.NoError(t, p.err)
		p.assertLost(t, 2, 0) // bad and delayed
		assert.Equal(t, []workqueue.Action{workqueue.Succeeded, workqueue.Interrupted, workqueue.Succeeded}, p.actions())
	})
}

func TestDrainEndsAtTheStopTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{Drain: true, StopTimeout: 90 * time.Second}, func(context.Context, string) error {
			<-time.After(time.Minute)
			return nil
		})
		addAll(p.q, []string{"a", "b", "c"})
		synctest.Wait()
		p.stop()
		assert.ErrorIs(t, p.err, workqueue.ErrStopTimeout)
		p.assertLost(t, 1, 1)
		advance(time.Minute)
		assert.Len(t, p.actions(), 2, "a worker went on taking items after the stop")
	})
}

func TestProcessEndsWhenTheQueueIsShutDownByOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startResult(t, options{}, func(_ context.Context, item string) (workqueue.Result, error) {
			<-time.After(time.Second)
			if item == "bad" {
				return workqueue.Result{}, assert.AnError
			}
			return workqueue.Result{RequeueAfter: time.Second}, nil
		})
		addAll(p.q, []string{"a", "bad"})
		assert.NoError(t, p.q.ShutDownWithDrain(t.Context()))
		<-p.returned
		assert.NoError(t, p.err)
		p.assertLost(t, 2, 0)
	})
}

func TestGoexitEndsItsWorkerButLosesNoState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
		q.Add("a")
		err := workqueue.Process(t.Context(), q, 1, func(context.Context, string) error {
			runtime.Goexit()
			return nil
		})
		assert.NoError(t, err)
		assert.Zero(t, q.Stats().Running)
	})
}

func TestWrongArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
	fn := func(context.Context, string) error { return nil }
	for name, err := range map[string]error{
		"no workers": workqueue.Process(t.Context(), q, 0, fn),
		"nil fn":     workqueue.Process(t.Context(), q, 1, nil),
		"nil queue":  workqueue.Process(t.Context(), nil, 1, fn),
		"negative":   workqueue.ProcessWith(t.Context(), q, options{ItemTimeout: -1}, resultless(fn)),
	} {
		assert.ErrorContains(t, err, "workqueue: ", name)
	}
	assert.False(t, q.ShuttingDown())
}

// A second call is an error, and leaves the queue to the first.
func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fn := func(context.Context, string) error { return nil }
		p := start(t, options{}, fn)
		assert.ErrorContains(t, workqueue.Process(t.Context(), p.q, 1, fn), "ProcessOptions.Workers")
		assert.False(t, p.q.ShuttingDown())
		p.q.Add("a")
		synctest.Wait()
		assert.Len(t, p.actions(), 1)
		p.stop()
		assert.NoError(t, workqueue.Process(t.Context(), p.q, 1, fn), "the queue is shut down")
	})
}

func TestProcessWithADoneContextDropsEverything(t *testing.T) {
	t.Parallel()
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
	addAll(q, []string{"a", "b"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := workqueue.ProcessWith(ctx, q, options{}, func(context.Context, string) (workqueue.Result, error) {
		return workqueue.Result{}, errors.New("must not be called")
	})
	assert.NoError(t, err)
	assert.EqualValues(t, 2, q.Stats().ShutdownLosses)
	assert.Zero(t, q.Len())
}

type contextKey struct{}

func TestItemContextCarriesValues(t *testing.T) {
	t.Parallel()
	q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
	q.Add("a")
	q.ShutDown()
	ctx := context.WithValue(t.Context(), contextKey{}, "value")
	assert.NoError(t, workqueue.Process(ctx, q, 1, func(ctx context.Context, _ string) error {
		assert.Equal(t, "value", ctx.Value(contextKey{}))
		return nil
	}))
}

// Every clean stop interrupts what is running, which is
// expected. A failure of an item that was not interrupted is always worth a warning.
func TestInterruptionByTheStopIsNoWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			drain bool
			level string
		}{{false, "level=DEBUG"}, {true, `level=INFO msg="processing an item failed during the stop, which ends its retries"`}} {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			p := start(t, options{Drain: tc.drain, Logger: logger}, func(ctx context.Context, _ string) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Minute):
					return assert.AnError
				}
			})
			p.q.Add("a")
			synctest.Wait()
			p.stop()
			assert.Equal(t, []workqueue.Action{workqueue.Interrupted}, p.actions())
			assert.Contains(t, log.String(), tc.level)
			assert.Contains(t, log.String(), "item=a")
		}
	})
}

// Of the end of the last item and the end of the timeout at the same moment, the
// first counts: nothing is running.
func TestItemThatEndsWithTheStopTimeoutHasEnded(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p := start(t, options{StopTimeout: time.Minute}, func(context.Context, string) error {
				<-time.After(time.Minute)
				return nil
			})
			p.q.Add("a")
			synctest.Wait()
			p.stop()
			if p.err == nil {
				assert.Zero(t, p.q.Stats().Running)
			} else { // it was, when the timeout ended
				assert.ErrorIs(t, p.err, workqueue.ErrStopTimeout)
			}
		})
	}
}

// A function that means to ask for something returns it; a panic is never a
// success, whatever it was called with.
func TestPanicWithAnOutcomeIsStillAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{CapturePanics: true, MaxAttempts: 2}, func(context.Context, string) error {
			panic(workqueue.Terminal(assert.AnError))
		})
		p.q.Add("a")
		advance(time.Minute)
		p.stop()
		assert.Equal(t, []workqueue.Action{workqueue.Retried, workqueue.Dropped}, p.actions())
	})
}

func TestActionsAreNamedInJSON(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal([]workqueue.Action{workqueue.Succeeded, workqueue.Interrupted})
	require.NoError(t, err)
	assert.JSONEq(t, `["succeeded", "interrupted"]`, string(encoded))
}
