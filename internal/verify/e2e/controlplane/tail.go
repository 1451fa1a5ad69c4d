package controlplane

import (
	"bytes"
	"os"
	"sync"
)

// tailSize is how many bytes of a program's output an error message quotes.
const tailSize = 4 << 10

// tailBuffer is a writer that keeps the end of what was written. It is safe for
// concurrent use.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

// Write appends p and forgets what exceeds the size. It never fails.
func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String returns what is kept, from the start of a line if possible.
func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(wholeLines(t.data))
}

// tailOfFile returns the last lines of a log file, or why they cannot be had.
func tailOfFile(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(wholeLines(data[max(0, len(data)-tailSize):]))
}

// wholeLines drops the partial first line of a full tail.
func wholeLines(data []byte) []byte {
	if len(data) < tailSize {
		return data
	}
	if _, rest, found := bytes.Cut(data, []byte("\n")); found {
		return rest
	}
	return data
}
