package exampleapp

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Story prints who did what and when, one line each. It is safe for concurrent
// use.
type Story struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

// NewStory returns a story on w whose clock starts now.
func NewStory(w io.Writer) *Story {
	return &Story{w: w, start: time.Now()}
}

// Say prints a line. What the user does stands out from what follows from it.
func (s *Story) Say(who, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who == "you" {
		_, _ = fmt.Fprintln(s.w)
	}
	_, _ = fmt.Fprintf(s.w, "%7.3fs  %-10s  %s\n", time.Since(s.start).Seconds(), who, fmt.Sprintf(format, args...))
}
