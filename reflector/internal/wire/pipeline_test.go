package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errTrouble = errors.New("trouble")

// numbers adds the decimal forms of 0 to n-1, some of them long.
func numbers(a *pipeline[int], n int, more func(i int) error) error {
	for i := range n {
		raw := strconv.AppendInt(nil, int64(i), 10)
		raw = append(raw, bytes.Repeat([]byte(" "), rand.IntN(2000))...)
		if err := a.add(raw); err != nil {
			return err
		}
		if more != nil {
			if err := more(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// number decodes one, and finds out if the position is another.
func number(raw []byte, position int) (int, error) {
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err == nil && n != position {
		err = fmt.Errorf("%d is at position %d", n, position)
	}
	return n, err
}

// inBubble runs f in a bubble, which finds goroutines that never end.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

func TestResultsComeInTheOrderOfTheItems(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 20_000
		a := newPipeline(func(raw []byte, position int) (int, error) {
			time.Sleep(time.Duration(rand.IntN(1000)))
			if position%1000 == 7 {
				return 0, &ObjectError{Position: position, Err: errTrouble}
			}
			return number(raw, position)
		})
		next := 0
		err := a.each(t.Context(), func() error { return numbers(a, n, nil) }, func() {}, func(i int, err error) error {
			if next%1000 == 7 {
				var oe *ObjectError
				require.ErrorAs(t, err, &oe)
				require.Equal(t, next, oe.Position)
			} else {
				require.NoError(t, err)
				require.Equal(t, next, i)
			}
			next++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, n, next)
	})
}

func TestAnItemThatComesAloneIsTakenAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, start := newPipeline(number), time.Now()
		err := a.each(t.Context(), func() error {
			return numbers(a, 300, func(int) error { time.Sleep(time.Second); return nil })
		}, func() {}, func(i int, err error) error {
			require.NoError(t, err)
			require.Equal(t, time.Duration(i)*time.Second, time.Since(start))
			return nil
		})
		require.NoError(t, err)
	})
}

func TestAResultThatNeedsNoDecodingKeepsItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a, next := newPipeline(number), 0
		err := a.each(t.Context(), func() error {
			for i := range 1000 {
				var err error
				if i%5 == 4 {
					err = a.put(i, nil)
				} else {
					err = a.add(strconv.AppendInt(nil, int64(i), 10))
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, func() {}, func(i int, err error) error {
			require.NoError(t, err)
			require.Equal(t, next, i)
			next++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1000, next)
	})
}

func TestASlowTakerBoundsWhatIsReadAhead(t *testing.T) {
	for name, size := range map[string]int{"many": 5, "large": 10 << 10, "huge": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				added := 0
				a := newPipeline(func([]byte, int) (int, error) { return 0, nil })
				a.start(func() error {
					for ; ; added++ {
						if err := a.add(make([]byte, size)); err != nil {
							return err
						}
					}
				})
				check := func(taken int) {
					synctest.Wait()
					// The queue, what is being filled, and what waits to be added.
					most := min((a.limit+2)*chunkItems, (a.limit+1)*(chunkBytes/size+1)+1)
					require.LessOrEqual(t, added-taken, most)
					require.Positive(t, added-taken)
				}
				for taken := range 5000 / (1 + size>>10) {
					check(taken)
					_, err := a.take()
					require.NoError(t, err)
				}
				a.stop()
				a.alive.Wait()
				_, err := a.take()
				require.ErrorIs(t, err, errStopped)
			})
		})
	}
}

func TestTheFirstGoodItemIsDecodedBeforeAnyOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var first atomic.Bool
		a := newPipeline(func(_ []byte, position int) (int, error) {
			switch {
			case position < 3:
				return 0, &ObjectError{Position: position, Err: errTrouble}
			case position == 3:
				time.Sleep(time.Second)
				first.Store(true)
			default:
				require.True(t, first.Load())
			}
			return position, nil
		})
		n := 0
		err := a.each(t.Context(), func() error { return numbers(a, 1000, nil) }, func() {}, func(int, error) error { n++; return nil })
		require.NoError(t, err)
		require.Equal(t, 1000, n)
	})
}

func TestTroubleAheadComesInItsTurn(t *testing.T) {
	// Whatever goes wrong behind item 2,500, those before it are handed over.
	for name, c := range map[string]struct {
		decode func([]byte, int) (int, error)
		read   func(i int) error
	}{
		"decoding": {decode: func(raw []byte, position int) (int, error) {
			if position == 2500 {
				return 0, errTrouble
			}
			return number(raw, position)
		}},
		"reading": {decode: number, read: func(i int) error {
			if i == 2499 {
				return errTrouble
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a, n, unblocked := newPipeline(c.decode), 0, 0
				err := a.each(t.Context(), func() error { return numbers(a, 10_000, c.read) }, func() { unblocked++ },
					func(int, error) error { n++; return nil })
				require.ErrorIs(t, err, errTrouble)
				require.Equal(t, 2500, n)
				require.Equal(t, 1, unblocked)
			})
		})
	}
}

func TestNothingRunsOnWhenNobodyTakesAnyMore(t *testing.T) {
	// The reader is stuck until it is unblocked, and the decoders are slow.
	stuck := func(t *testing.T, ctx context.Context, fn func(int, error) error) error {
		a := newPipeline(func(raw []byte, position int) (int, error) {
			time.Sleep(10 * time.Millisecond)
			return number(raw, position)
		})
		closed := make(chan struct{})
		begin := time.Time{}
		defer func() { require.Less(t, time.Since(begin), 100*time.Millisecond) }()
		return a.each(ctx, func() error {
			err := numbers(a, 300, nil)
			<-closed
			return err
		}, func() { begin = time.Now(); close(closed) }, fn)
	}
	t.Run("cancelled", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errTrouble)
			defer cancel()
			start := time.Now()
			require.ErrorIs(t, stuck(t, ctx, func(int, error) error { return nil }), errTrouble)
			require.Less(t, time.Since(start), 1100*time.Millisecond)
		})
	})
	t.Run("cancelled while the reader is stuck", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errTrouble)
			defer cancel()
			n := 0
			require.ErrorIs(t, stuck(t, ctx, func(int, error) error { n++; return nil }), errTrouble)
			require.Equal(t, 300, n)
		})
	})
	t.Run("refused", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			require.ErrorIs(t, stuck(t, t.Context(), func(i int, _ error) error {
				if i == 3 {
					return errTrouble
				}
				return nil
			}), errTrouble)
		})
	})
	t.Run("panic", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			require.PanicsWithValue(t, "oh", func() {
				_ = stuck(t, t.Context(), func(int, error) error { panic("oh") })
			})
		})
	})
}

func TestParcelsAreUsedAgainAndForgetTheirResults(t *testing.T) {
	t.Parallel()
	var made sync.Map
	a := newPipeline(func(_ []byte, position int) (*int, error) { return &position, nil })
	n := 0
	err := a.each(t.Context(), func() error {
		for range 100 * chunkItems {
			if err := a.add([]byte("x")); err != nil {
				return err
			}
		}
		return nil
	}, func() {}, func(*int, error) error {
		made.Store(a.out, nil)
		n++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 100*chunkItems, n)
	chunks := 0
	made.Range(func(any, any) bool { chunks++; return true })
	require.LessOrEqual(t, chunks, a.limit+4)
	for _, p := range a.spare {
		for _, r := range p.results[:cap(p.results)] {
			require.Nil(t, r.value)
		}
	}
}

func TestDecodingEndsBetweenTwoItemsWhenTheContextDoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var a *pipeline[int]
	decoded := 0
	a = newPipeline(func(_ []byte, position int) (int, error) {
		decoded++
		if position == 3 {
			cancel()
			for !a.stopped.Load() { // by another goroutine
				runtime.Gosched()
			}
		}
		return position, nil
	})
	read := make(chan struct{})
	err := a.each(ctx, func() error {
		defer close(read)
		for i := range chunkItems - 1 { // of which one chunk is not full
			if err := a.add([]byte{byte(i)}); err != nil {
				return err
			}
		}
		return nil
	}, func() {}, func(i int, _ error) error {
		if i == 0 {
			<-read // so that the rest is decoded in one go
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 4, decoded)
}
