package inspect

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// cards are the parts of an explanation as people read them, of the page and of the text:
// why not, the history, then what each queue and each informer has.
func (e *explanation) cards() []card {
	var all []card
	if len(e.WhyNot) > 0 {
		reasons := list{Name: "Reasons"}
		for _, r := range e.WhyNot {
			reasons.Rows = append(reasons.Rows, row{Text: r})
		}
		all = append(all, card{ID: "whynot", Kind: "reasons", Name: "Why it may not be processed", State: count(len(e.WhyNot), "reason"), Severity: severityNone, Lists: []list{reasons}})
	}
	if len(e.History.Entries) > 0 {
		all = append(all, e.History.card(e.Time))
	}
	for i := range e.Queues {
		all = append(all, e.Queues[i].card(e.Time))
	}
	for i := range e.Objects {
		all = append(all, e.Objects[i].card(e.Time))
	}
	return all
}

// card describes the history, which is not empty: the newest attempt comes first.
func (h *historyReport) card(now time.Time) card {
	c := card{ID: "history", Kind: "history", Name: "What happened", State: many(len(h.Entries)+h.LeftOut, "entry", "entries"), Severity: severityNone}
	for _, entries := range slices.Backward(h.attempts()) {
		last := &entries[len(entries)-1]
		l := list{Name: "Until " + ago(now, last.Time) + " ago"}
		for i := range entries {
			e := &entries[i]
			bad := e.Error != "" || e.What == history.Refused.String() || e.What == history.Panicked.String()
			l.Rows = append(l.Rows, row{Name: ago(now, e.Time) + " ago", Text: e.Sentence, Bad: bad})
		}
		c.Lists = append(c.Lists, l)
	}
	c.Lists[len(c.Lists)-1].More = h.LeftOut
	return c
}

// attempts divides the entries: each part ends with what came of one processing of the key, the last one
// with the newest entry.
func (h *historyReport) attempts() (all [][]entryReport) {
	begin, done := 0, false
	for i := range h.Entries {
		switch h.Entries[i].What {
		case history.Succeeded.String(), history.Done.String(), history.Failed.String(), history.Dropped.String(), history.Interrupted.String():
			done = true
		case history.Retried.String(), history.Delayed.String(), history.Parked.String(): // part of the outcome
		default:
			if done {
				all = append(all, h.Entries[begin:i])
				begin, done = i, false
			}
		}
	}
	if begin < len(h.Entries) {
		all = append(all, h.Entries[begin:])
	}
	return all
}

// card describes where the key is in a queue.
func (s *itemState) card(now time.Time) card {
	c := card{ID: id("queue", s.Queue), Kind: "queue", Name: title(s.Queue), State: "does not have it", Severity: severityNone}
	if !s.Lookup {
		c.State = "not known"
		c.Facts = facts{{Name: "State", Value: "Its items cannot be looked up by a text.", Wide: true}}
		return c
	}
	var states []string
	add := func(is bool, state string) {
		if is {
			states = append(states, state)
		}
	}
	add(s.Running, "running"+since(now, s.RunningSince))
	add(s.Queued, "queued"+since(now, s.QueuedSince))
	add(s.Again, "queued again when it is done")
	add(!s.DelayedUntil.IsZero(), "delayed for another "+short(s.DelayedUntil.Sub(now)))
	add(s.Until != "" || !s.ParkedUntil.IsZero(), "parked "+parkedText(s.Until, s.ParkedUntil, now))
	if len(states) > 0 {
		c.State = strings.Join(states, ", ")
		c.Facts = append(c.Facts,
			fact{Name: "Priority class", Value: fmt.Sprintf("%d, with %s queued", s.PriorityClass, count(s.ClassQueued, "item"))},
			fact{Name: "Retries in a row", Value: fmt.Sprint(s.Retries)})
		if s.Group != "" {
			c.Facts = append(c.Facts, fact{Name: "Group", Value: printable(s.Group)})
		}
	}
	if f := s.Failure; f != nil {
		c.Severity = severityWarning
		c.Facts = append(c.Facts,
			fact{Name: "Last failure", Value: fmt.Sprintf("%s ago, %s, %s in a row", ago(now, f.Time), printable(f.Action), count(f.Attempts, "failure")), Bad: true, Wide: true},
			fact{Name: "Last error", Value: printable(f.Message), Bad: true, Wide: true})
	}
	return c
}

// card describes what a cache has of the object.
func (o *objectReport) card(now time.Time) card {
	c := card{ID: id("informer", o.Informer), Kind: "informer", Name: title(o.Informer), State: "does not have it", Severity: severityNone}
	if !o.Found {
		return c
	}
	c.State = "has it"
	c.Facts = facts{
		{Name: "Version", Value: printable(o.ResourceVersion)},
		{Name: "Generation", Value: fmt.Sprint(o.Generation)},
		{Name: "Age", Value: ago(now, o.Created)},
		{Name: "UID", Value: printable(o.UID), Wide: true},
	}
	if !o.Deleting.IsZero() {
		c.Facts = append(c.Facts, fact{Name: "Deleting", Value: "for " + ago(now, o.Deleting) + ", held back by " + orNothing(printables(o.Finalizers)), Bad: true, Wide: true})
	}
	for _, f := range []struct {
		name string
		all  []string
	}{{"Owners", o.Owners}, {"Labels", o.Labels}, {"Annotations", o.Annotations}} {
		if len(f.all) > 0 {
			c.Facts = append(c.Facts, fact{Name: f.name, Value: strings.Join(printables(f.all), ", "), Wide: true})
		}
	}
	switch {
	case o.BodyError != "":
		c.Facts = append(c.Facts, fact{Name: "Body", Value: printable(o.BodyError), Wide: true})
	case len(o.Body) > 0:
		c.Facts = append(c.Facts, fact{Name: "Body", Value: printable(string(o.Body)), Wide: true})
	}
	return c
}

// printables is printable for several texts.
func printables(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = printable(s)
	}
	return out
}

// explainView is what explain.html shows.
type explainView struct {
	CSS    template.CSS
	JS     template.JS
	Key    string // as it is shown
	Raw    string // as it was asked for
	Time   time.Time
	Answer problem
	Cards  []card
}

// writeExplainPage writes an explanation as HTML.
func writeExplainPage(w io.Writer, e *explanation) error {
	return explainPage.Execute(w, explainView{
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), //nolint:gosec // our own files
		Key: printable(e.Key), Raw: e.asked, Time: e.Time, Answer: e.Answer, Cards: e.cards(),
	})
}

// writeExplainText writes an explanation for a terminal.
func writeExplainText(w io.Writer, e *explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Answer.Sentence)
	if e.Answer.Detail != "" {
		fmt.Fprintf(&b, "  %s\n", e.Answer.Detail)
	}
	if e.Answer.Remedy != "" {
		fmt.Fprintf(&b, "  → %s\n", e.Answer.Remedy)
	}
	fmt.Fprintf(&b, "%s\n", e.Time.Format(time.RFC3339))
	all := e.cards()
	for i := range all {
		all[i].text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
