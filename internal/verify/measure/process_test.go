package measure

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childEnv makes the test binary a process that serves an adder.
const childEnv = "MEASURE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	ended := make(chan struct{})
	if err := Serve(&adder{ended: ended}, os.Stdin, os.Stdout, func() { close(ended) }); err != nil {
		panic(err)
	}
}

type adder struct {
	sum   int
	ended chan struct{}
}

func (a *adder) Add(n int, sum *int) error {
	if n < 0 {
		return errors.New("only more than nothing")
	}
	a.sum += n
	*sum = a.sum
	return nil
}

func (a *adder) Wait(None, *None) error {
	<-a.ended
	return nil
}

func start(t *testing.T) *Process {
	cmd, err := Self()
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	p, err := Start(cmd)
	require.NoError(t, err)
	return p
}

func TestProcessAnswersCalls(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, want := range []int{1, 2} {
		sum, err := Call[int](t.Context(), p, "Add", 1)
		require.NoError(t, err)
		require.Equal(t, want, sum)
	}
	_, err := Call[int](t.Context(), p, "Add", -1)
	require.ErrorContains(t, err, "Add in another process: only more than nothing")
	require.NoError(t, p.End())
	require.NoError(t, (*Process)(nil).End())
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := Call[None](ctx, p, "Wait", None(true))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Error(t, p.End(), "it was killed")
}

// A call that waits does not keep a process whose parent is gone.
func TestProcessEndsWithItsInput(t *testing.T) {
	t.Parallel()
	p := start(t)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_, _ = Call[None](context.Background(), p, "Wait", None(true)) // it may be too late for it
	}()
	_, err := Call[int](t.Context(), p, "Add", 1)
	require.NoError(t, err)
	require.NoError(t, p.End())
	<-waiting
}

func TestProcessThatDiesAnswersWithAnError(t *testing.T) {
	t.Parallel()
	p, err := Start(exec.Command("false"))
	require.NoError(t, err)
	_, err = Call[int](t.Context(), p, "Add", 1)
	require.ErrorContains(t, err, "Add in another process")
	require.Error(t, p.End())
}
