package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Transcript prints who did what and when, one line each. It is safe for concurrent
// use.
//
// A line about a request is known only when the answer is there. By then others
// may have seen the effect, and have said so. Reserve keeps a place for such a
// line, and the lines that follow it wait: a cause is printed before its effects.
type Transcript struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
	lines []*Line // the first one is still open

	printed []string      // that Wait has not got past, at most keep
	more    chan struct{} // closed when there is another one
}

// keep is how many printed lines Wait can look back upon.
const keep = 1000

// Line is a reserved line of a Transcript.
type Line struct {
	transcript *Transcript
	done       bool
	who, text  string
}

// NewTranscript returns a Transcript that prints to w and whose clock starts now.
func NewTranscript(w io.Writer) *Transcript {
	return &Transcript{w: w, start: time.Now(), more: make(chan struct{})}
}

// Say prints a line. What the user does stands out from what follows from it.
func (s *Transcript) Say(who, format string, args ...any) {
	s.Reserve().Say(who, format, args...)
}

// Reserve reserves a line whose text is known later. Later lines are held back
// until then, so call Say or Drop soon.
func (s *Transcript) Reserve() *Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := &Line{transcript: s}
	s.lines = append(s.lines, line)
	return line
}

// Say fills the place with a line.
func (l *Line) Say(who, format string, args ...any) { l.fill(who, fmt.Sprintf(format, args...)) }

// Drop leaves the place empty.
func (l *Line) Drop() { l.fill("", "") }

func (l *Line) fill(who, text string) {
	s := l.transcript
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.done {
		return
	}
	l.done, l.who, l.text = true, who, text
	for len(s.lines) > 0 && s.lines[0].done {
		s.print(s.lines[0])
		s.lines = s.lines[1:]
	}
}

func (s *Transcript) print(l *Line) {
	if l.text == "" {
		return
	}
	if l.who == "you" {
		_, _ = fmt.Fprintln(s.w)
	}
	_, _ = fmt.Fprintf(s.w, "%7.3fs  %-10s  %s\n", time.Since(s.start).Seconds(), l.who, l.text)
	s.printed = append(s.printed, l.text)
	if len(s.printed) > keep {
		s.printed = s.printed[1:]
	}
	close(s.more)
	s.more = make(chan struct{})
}

// Wait waits until lines with all of the texts have been printed, in any order,
// since the ones that the call before waited for. It fails after half a minute. One
// goroutine at a time may wait.
func (s *Transcript) Wait(ctx context.Context, texts ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not within 30 s"))
	defer cancel()
	for {
		s.mu.Lock()
		last, missing := 0, ""
		for _, text := range texts {
			i := slices.IndexFunc(s.printed, func(line string) bool { return strings.Contains(line, text) })
			if last = max(last, i); i < 0 {
				missing = text
			}
		}
		more := s.more
		if missing == "" {
			s.printed = s.printed[last+1:]
		}
		s.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", missing, context.Cause(ctx))
		}
	}
}
