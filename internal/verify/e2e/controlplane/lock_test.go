package controlplane

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockIsHeldByOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLockFile(path)
	require.NoError(t, err)
	_, err = tryLockFile(path)
	require.ErrorIs(t, err, syscall.EWOULDBLOCK)

	waiting := make(chan struct{})
	got := make(chan error)
	go func() {
		lock, err := lockFile(t.Context(), path, func() { close(waiting) })
		if err == nil {
			lock.release()
		}
		got <- err
	}()
	<-waiting
	held.release()
	require.NoError(t, <-got)
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLockFile(path)
	require.NoError(t, err)
	defer held.release()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = lockFile(ctx, path, cancel)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestLockInAMissingFolderFails(t *testing.T) {
	t.Parallel()
	_, err := lockFile(t.Context(), filepath.Join(t.TempDir(), "no", "lock"), func() { t.Error("it is not held") })
	require.Error(t, err)
}
