package inspect

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// page is mostly text, so that it can be read as it comes, too.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>informers and queues</title></head>
<body>
<p>{{.Summary}}; {{.Time}}; <a href="?format=json">JSON</a></p>
{{- range .Sections}}

<h3>{{.Title}}</h3>
<pre>
{{.Text}}</pre>
{{- end}}
</body>
</html>
`))

// section is a part of the page: an informer or a queue.
type section struct{ Title, Text string }

// writePage writes r as HTML.
func writePage(w io.Writer, r *report) error {
	data := struct {
		Summary, Time string
		Sections      []section
	}{Summary: r.summary(), Time: r.Time.Format(time.RFC3339)}
	for i := range r.Informers {
		inf := &r.Informers[i]
		data.Sections = append(data.Sections, section{"informer " + title(inf.Name), inf.text(r.Time)})
	}
	for i := range r.Queues {
		q := &r.Queues[i]
		data.Sections = append(data.Sections, section{"queue " + title(q.Name), q.text(r.Time)})
	}
	return page.Execute(w, data)
}

// title is how a name is printed, which comes from the program and may be anything.
func title(name string) string {
	if name == "" {
		return "(without a name)"
	}
	return printable(name)
}

// summary says in a line whether there is anything to worry about.
func (r *report) summary() string {
	var unsynced, degraded, stopped, shut int
	for i := range r.Informers {
		inf := &r.Informers[i]
		switch {
		case inf.Stopped:
			stopped++
		case !inf.Synced:
			unsynced++
		}
		// Counted beside synced and stopped: a cache that was synced once may be
		// degraded now.
		if slices.ContainsFunc(inf.Sources, func(s sourceReport) bool { return !s.DegradedSince.IsZero() }) {
			degraded++
		}
	}
	for i := range r.Queues {
		if r.Queues[i].ShuttingDown {
			shut++
		}
	}
	return fmt.Sprintf("informers: %d (not synced: %d, degraded: %d, stopped: %d); queues: %d (shut down: %d)",
		len(r.Informers), unsynced, degraded, stopped, len(r.Queues), shut)
}

// text describes an informer in lines.
func (inf *informerReport) text(now time.Time) string {
	var b strings.Builder
	if inf.Synced {
		fmt.Fprintf(&b, "synced after %s", inf.SyncedAfter)
	} else {
		b.WriteString("NOT SYNCED")
	}
	if inf.Stopped {
		b.WriteString(", STOPPED")
	}
	fmt.Fprintf(&b, "; objects: %d, at resourceVersion %s; entries of the event log so far: %d\n",
		inf.Objects, cmp.Or(printable(inf.ResourceVersion), "-"), inf.Events)
	if inf.Memory != nil {
		b.WriteString(inf.Memory.text())
	}
	b.WriteString("\n")

	sources := newTable(&b, "SOURCE", "STATE", "FOR", "QUEUED", "LAST EVENT", "FAILURES", "LISTS", "WATCHLISTS", "WATCHES", "QUARANTINED")
	for i := range inf.Sources {
		s := &inf.Sources[i]
		sources.row(cmp.Or(s.Namespace, "-"), s.State, ago(now, s.Since), s.Queued, ago(now, s.LastEvent), s.ConsecutiveFailures,
			s.Lists, s.WatchLists, s.Watches, s.Quarantined)
	}
	sources.end()
	for i := range inf.Sources {
		inf.Sources[i].details(&b, now)
	}

	b.WriteByte('\n')
	if len(inf.Handlers) == 0 {
		b.WriteString("no handlers\n")
		return b.String()
	}
	handlers := newTable(&b, "HANDLER", "SYNCED", "LAG", "AGE", "CATCHING UP", "DELIVERED", "OVERFLOWS", "PANICS")
	for _, h := range inf.Handlers {
		handlers.row(h.Name, h.Synced, h.Lag, h.LagAge, h.CatchingUp, h.Delivered, h.Overflows, h.Panics)
	}
	handlers.end()
	return b.String()
}

// details says what is or was wrong with a source.
func (s *sourceReport) details(b *strings.Builder, now time.Time) {
	lead := ""
	if s.Namespace != "" {
		lead = printable(s.Namespace) + ": "
	}
	if !s.DegradedSince.IsZero() {
		fmt.Fprintf(b, "%sdegraded for %s", lead, ago(now, s.DegradedSince))
		if !s.NextAttempt.IsZero() {
			fmt.Fprintf(b, ", next attempt in %s", short(s.NextAttempt.Sub(now)))
		}
		b.WriteByte('\n')
	}
	if e := s.LastError; e != nil {
		fmt.Fprintf(b, "%slast error %s ago (%s): %s\n", lead, ago(now, e.Time), printable(e.Class), printable(e.Message))
	}
	if len(s.Reconnects) > 0 {
		fmt.Fprintf(b, "%swatches ended:", lead)
		for _, class := range slices.Sorted(maps.Keys(s.Reconnects)) {
			fmt.Fprintf(b, " %s %d;", printable(class), s.Reconnects[class])
		}
		b.WriteByte('\n')
	}
	if len(s.Quarantine) > 0 {
		fmt.Fprintf(b, "%sin quarantine:", lead)
		for _, q := range s.Quarantine {
			fmt.Fprintf(b, " %s (%s);", printable(q.Item), printable(q.Class))
		}
		b.WriteByte('\n')
	}
}

// text describes a queue in lines.
func (q *queueReport) text(now time.Time) string {
	var b strings.Builder
	if q.ShuttingDown {
		b.WriteString("SHUT DOWN; ")
	}
	fmt.Fprintf(&b, "queued: %d, running: %d (to run again: %d), delayed: %d, parked: %d; so far added: %d, retried: %d, dropped: %d, parks timed out: %d, lost to the shutdown: %d\n",
		q.Queued, q.Running, q.Again, q.Delayed, q.Parked, q.Added, q.Retried, q.Dropped, q.ParkTimeouts, q.ShutdownLosses)
	fmt.Fprintf(&b, "oldest of the queued items shown: %s; longest running: %s; unfinished work: %s\n",
		q.LongestQueued, q.LongestRunning, q.UnfinishedWork)
	// A queue with one class and no groups is first in, first out, which the counts
	// above show.
	if len(q.PriorityClasses) > 1 || slices.ContainsFunc(q.PriorityClasses, func(c classReport) bool { return c.Groups > 0 }) {
		b.WriteByte('\n')
		classes := newTable(&b, "PRIORITY CLASS", "MAX WAIT", "QUEUED", "GROUPS")
		for i, c := range q.PriorityClasses {
			classes.row(i, c.MaxWait, c.Queued, c.Groups)
		}
		classes.end()
	}
	q.RunningItems.text(&b, "RUNNING", "FOR", func(i *itemReport) string { return ago(now, i.RunningSince) })
	q.QueuedItems.text(&b, "QUEUED", "FOR", func(i *itemReport) string { return ago(now, i.QueuedSince) })
	q.DelayedItems.text(&b, "DELAYED", "COMES IN", func(i *itemReport) string { return short(i.DelayedUntil.Sub(now)) })
	q.ParkedItems.text(&b, "PARKED", "AT MOST FOR", func(i *itemReport) string { return short(i.ParkedUntil.Sub(now)) })
	return b.String()
}

// text lists items, and says how many it does not list.
func (i *items) text(b *strings.Builder, kind, when string, at func(*itemReport) string) {
	if len(i.Shown)+i.LeftOut == 0 {
		return
	}
	b.WriteByte('\n')
	t := newTable(b, kind, when, "CLASS", "GROUP", "RETRIES", "AGAIN")
	for k := range i.Shown {
		item := &i.Shown[k]
		t.row(item.Item, at(item), item.PriorityClass, item.Group, item.Retries, item.Again)
	}
	t.end()
	if i.LeftOut > 0 {
		fmt.Fprintf(b, "and %d more\n", i.LeftOut)
	}
}

// table writes columns.
type table struct{ w *tabwriter.Writer }

// newTable begins a table with its heads. The columns are aligned only by end, which
// must therefore be called.
func newTable(b *strings.Builder, heads ...any) table {
	t := table{tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)}
	t.row(heads...)
	return t
}

// row adds a row. Every cell may contain what a cluster's user has chosen, such as a
// name, so all of them are made printable here and not by the callers.
func (t table) row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = io.WriteString(t.w, "\t")
		}
		// Booleans in words: a table of true and false is hard to scan.
		switch c {
		case true:
			c = "yes"
		case false:
			c = "no"
		}
		_, _ = io.WriteString(t.w, printable(fmt.Sprint(c)))
	}
	_, _ = io.WriteString(t.w, "\n")
}

// end writes the table out; a strings.Builder takes everything.
func (t table) end() { _ = t.w.Flush() }

// ago returns how long ago that was, or "-" for never.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return short(now.Sub(at))
}

// short rounds a duration for people. Clocks are read one after the other, so it
// may come out below zero.
func short(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
