package deltafifo

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise deltafifo/1
// Promise deltafifo/12
func TestConcurrentProducersLoseNothingAndKeepTheirOrder(t *testing.T) {
	for name, newQueue := range implementations {
		for _, limit := range []int{1, 7, unbounded} {
			t.Run(fmt.Sprintf("%s limit=%d", name, limit), func(t *testing.T) {
				t.Parallel()
				producersKeepTheirOrder(t, newQueue, limit)
			})
		}
	}
}

func producersKeepTheirOrder(t *testing.T, newQueue maker, limit int) {
	const producers, objects, versions = 4, 3, 200
	consumer := newStore()
	q := newQueue(limit, consumer)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for v := range versions {
				for o := range objects {
					assert.NoError(t, q.Update(t.Context(), newThing(fmt.Sprintf("p%d/o%d", p, o), strconv.Itoa(v))))
				}
			}
		})
	}
	readers := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-readers:
				return
			default:
			}
			_, _ = q.Len(), q.HasSynced()
			_, _ = q.Known(keyNamed("p0/o0"))
		}
	})
	go func() {
		wg.Wait()
		q.Close()
	}()

	last := map[string]int{}
	got := 0
	for {
		err := q.pop(t.Context(), func(deltas []delta) error {
			for _, d := range deltas {
				version, err := strconv.Atoi(d.Object.ResourceVersion)
				if err != nil {
					return err
				}
				if key := d.Key.String(); last[key] != version {
					return fmt.Errorf("%s: got version %d, want %d", key, version, last[key])
				}
				last[d.Key.String()]++
				got++
			}
			return consumer.apply(deltas)
		})
		if errors.Is(err, ErrClosed) {
			break
		}
		require.NoError(t, err)
	}
	close(readers)
	reading.Wait()
	assert.Equal(t, producers*objects*versions, got)
}

func TestConcurrentListsResyncsAndDeletesConverge(t *testing.T) {
	t.Parallel()
	consumer := newStore()
	q := byObject{New(Options[thing]{KnownObjects: consumer, Limit: 5})}
	ctx := t.Context()
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for range 300 {
				assert.NoError(t, q.Resync(ctx))
				_, _ = q.Known(keyNamed("1"))
			}
		})
	}
	go func() {
		producer := newStore()
		for i := range 300 {
			obj := newThing(strconv.Itoa(i%7), strconv.Itoa(i))
			switch i % 5 {
			case 0, 1, 2:
				producer.set(obj)
				assert.NoError(t, q.Update(ctx, obj))
			case 3:
				_ = producer.apply([]delta{{Type: Deleted, Key: keyNamed(obj.Name)}})
				assert.NoError(t, q.Delete(ctx, obj))
			case 4:
				_ = producer.apply([]delta{{Type: Replaced, Objects: []thing{obj}}})
				assert.NoError(t, q.Replace(ctx, []thing{obj}, obj.ResourceVersion))
			}
		}
		others.Wait()
		q.Close()
	}()
	for {
		err := q.pop(ctx, consumer.apply)
		if errors.Is(err, ErrClosed) {
			break
		}
		require.NoError(t, err)
	}
	// The last list, at 299, held only object 5: nothing came after it.
	assert.Equal(t, map[string]string{"/5": "299"}, consumer.versions())
}
