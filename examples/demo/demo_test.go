package demo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestScriptEndsThePartsBesideIt(t *testing.T) {
	assert.NoError(t, demo.Beside(t.Context(), func(context.Context) error { return nil }, untilDone, untilDone))
}

func TestPartThatFailsEndsTheScriptAndIsNamed(t *testing.T) {
	broken := errors.New("broken")
	err := demo.Beside(t.Context(), untilDone, untilDone, func(context.Context) error { return broken })
	assert.ErrorIs(t, err, broken)
}

func TestInterruptedScriptIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, demo.Beside(ctx, untilDone, untilDone), context.Canceled)
}

func TestUntilLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		start := time.Now()
		assert.NoError(t, demo.Until(t.Context(), func() bool { asked++; return asked == 3 }, nil))
		assert.Equal(t, 10*time.Millisecond, time.Since(start))
	})
}

func TestPatienceEndsAndSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := demo.Until(t.Context(), func() bool { return false }, func() string { return "two pods are missing" })
		assert.EqualError(t, err, "not converged after 5m0s: two pods are missing")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = demo.Until(ctx, func() bool { return false }, func() string { return "one is" })
		assert.EqualError(t, err, "context deadline exceeded: one is")
	})
}
