package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
)

func gateKey(i int) Key {
	return Key{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}}
}

// gateModel is a naive gate: what each operation is to do, with slices only.
type gateModel struct {
	held, open bool
	remembered []Key
	later      []Key
	running    []Key
	added      []Key // what is to be in the queue, in this order but for the ends of delays
}

func (m *gateModel) remember(key Key) {
	if !slices.Contains(m.remembered, key) {
		m.remembered = append(m.remembered, key)
	}
}

func (m *gateModel) forgetLater(key Key) {
	m.later = slices.DeleteFunc(m.later, func(k Key) bool { return k == key })
}

// gateCall is a call of the function that is in progress.
type gateCall struct {
	key    Key
	finish chan func() (workqueue.Result, error)
	ended  chan workqueue.Result
	failed chan any // a panic
}

// gateDrain is a drain that is in progress.
type gateDrain struct {
	cancel context.CancelFunc
	ended  chan error
}

var errDrainCancelled = errors.New("the drain was cancelled")

// Random operations on a gate do what they do to the model: at any moment the keys in
// progress, those remembered and those added to the queue are the same, nothing begins
// while the gate is not open, and a drain ends when nothing is in progress, or its context ends.
func TestGateBehavesLikeItsModel(t *testing.T) {
	t.Parallel()
	happened := map[string]int{}
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			gateAgainstModel(t, rand.New(rand.NewPCG(seed, 0)), happened)
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	for _, what := range []string{
		"dropped", "remembered", "remembered twice", "processed", "panic", "parked", "delayed", "closed during processing",
		"drained at once", "drain waited", "drain cancelled", "opened with keys", "dropped with keys", "dropped with later ones",
	} {
		assert.Positive(t, happened[what], "%q has not happened", what)
	}
}

func gateAgainstModel(t *testing.T, rnd *rand.Rand, happened map[string]int) {
	t.Helper()
	var (
		m      gateModel
		added  []Key
		calls  []*gateCall
		drains []*gateDrain
		met    = map[Key]int{}
	)
	g := &gate{add: func(key Key) { added = append(added, key) }}
	fn := func(call *gateCall) func(context.Context, *Part, Key) (workqueue.Result, error) {
		return func(_ context.Context, _ *Part, key Key) (workqueue.Result, error) {
			calls = append(calls, call)
			return (<-call.finish)()
		}
	}
	// finish ends a call, with one of the outcomes that a function may have.
	finish := func() {
		i := rnd.IntN(len(calls))
		call := calls[i]
		calls = slices.Delete(calls, i, i+1)
		m.running = slices.Delete(m.running, i, i+1)
		outcome := rnd.IntN(5)
		call.finish <- func() (workqueue.Result, error) {
			switch outcome {
			case 1:
				return workqueue.Result{}, errors.New("not now")
			case 2:
				return workqueue.Result{RequeueAfter: time.Hour}, nil
			case 3:
				return workqueue.Result{Until: workqueue.ConditionFunc(func(func()) func() { return nil })}, nil
			case 4:
				panic("in the function")
			}
			return workqueue.Result{}, nil
		}
		synctest.Wait()
		if outcome == 4 {
			require.Equal(t, "in the function", <-call.failed)
			happened["panic"]++
		}
		if outcome == 3 { // the queue parks it
			result := <-call.ended
			result.Until.Register(func() { met[call.key]++ })
			happened["parked"]++
			if !m.held {
				require.Equal(t, 1, met[call.key], "it is met at once, as the part is gone")
				delete(met, call.key)
				return
			}
		}
		if outcome != 0 {
			m.forgetLater(call.key)
			m.later = append(m.later, call.key)
			happened["delayed"]++
		}
	}
	for range 200 {
		key := gateKey(rnd.IntN(8))
		switch k := rnd.IntN(20); {
		case k < 9: // a worker brings a key; the queue does not hand out one twice at once
			if slices.Contains(m.running, key) {
				continue
			}
			call := &gateCall{key, make(chan func() (workqueue.Result, error)), make(chan workqueue.Result, 1), make(chan any, 1)}
			go func() {
				defer func() { call.failed <- recover() }()
				result, _ := g.pass(t.Context(), key, fn(call))
				call.ended <- result
			}()
			m.forgetLater(key)
			switch {
			case !m.held:
				happened["dropped"]++
			case !m.open:
				happened["remembered"]++
				if slices.Contains(m.remembered, key) {
					happened["remembered twice"]++
				}
				m.remember(key)
			default:
				happened["processed"]++
				m.running = append(m.running, key)
			}
		case k < 13:
			if len(m.running) > 0 {
				finish()
			}
		case k < 14:
			if m.held && !m.open {
				g.remember(key)
				m.remember(key)
			}
		case k < 16:
			if !m.held {
				g.hold(&Part{})
				m.held = true
			} else if !m.open {
				if len(m.remembered) > 0 {
					happened["opened with keys"]++
				}
				g.open()
				m.open, m.added, m.remembered = true, append(m.added, m.remembered...), nil
			}
		case k < 18:
			if m.open && len(m.running) > 0 {
				happened["closed during processing"]++
			}
			m.open = false
			d := &gateDrain{ended: make(chan error, 1)}
			var ctx context.Context
			ctx, d.cancel = context.WithTimeoutCause(t.Context(), time.Hour, errDrainCancelled)
			go func() { d.ended <- g.drain(ctx) }()
			drains = append(drains, d)
			if len(m.running) == 0 {
				happened["drained at once"]++
			}
		case k < 19:
			if len(drains) > 0 && len(m.running) > 0 {
				time.Sleep(2 * time.Hour) // the contexts of all drains end
				for _, d := range drains {
					require.ErrorIs(t, <-d.ended, errDrainCancelled)
					d.cancel()
					happened["drain cancelled"]++
				}
				drains = nil
			}
		default:
			dropped := g.drop()
			require.Equal(t, m.remembered, dropped, "what is dropped is returned")
			if len(dropped) > 0 {
				happened["dropped with keys"]++
			}
			tail := slices.Clone(added[len(m.added):])
			require.ElementsMatch(t, m.later, tail, "what would have come later is added now")
			if len(tail) > 0 {
				happened["dropped with later ones"]++
			}
			for key, n := range met {
				assert.True(t, n <= 1, "%v is met %d times", key, n)
			}
			clear(met)
			m = gateModel{running: m.running, added: append(m.added, tail...)}
		}
		synctest.Wait()
		require.Equal(t, m.added, added)
		require.Equal(t, m.remembered, g.order)
		require.Len(t, g.remembered, len(m.remembered))
		require.Len(t, calls, len(m.running))
		require.Equal(t, len(m.running), g.running)
		require.Len(t, g.later, len(m.later))
		require.Equal(t, m.held, g.held() != nil)
		if len(m.running) == 0 {
			for _, d := range drains {
				require.NoError(t, <-d.ended)
				d.cancel()
				happened["drain waited"]++
			}
			drains = nil
		}
		for _, d := range drains {
			require.Empty(t, d.ended, "keys are in progress")
		}
	}
	for len(calls) > 0 {
		finish()
	}
	for _, d := range drains {
		require.NoError(t, <-d.ended)
		d.cancel()
	}
}

// A shutdown of the queue loses no key without a trace: the gate returns those that it
// remembers, and the queue counts what would have come later.
func TestGateReturnsWhatItRemembersAfterAShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewRateLimiting[Key](nil, workqueue.Options[Key]{})
		g := &gate{add: queue.Add}
		g.hold(&Part{})
		var processed []Key
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[Key]{Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, key Key) (workqueue.Result, error) {
				return g.pass(ctx, key, func(_ context.Context, _ *Part, key Key) (workqueue.Result, error) {
					processed = append(processed, key)
					return workqueue.Result{RequeueAfter: time.Hour}, nil
				})
			})
			ended <- err
		}()
		queue.Add(gateKey(1))
		synctest.Wait()
		assert.Empty(t, processed)
		g.open()
		synctest.Wait()
		assert.Equal(t, []Key{gateKey(1)}, processed, "it was added again")
		require.NoError(t, g.drain(t.Context()))
		queue.Add(gateKey(2))
		synctest.Wait()
		stop()
		require.NoError(t, <-ended)
		assert.Equal(t, []Key{gateKey(2)}, g.drop(), "what was remembered")
		assert.EqualValues(t, 1, queue.Stats().ShutdownLosses, "what was delayed")

		// To open a gate after that adds nothing, and neither blocks nor panics.
		g.hold(&Part{})
		g.remember(gateKey(3))
		g.open()
		assert.Zero(t, queue.Len())
		assert.Equal(t, []Key{gateKey(1)}, processed)
	})
}

// A shutdown of the queue neither ends nor blocks a drain: it waits for the calls that are in
// progress, and for nothing that the queue dropped.
func TestDrainOfAGateEndsAfterAShutdown(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]bool{"queue drained": true, "queue dropped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				queue := workqueue.NewRateLimiting[Key](nil, workqueue.Options[Key]{})
				g := &gate{add: queue.Add}
				g.hold(&Part{})
				g.open()
				finish := make(chan struct{})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[Key]{Drain: drain}, func(ctx context.Context, key Key) (workqueue.Result, error) {
						return g.pass(ctx, key, func(context.Context, *Part, Key) (workqueue.Result, error) {
							<-finish
							return workqueue.Result{}, nil
						})
					})
				}()
				queue.Add(gateKey(1))
				queue.Add(gateKey(2))
				synctest.Wait()
				drained := make(chan error, 1)
				go func() { drained <- g.drain(t.Context()) }()
				synctest.Wait()
				stop()
				synctest.Wait()
				assert.Empty(t, drained, "a call is in progress")
				close(finish)
				require.NoError(t, <-drained)
				require.NoError(t, <-ended)
				require.NoError(t, g.drain(t.Context()), "nothing is left to wait for")
				if drain {
					assert.Equal(t, []Key{gateKey(2)}, g.drop())
				} else {
					assert.EqualValues(t, 1, queue.Stats().ShutdownLosses)
				}
			})
		})
	}
}

// What was delayed or parked when its part was given up leaves the queue at once, without
// being processed.
func TestDroppedKeysDoNotStayInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewRateLimiting[Key](nil, workqueue.Options[Key]{})
		g := &gate{add: queue.Add}
		calls := 0
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[Key]{Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, key Key) (workqueue.Result, error) {
				return g.pass(ctx, key, func(context.Context, *Part, Key) (workqueue.Result, error) {
					calls++
					switch key.Name {
					case "1":
						return workqueue.Result{}, errors.New("not now")
					case "2":
						return workqueue.Result{RequeueAfter: time.Hour}, nil
					}
					return workqueue.Result{Until: workqueue.ConditionFunc(func(func()) func() { return nil }), ParkTimeout: time.Hour}, nil
				})
			})
			ended <- err
		}()
		g.hold(&Part{})
		g.open()
		for i := range 3 {
			queue.Add(gateKey(i + 1))
		}
		synctest.Wait()
		require.Equal(t, 3, calls)
		require.Equal(t, 1, queue.Stats().Parked)
		require.Equal(t, 2, queue.Stats().Delayed)
		require.NoError(t, g.drain(t.Context()))
		assert.Empty(t, g.drop())
		synctest.Wait()
		stats := queue.Stats()
		assert.Zero(t, stats.Queued+stats.Delayed+stats.Parked+stats.Running, "%+v", stats)
		assert.Zero(t, queue.NumRequeues(gateKey(1)), "failures are forgotten")
		assert.Equal(t, 3, calls)
		stop()
		require.NoError(t, <-ended)
		assert.Zero(t, queue.Stats().ShutdownLosses)
	})
}
