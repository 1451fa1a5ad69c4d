// Package exampletest helps the tests of the examples to watch them run.
package exampletest

import (
	"bytes"
	"strings"
	"sync"
)

// Watcher is a buffer that calls Seen each time something is written to it from
// the moment that it contains Word. It is safe for concurrent use.
type Watcher struct {
	Word string
	Seen func()

	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (w *Watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if strings.Contains(w.buf.String(), w.Word) {
		w.Seen()
	}
	return n, err
}

// String returns all that was written.
func (w *Watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}
