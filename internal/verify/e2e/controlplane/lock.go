package controlplane

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// fileLock is an exclusive lock between processes. The kernel frees it when its
// holder dies, however that happens.
type fileLock struct{ file *os.File }

// lockFile takes the lock of the file at path, which it creates, and waits for it
// until ctx ends. It calls waiting once if it does not get the lock at once.
func lockFile(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	const poll = 100 * time.Millisecond // flock cannot be cancelled, so it is asked again and again
	for waited := false; ; {
		lock, err := tryLockFile(path)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return lock, err
		}
		if !waited {
			waited = true
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// tryLockFile is lockFile without waiting: it fails with EWOULDBLOCK if another
// process, or another call in this one, holds the lock.
func tryLockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return &fileLock{f}, nil
}

// release frees the lock. The file stays: removing it would let two processes hold
// locks of two files of one name.
func (l *fileLock) release() { l.file.Close() }
