package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// dataDir is the folder of one running control plane. A lock file beside it marks
// it as in use for as long as the process that made it lives.
type dataDir struct {
	path string
	lock *fileLock
}

// newDataDir creates a folder below internal/verify/e2e/.data and removes those whose
// makers have died without doing so.
func newDataDir(ctx context.Context) (*dataDir, error) {
	root, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(root, ".data")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	// One process at a time: a folder that exists but is not locked yet would be
	// taken for an abandoned one.
	guard, err := lockFile(ctx, filepath.Join(parent, ".lock"), func() {})
	if err != nil {
		return nil, fmt.Errorf("waiting for the lock of %s: %w", parent, err)
	}
	defer guard.release()
	removeAbandoned(parent)

	path, err := os.MkdirTemp(parent, "cp-")
	if err != nil {
		return nil, err
	}
	lock, err := tryLockFile(path + ".lock")
	if err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	return &dataDir{path: path, lock: lock}, nil
}

// removeAbandoned deletes the folders in parent that no living process has locked.
// What cannot be removed stays for the next attempt.
func removeAbandoned(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, "cp-*.lock"))
	for _, name := range found {
		lock, err := tryLockFile(name)
		if err != nil {
			continue
		}
		os.RemoveAll(name[:len(name)-len(".lock")])
		os.Remove(name)
		lock.release()
	}
}

// join returns the path of a file in the folder.
func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

// remove deletes the folder and all that is in it.
func (d *dataDir) remove() error {
	err := os.RemoveAll(d.path)
	os.Remove(d.path + ".lock")
	d.lock.release()
	return err
}
