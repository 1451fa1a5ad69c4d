package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

var errTrouble = errors.New("trouble")

// numbered is an object whose decoder does what its test says.
type numbered struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (o *numbered) DeepCopyObject() runtime.Object { c := *o; return &c }

// numberedItem is the item of number i, padded to some size.
func numberedItem(i, padding int) item {
	return item{typ: watch.Added, raw: fmt.Appendf(nil, `{"metadata":{"name":"%d","uid":"u","resourceVersion":"%d"}%s}`, i, i, strings.Repeat(" ", padding))}
}

// numbers adds the objects of 0 to n-1, some of them long.
func numbers(p *pipeline[*numbered], n int, more func(i int) error) error {
	for i := range n {
		if _, err := p.add(numberedItem(i, rand.IntN(2000))); err != nil {
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

// numberPipeline decodes objects, of which it asks before that, if before is not nil. It is called on
// several goroutines.
func numberPipeline(t *testing.T, before func(position int)) *pipeline[*numbered] {
	t.Helper()
	c, err := newCodec[*numbered]("v1", Options{})
	require.NoError(t, err)
	d := &decoder[*numbered]{codec: c}
	if before != nil {
		d.known = func(key types.NamespacedName, _, _ []byte) any {
			var n int
			_, err := fmt.Sscan(key.Name, &n)
			require.NoError(t, err)
			before(n)
			return nil
		}
	}
	return newPipeline(d, 0)
}

// inBubble runs f in a bubble, which finds goroutines that never end.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

func TestResultsComeInTheOrderOfTheItems(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 20_000
		p := numberPipeline(t, func(int) { time.Sleep(time.Duration(rand.IntN(1000))) })
		next := 0
		err := p.each(t.Context(), func() error {
			for i := range n {
				it := numberedItem(i, rand.IntN(2000))
				if i%1000 == 7 {
					it.raw = []byte(`{"metadata":{"name":7}}`)
				}
				if _, err := p.add(it); err != nil {
					return err
				}
			}
			return nil
		}, func() {}, func(ev Event[*numbered]) error {
			if next%1000 == 7 {
				var oe *ObjectError
				require.ErrorAs(t, ev.Err, &oe)
				require.Equal(t, next, oe.Position)
			} else {
				require.NoError(t, ev.Err)
				require.Equal(t, fmt.Sprint(next), ev.Object.Name)
			}
			next++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, n, next)
	})
}

// The reader flushes before it waits for the network.
func TestAnItemThatComesAloneIsTakenAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p, start, n := numberPipeline(t, nil), time.Now(), 0
		err := p.each(t.Context(), func() error {
			return numbers(p, 300, func(int) error {
				err := p.flush()
				time.Sleep(time.Second)
				return err
			})
		}, func() {}, func(ev Event[*numbered]) error {
			require.NoError(t, ev.Err)
			require.Equal(t, time.Duration(n)*time.Second, time.Since(start))
			n++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 300, n)
	})
}

func TestAnEventWithoutAnObjectKeepsItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p, next := numberPipeline(t, nil), 0
		err := p.each(t.Context(), func() error {
			for i := range 1000 {
				it := numberedItem(i, 0)
				if i%5 == 4 {
					it.typ = watch.Bookmark
				}
				ev, err := p.add(it)
				if err != nil {
					return err
				}
				require.Equal(t, i%5 == 4, ev.Type == watch.Bookmark, "decoded when it is added")
				it.raw[2] = 'x' // the bytes were copied
			}
			return nil
		}, func() {}, func(ev Event[*numbered]) error {
			require.NoError(t, ev.Err)
			require.Equal(t, fmt.Sprint(next), ev.ResourceVersion)
			require.Equal(t, next%5 == 4, ev.Type == watch.Bookmark)
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
				p, added := numberPipeline(t, nil), 0
				p.start(func() error {
					for ; ; added++ {
						if _, err := p.add(numberedItem(added, size)); err != nil {
							return err
						}
					}
				})
				check := func(taken int) {
					synctest.Wait()
					// The queue, the one that is handed over, and what waits to be queued.
					limit := cap(p.queue)
					require.LessOrEqual(t, added-taken, min((limit+2)*chunkItems, (limit+2)*(chunkBytes/size+1)))
					require.Positive(t, added-taken)
				}
				for taken := range 5000 / (1 + size>>10) {
					check(taken)
					_, err := p.take()
					require.NoError(t, err)
				}
				p.stop()
				p.alive.Wait()
				_, err := p.take()
				require.ErrorIs(t, err, errStopped)
			})
		})
	}
}

func TestTroubleAheadComesInItsTurn(t *testing.T) {
	// Whatever goes wrong behind item 2,500, those before it are handed over.
	for name, more := range map[string]func(p *pipeline[*numbered]) error{
		"decoding": func(p *pipeline[*numbered]) error {
			_, err := p.add(item{typ: watch.Error, raw: []byte(`{"message":"trouble"}`)})
			return err
		},
		"reading": func(*pipeline[*numbered]) error { return errTrouble },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p, n, unblocked := numberPipeline(t, nil), 0, 0
				err := p.each(t.Context(), func() error {
					return numbers(p, 10_000, func(i int) error {
						if i == 2499 {
							return more(p)
						}
						return nil
					})
				}, func() { unblocked++ }, func(Event[*numbered]) error { n++; return nil })
				require.ErrorContains(t, err, "trouble")
				require.Equal(t, 2500, n)
				require.Equal(t, 1, unblocked)
			})
		})
	}
}

func TestNothingRunsOnWhenNobodyTakesAnyMore(t *testing.T) {
	// The reader is stuck until it is unblocked, and the decoders are slow.
	stuck := func(t *testing.T, ctx context.Context, fn func(Event[*numbered]) error) error {
		p := numberPipeline(t, func(int) { time.Sleep(10 * time.Millisecond) })
		closed := make(chan struct{})
		begin := time.Time{}
		defer func() { require.Less(t, time.Since(begin), 100*time.Millisecond) }()
		return p.each(ctx, func() error {
			err := numbers(p, 300, nil)
			if err == nil {
				err = p.flush()
			}
			<-closed
			return err
		}, func() { begin = time.Now(); close(closed) }, fn)
	}
	t.Run("cancelled", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errTrouble)
			defer cancel()
			start := time.Now()
			require.ErrorIs(t, stuck(t, ctx, func(Event[*numbered]) error { return nil }), errTrouble)
			require.Less(t, time.Since(start), 1100*time.Millisecond)
		})
	})
	t.Run("cancelled while the reader is stuck", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errTrouble)
			defer cancel()
			n := 0
			require.ErrorIs(t, stuck(t, ctx, func(Event[*numbered]) error { n++; return nil }), errTrouble)
			require.Equal(t, 300, n)
		})
	})
	t.Run("refused", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			require.ErrorIs(t, stuck(t, t.Context(), func(ev Event[*numbered]) error {
				if ev.ResourceVersion == "3" {
					return errTrouble
				}
				return nil
			}), errTrouble)
		})
	})
	t.Run("panic", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			require.PanicsWithValue(t, "oh", func() {
				_ = stuck(t, t.Context(), func(Event[*numbered]) error { panic("oh") })
			})
		})
	})
}

func TestChunksAreUsedAgainAndForgetTheirObjects(t *testing.T) {
	t.Parallel()
	var made sync.Map
	p, n := numberPipeline(t, nil), 0
	err := p.each(t.Context(), func() error { return numbers(p, 100*chunkItems, nil) }, func() {}, func(Event[*numbered]) error {
		made.Store(p.out, nil)
		n++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 100*chunkItems, n)
	chunks := 0
	made.Range(func(any, any) bool { chunks++; return true })
	require.Less(t, chunks, 90, "a sync.Pool forgets some, and more of them with the race detector")
	for c, ok := p.spare.Get().(*chunk[*numbered]); ok; c, ok = p.spare.Get().(*chunk[*numbered]) {
		for _, e := range c.entries[:cap(c.entries)] {
			require.Nil(t, e.ev.Object)
		}
	}
}

func TestDecodingEndsBetweenTwoItemsWhenTheContextDoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var p *pipeline[*numbered]
	decoded := 0
	p = numberPipeline(t, func(position int) {
		decoded++
		if position == 3 {
			cancel()
			<-p.done // by another goroutine
		}
	})
	err := p.each(ctx, func() error { return numbers(p, chunkItems/4, nil) }, func() {}, func(Event[*numbered]) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 4, decoded)
}
