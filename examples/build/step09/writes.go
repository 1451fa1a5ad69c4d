package build

import (
	"strconv"
	"sync"
)

// Writes remembers, for each key, the version of the last write that was made for it. The
// zero value is ready to use.
type Writes struct {
	mu       sync.Mutex
	versions map[Key]string
}

// Made records a write. version is that of the object in the answer.
func (w *Writes) Made(key Key, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versions == nil {
		w.versions = map[Key]string{}
	}
	w.versions[key] = version
}

// Missing reports whether a state lacks a write that was made for the key.
func (w *Writes) Missing(key Key, state *Snapshot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, made := w.versions[key]
	if !made {
		return false
	}
	if older(state.Version, version) {
		return true
	}
	delete(w.versions, key)
	return false
}

// older compares two versions of objects of one kind. One that is not a number is not
// older: to wait for it might have no end.
func older(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && x < y
}
