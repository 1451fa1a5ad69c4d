package shards

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Text returns all tables, for a terminal.
func (r *Result) Text() string {
	var out strings.Builder
	fmt.Fprintln(&out, r.how())
	for _, t := range r.tables() {
		fmt.Fprintf(&out, "\n%s\n\n", t.title)
		t.WriteText(&out)
	}
	return out.String()
}

// Update returns a page with the tables of the result. Each has its place, between two
// comments:
//
//	<!-- sharding: moves -->
//	…
//	<!-- /sharding -->
//
// The place "how" has the machine. It is an error if a place is missing, or is unknown.
func (r *Result) Update(page string) (string, error) {
	const begin, end, last = "<!-- sharding: ", " -->\n", "<!-- /sharding -->\n"
	texts := map[string]string{"how": r.how() + "\n"}
	for _, t := range r.tables() {
		var text strings.Builder
		t.WriteMarkdown(&text)
		texts[t.name] = text.String()
	}
	var out strings.Builder
	for rest := page; ; {
		before, after, found := strings.Cut(rest, begin)
		out.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, end)
		text, known := texts[name]
		_, after, closed := strings.Cut(after, last)
		if !known || !closed {
			return "", fmt.Errorf("updating the page: the place %q is unknown, is there twice, or has no end", name)
		}
		delete(texts, name)
		out.WriteString(begin + name + end + "\n" + text + "\n" + last)
		rest = after
	}
	for name := range texts {
		return "", fmt.Errorf("updating the page: it has no place %q", name)
	}
	return out.String(), nil
}

// Write writes a result to a file, and its tables into a page.
func Write(r Result, file, page string) error {
	var text bytes.Buffer
	if err := measure.WriteJSON(&text, r); err != nil {
		return err
	}
	is, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	updated, err := r.Update(string(is))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(updated), 0o644)
}
