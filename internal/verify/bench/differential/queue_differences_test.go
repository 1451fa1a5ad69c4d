package differential

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	theirs "k8s.io/client-go/util/workqueue"

	ours "github.com/informerkit/informerkit/workqueue"
)

// Q1 and Q2 are met with by the histories.

func TestQ3DoneOfAQueuedItem(t *testing.T) {
	t.Parallel()
	a := ours.New[string](ours.Options[string]{})
	b := theirs.NewTyped[string]()
	defer b.ShutDown()
	a.Add("x")
	b.Add("x")
	a.Done("x")
	b.Done("x")
	assert.Equal(t, 1, a.Len())
	assert.Equal(t, 2, b.Len(), "client-go hands the item to two workers at once")
}

func TestQ4DrainWaitsForQueuedItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ours.New[string](ours.Options[string]{})
		b := theirs.NewTyped[string]()
		a.Add("x")
		b.Add("x")
		ourEnd, theirEnd := make(chan error, 1), make(chan struct{})
		go func() { ourEnd <- a.ShutDownWithDrain(t.Context()) }()
		go func() { b.ShutDownWithDrain(); close(theirEnd) }()
		synctest.Wait()
		<-theirEnd // with the item still in the queue
		assert.Equal(t, 1, b.Len())
		assert.Empty(t, ourEnd)
		item, ok := a.Get(t.Context())
		require.True(t, ok)
		a.Done(item)
		require.NoError(t, <-ourEnd)
	})
}

func TestQ5RetryAfterShutdownIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ours.NewRateLimiting[string](nil, ours.Options[string]{})
		b := theirs.NewTypedRateLimitingQueue(theirs.DefaultTypedControllerRateLimiter[string]())
		a.ShutDown()
		b.ShutDown()
		a.AddRateLimited("x")
		b.AddRateLimited("x")
		assert.Equal(t, 0, a.NumRequeues("x"))
		assert.Equal(t, 1, b.NumRequeues("x"))
		time.Sleep(time.Minute)
	})
}

func TestQ6ForgottenByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ours.Exponential[string](ours.ExponentialOptions{Base: time.Second, Max: time.Minute})
		b := theirs.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		for range 3 {
			assert.Equal(t, b.When("x"), a.When("x"))
		}
		time.Sleep(time.Hour)
		assert.Equal(t, time.Second, a.When("x"))
		assert.Equal(t, 8*time.Second, b.When("x"))
	})
}

func TestQ7RetryThatCollapsesTakesNoToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ours.NewRateLimiting(ours.Bucket[string](rate.NewLimiter(1, 1)), ours.Options[string]{})
		b := theirs.NewTypedRateLimitingQueue[string](&theirs.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(1, 1)})
		defer a.ShutDown()
		defer b.ShutDown()
		for range 7200 { // of one item: client-go takes the tokens of two hours
			a.AddRateLimited("x")
			b.AddRateLimited("x")
		}
		began := time.Now()
		a.AddRateLimited("y")
		for item := ""; item != "y"; {
			item, _ = a.Get(t.Context())
		}
		assert.Equal(t, time.Second, time.Since(began))
		b.AddRateLimited("y")
		for item := ""; item != "y"; {
			item, _ = b.Get()
		}
		assert.Equal(t, 2*time.Hour, time.Since(began))
	})
}

// What is the same is worth a test as well: a delay of zero is an Add, and a queue
// that is shut down hands out what it holds.
func TestZeroDelayAndLeftoversAreTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ours.NewDelaying[string](ours.Options[string]{})
		b := theirs.NewTypedDelayingQueue[string]()
		a.AddAfter("x", 0)
		b.AddAfter("x", 0)
		a.ShutDown()
		b.ShutDown()
		x, ok := a.Get(context.Background())
		y, down := b.Get()
		assert.True(t, ok)
		assert.False(t, down)
		assert.Equal(t, x, y)
		time.Sleep(time.Minute)
	})
}
