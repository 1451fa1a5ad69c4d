package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// writeText writes r as plain lines that can be piped and compared: what is wrong first,
// then a block for each informer and queue.
func writeText(w io.Writer, r *report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.verdict().Sentence, r.Time.Format(time.RFC3339))
	for i := range r.Problems {
		p := &r.Problems[i]
		// Eight columns hold the longest severity, WARNING, and the lines below are
		// indented by one more.
		fmt.Fprintf(&b, "\n%-8s %s\n", strings.ToUpper(string(p.Severity)), p.Sentence)
		// What a server said, on a line of its own: it can be long.
		if p.Detail != "" {
			fmt.Fprintf(&b, "         %s\n", p.Detail)
		}
		fmt.Fprintf(&b, "         → %s\n", p.Remedy)
	}
	for _, c := range r.cards() {
		c.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes a card. The names of facts form a column, as wide as the longest of this
// card.
func (c *card) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s %s: %s\n", c.Kind, c.Name, c.State)
	width := 0
	for _, f := range c.Facts {
		width = max(width, len(f.Name))
	}
	for _, f := range c.Facts {
		fmt.Fprintf(b, "  %-*s  %s\n", width, strings.ToLower(f.Name), f.Value)
	}
	if c.Spark != nil {
		fmt.Fprintf(b, "  %-*s  %s\n", width, "throughput", c.Spark.Text)
	}
	for _, l := range c.Lists {
		l.text(b)
	}
}

// text writes a list, its names in a column. More counts as content: a list may show no
// row and still leave some out.
func (l *list) text(b *strings.Builder) {
	if len(l.Rows)+l.More == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %s:\n", strings.ToLower(l.Name))
	width := 0
	for _, r := range l.Rows {
		// Long names, such as a key with a namespace, do not push the column beyond 40;
		// their text follows directly. Characters are counted, not bytes, as in Printf.
		width = min(40, max(width, utf8.RuneCountInString(r.Name)))
	}
	for _, r := range l.Rows {
		fmt.Fprintf(b, "    %-*s  %s\n", width, r.Name, r.Text)
		var facts []string
		for _, f := range r.Facts {
			facts = append(facts, strings.ToLower(f.Name)+": "+f.Value)
		}
		// A line each, below the text, because they are long.
		for _, more := range []string{strings.Join(facts, "; "), r.Detail} {
			if more != "" {
				fmt.Fprintf(b, "    %-*s  %s\n", width, "", more)
			}
		}
	}
	if l.More > 0 {
		fmt.Fprintf(b, "    and %s more\n", grouped(l.More))
	}
}
