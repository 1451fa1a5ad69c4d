package inspect

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// card is one informer, queue or replica as people read it. The page and the text are both made
// of cards, so that they say the same.
//
// Cards hold finished text only. Everything in them is a constant of this package or
// has passed printable, so writeText can send it to a terminal; html/template escapes
// it for a browser.
type card struct {
	// The fragment of the page's links, see id.
	ID    string
	Kind  string // informer, queue, replica
	Name  string
	State string // in a few words
	// Of the worst problem of this card; it sorts the cards and colours them.
	Severity severity
	// Repeated from the head of the page, so that a card that is linked to stands
	// alone.
	Problems []problem
	Facts    facts
	// Nil in a card without throughput: informers, and queues that keep no times.
	Spark *spark
	Lists []list
}

// fact is a number or a state with its name, its unit, and an explanation.
type fact struct {
	Name, Value string
	Bad         bool // part of a problem
	Wide        bool // a long text
	Minor       bool // shown on demand
}

// facts are those of a card. The page shows those that are zero, or that few people ask for, on demand.
type facts []fact

// Major are the facts that are shown.
func (all facts) Major() facts { return slices.DeleteFunc(slices.Clone(all), fact.minor) }

// Minor are the others.
func (all facts) Minor() facts {
	return slices.DeleteFunc(slices.Clone(all), func(f fact) bool { return !f.minor() })
}

// minor reports whether the fact is shown on demand. What is part of a problem never is.
func (f fact) minor() bool {
	return !f.Bad && (f.Minor || strings.HasPrefix(f.Value, "0 ") || f.Value == "none" || f.Value == "0")
}

// Class is how the stylesheet shows the fact. A method, because templates call methods
// and the rest of the package needs no class names.
func (f fact) Class() string {
	var all []string
	if f.Bad {
		all = append(all, "bad")
	}
	if f.Wide {
		all = append(all, "wide")
	}
	return strings.Join(all, " ")
}

// list is what belongs to a card: handlers, namespaces, items.
type list struct {
	Name string
	Rows []row
	More int // rows left out
}

// row is a line of a list: a name, a few words, and a long text.
type row struct {
	Name, Text, Detail string
	Key                string // if the name is a key: what to ask the page for
	Bad                bool
	Facts              facts
}

// maxRows is how many handlers and namespaces of an informer are shown, those with
// trouble first.
const maxRows = 50

// explanations are the titles of facts and lists, by name. They stand beside the names
// rather than in page.html: the page shows them twice, as tooltips and as a glossary,
// since touch screens and keyboards have no tooltips.
var explanations = map[string]string{
	"State":            "What the reflector does, and for how long it has been doing that.",
	"Version":          "The resourceVersion that the cache has reached.",
	"Last event":       "How long ago the last event or bookmark arrived from the server.",
	"First sync":       "How long the first list took, from the call of Run.",
	"Requests":         "Requests to the server so far: pages of lists, watches with initial events, and watches.",
	"Reconnects":       "How often a watch ended or could not begin, by reason. Servers end watches every few minutes.",
	"To apply":         "Changes that have arrived and wait to be applied to the cache.",
	"Failed in a row":  "Requests that failed since the last healthy watch.",
	"Last error":       "The most recent failure of a request. It stays after the recovery.",
	"Quarantine":       "Objects that cannot be decoded or transformed. Handlers do not see what changes in them.",
	"Audits":           "Comparisons of the cache with the metadata of the collection on the server, and how many objects differed.",
	"Last audit error": "Why the most recent audit that failed did. The next one is made an interval later.",
	"Changes":          "Changes of the cache since the start. A list counts as one.",
	"Ranges":           "The ranges of hashes that this informer reads, and what keeps objects of other ranges out.",
	"Ranges of hashes": "A range is in the cache when a list of it is.",
	"Namespaces":       "The namespaces that feed the cache, each with its own watch.",
	"Lag":              "Events that wait for the handler, and for how long the oldest has.",
	"Overflows":        "How often the handler was so far behind that it got a difference of snapshots instead of each event.",
	"Running again":    "Running items that were added once more. They are queued when they are done.",
	"Delayed":          "Items that are queued when their delay ends: retries, and requeues after a time.",
	"Parked":           "Items that are held back until a condition is met, for example until the cache has seen a write.",
	"Oldest":           "For how long the oldest of the queued items has waited.",
	"Longest running":  "For how long the item that was handed out first has been running.",
	"Unfinished work":  "The sum of the times that the running items have been running.",
	"Added":            "Items that were asked for since the start. Adding what is queued already does not count.",
	"Dropped":          "Items that were given up after a failure that is terminal, or after the last attempt.",
	"Park timeouts":    "How often a park ended because its time had passed and not because its condition was met.",
	"Lost at shutdown": "Items that were delayed, parked or retried when the queue was shut down.",
	"Throughput":       "Items done in each ten seconds of the last five minutes.",
	"Priority classes": "Class 0 is the most urgent. An item that has waited for longer than MaxWait is overdue: overdue classes get every fourth turn.",
	"Session":          "What the replica renews. Others see by it that the replica is alive.",
	"Leader":           "The session that has the only part of the group.",
	"Held":             "Parts that this replica has, and how many it is to have.",
	"Renewed":          "How long ago the newest renewal was sent that has succeeded.",
	"Deadline":         "When the replica stops all work, unless a renewal succeeds before.",
	"Moves":            "Parts that the replica has taken, handed over in an orderly way, and lost.",
	"Watch of Leases":  "What the watch does that shows the sessions and the records of the group.",
	"Failing":          "Items whose last processing failed, those with the most attempts first.",
}

// Title explains the fact.
func (f fact) Title() string { return explanations[f.Name] }

// Title explains the list.
func (l list) Title() string { return explanations[l.Name] }

// id returns the fragment of a card: it depends on nothing but the names, so that links
// survive a refresh.
func id(kind, name string) string {
	// A hash, because a name may have any characters, and a fragment may not. Two names
	// of one hash share a fragment: a link then leads to the first of them.
	h := fnv.New32a()
	// hash.Hash promises that Write returns no error.
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("%s-%08x", kind, h.Sum32())
}

func (inf *informerReport) id() string { return id("informer", inf.Name) }
func (q *queueReport) id() string      { return id("queue", q.Name) }

// cards returns a card for each replica, informer and queue, those with the worst problems
// first. Problems are assigned by the id of the card. With a few hundred cards and
// problems, the nested loop costs less than building the page.
func (r *report) cards() []card {
	all := make([]card, 0, len(r.Informers)+len(r.Queues)+len(r.Replicas))
	for i := range r.Replicas {
		all = append(all, r.Replicas[i].card(r.Time))
	}
	for i := range r.Informers {
		all = append(all, r.Informers[i].card(r.Time))
	}
	for i := range r.Queues {
		all = append(all, r.Queues[i].card(r.Time))
	}
	for i := range all {
		c := &all[i]
		c.Severity = severityNone
		for _, p := range r.Problems {
			if p.card == c.ID {
				c.Problems = append(c.Problems, p)
			}
		}
		if len(c.Problems) > 0 {
			c.Severity = c.Problems[0].Severity // they are sorted
		}
	}
	// Stable, so that cards of one severity stay in the order of their names, and a
	// page that refreshes itself does not shuffle.
	slices.SortStableFunc(all, func(a, b card) int { return b.Severity.rank() - a.Severity.rank() })
	return all
}

// card describes an informer. Of one that reads all namespaces the source's facts are
// its own; otherwise there is a row for each namespace. The order of the facts is that
// in which a person asks: what state, how much, how fresh, and only then the counters.
func (inf *informerReport) card(now time.Time) card {
	c := card{ID: inf.id(), Kind: "informer", Name: title(inf.Name), State: "synced"}
	switch {
	// First, because a stopped informer stays synced, and its cache no longer changes.
	case inf.Stopped:
		c.State = "stopped"
	case !inf.Synced:
		c.State = "not synced"
	}
	own := facts{
		{Name: "Objects", Value: count(inf.Objects, "object")},
		{Name: "Version", Value: cmp.Or(printable(inf.ResourceVersion), "none yet"), Minor: true},
		{Name: "Changes", Value: count(int(inf.Events), "change"), Minor: true},
	}
	// Before that the duration is 0, which would read as an instant list.
	if inf.Synced {
		own = append(own, fact{Name: "First sync", Value: "after " + inf.SyncedAfter.String(), Minor: true})
	}
	// One source without a namespace reads the whole cluster. The state of its
	// reflector is that of the informer, and comes first.
	if len(inf.Sources) == 1 && inf.Sources[0].Namespace == "" {
		source := inf.Sources[0].facts(now)
		c.Facts = slices.Concat(source[:1], own, source[1:])
	} else {
		// With several, no state is that of the informer, so each has a row.
		c.Facts = own
		c.Lists = append(c.Lists, inf.namespaces(now))
	}
	if len(inf.Ranges) > 0 {
		c.Facts = append(c.Facts, inf.rangesFact())
		c.Lists = append(c.Lists, inf.ranges())
	}
	c.Lists = append(c.Lists, inf.handlers(now))
	for i := range inf.Sources {
		if q := inf.Sources[i].quarantine(); len(q.Rows) > 0 {
			c.Lists = append(c.Lists, q)
		}
	}
	return c
}

// rangesFact says how many ranges there are, and who keeps other objects out.
func (inf *informerReport) rangesFact() fact {
	unlisted := 0
	for _, r := range inf.Ranges {
		if !r.Synced {
			unlisted++
		}
	}
	text := count(len(inf.Ranges), "range") + " of " + printable(inf.HashKey)
	if unlisted > 0 {
		text += fmt.Sprintf(", %d of which not listed yet", unlisted)
	}
	for i := range inf.Sources { // there is one
		s := &inf.Sources[i]
		switch informer.FilteredBy(s.FilteredBy) {
		case informer.FilteredByServer:
			text += "; the server filters"
		case informer.FilteredByClient:
			text += "; this program filters, and has dropped " + count(int(s.Outside), "object")
		default:
			text += "; it is not known yet whether the server filters"
		}
	}
	return fact{Name: "Ranges", Value: text, Wide: true}
}

// ranges lists the ranges of hashes, those that are not listed yet first.
func (inf *informerReport) ranges() list {
	l := list{Name: "Ranges of hashes"}
	for _, r := range inf.Ranges {
		one := row{Name: printable(r.Range), Text: "in the cache"}
		if !r.Synced {
			one.Text, one.Bad = "not listed yet", true
		}
		l.Rows = append(l.Rows, one)
	}
	return l.worstFirst()
}

// facts describes a source. State comes first: card and namespaces take it off the
// others by its position.
func (s *sourceReport) facts(now time.Time) facts {
	all := facts{
		// Degraded includes a watch that runs again but has not been healthy for long
		// enough.
		{Name: "State", Value: s.stateText(now), Bad: !s.DegradedSince.IsZero()},
		{Name: "Last event", Value: agoOrNever(now, s.LastEvent)},
		{Name: "Requests", Value: fmt.Sprintf("%s, %s, %s", count(s.Lists, "list"), count(s.WatchLists, "watch list"), many(s.Watches, "watch", "watches")), Minor: true},
		{Name: "Reconnects", Value: reasons(s.Reconnects), Minor: true},
		{Name: "To apply", Value: count(s.Queued, "change"), Minor: true},
		{Name: "Quarantine", Value: fmt.Sprintf("%s now, %d ever", count(len(s.Quarantine), "object"), s.Quarantined), Bad: len(s.Quarantine) > 0},
	}
	// Only while it applies. A zero would add nothing to the state.
	if s.ConsecutiveFailures > 0 {
		all = append(all, fact{Name: "Failed in a row", Value: count(s.ConsecutiveFailures, "request"), Bad: true})
	}
	// It stays after the recovery, as the cause of an outage is asked for afterwards.
	// It is marked only while it still matters.
	if e := s.LastError; e != nil {
		all = append(all, fact{Name: "Last error", Value: fmt.Sprintf("%s ago (%s): %s", ago(now, e.Time), printable(e.Class), printable(e.Message)), Bad: !s.DegradedSince.IsZero() || !s.Synced, Wide: true})
	}
	if s.Audit != nil {
		all = append(all, s.Audit.facts(now)...)
	}
	return all
}

// stateText is the state, and for how long. Between two waits of a source in trouble there
// is an attempt, in another state: its last wait began a moment ago, and the trouble
// before that.
func (s *sourceReport) stateText(now time.Time) string {
	at := s.Since
	if reflector.State(s.State) == reflector.StateDegraded && !s.DegradedSince.IsZero() {
		at = s.DegradedSince
	}
	return printable(s.State) + since(now, at)
}

// reasons describes why watches ended. Classes are sorted by name: a map has no order,
// and a refreshed page must not change when nothing has.
func reasons(by map[string]int) string {
	var all []string
	sum := 0
	for _, class := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s %d", printable(class), by[class]))
		sum += by[class]
	}
	if sum == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", sum, strings.Join(all, ", "))
}

// quarantine lists the objects that could not be read. The reflector keeps at most 100
// of them, and this shows fewer: what to correct is the same for all of one class.
func (s *sourceReport) quarantine() list {
	l := list{Name: "Quarantine"}
	for i, q := range s.Quarantine {
		if i == DefaultMaxItems {
			l.More = len(s.Quarantine) - i
			break
		}
		l.Rows = append(l.Rows, row{Name: printable(q.Item), Key: q.Item, Text: printable(q.Class), Bad: true})
	}
	return l
}

// namespaces lists the sources, those with trouble first: of hundreds of namespaces
// only these matter. They are bounded as well, since an informer may read a thousand of
// them.
func (inf *informerReport) namespaces(now time.Time) list {
	l := list{Name: "Namespaces"}
	for i := range inf.Sources {
		s := &inf.Sources[i]
		l.Rows = append(l.Rows, row{
			Name: cmp.Or(printable(s.Namespace), "all namespaces"), Text: s.stateText(now), Bad: !s.Synced || !s.DegradedSince.IsZero(),
			// Without the state, which is the text of the row.
			Facts: s.facts(now)[1:],
		})
	}
	return l.worstFirst()
}

// handlers lists the handlers. One that lags for long, or has panicked of late, is
// marked. An informer without handlers is not a problem: it may serve a lister.
func (inf *informerReport) handlers(now time.Time) list {
	l := list{Name: "Handlers"}
	for i := range inf.Handlers {
		h := &inf.Handlers[i]
		// Up to date, unless something below says otherwise.
		r := row{Name: title(h.Name), Text: "up to date"}
		switch {
		case h.CatchingUp:
			r.Text = "catching up with a difference of snapshots"
		case h.Lag > 0:
			r.Text = "has events to process"
		case !h.Synced:
			r.Text = "has not seen the first list yet"
		}
		// The bound is that of the problem, so that a row is marked exactly if the page
		// says so.
		late := h.LagAge.duration() >= lagWarning
		r.Facts = facts{
			{Name: "Lag", Value: fmt.Sprintf("%s, %s", count(h.Lag, "event"), h.LagAge), Bad: late},
			{Name: "Delivered", Value: count(int(h.Delivered), "event")},
			{Name: "Overflows", Value: count(int(h.Overflows), "time")},
			{Name: "Panics", Value: count(int(h.Panics), "time"), Bad: h.Panics > 0},
		}
		if p := h.LastPanic; p != nil {
			r.Detail = fmt.Sprintf("last panic %s ago, %s %s: %s", ago(now, p.Time), p.Event, printable(p.Key), printable(p.Message))
			// The panic stays in the detail. Only a recent one marks the row, like the
			// problem.
			if r.Bad = now.Sub(p.Time) < panicFor; r.Bad {
				r.Text = "panicked " + ago(now, p.Time) + " ago"
			}
		}
		r.Bad = r.Bad || late
		l.Rows = append(l.Rows, r)
	}
	return l.worstFirst()
}

// worstFirst puts the rows in trouble first, else in the order of their names, and bounds
// their number. What is left out is then what is in order, unless more than maxRows are in
// trouble.
func (l list) worstFirst() list {
	fine := slices.DeleteFunc(slices.Clone(l.Rows), func(r row) bool { return r.Bad })
	l.Rows = append(slices.DeleteFunc(l.Rows, func(r row) bool { return !r.Bad }), fine...)
	if l.More = max(0, len(l.Rows)-maxRows); l.More > 0 {
		l.Rows = l.Rows[:maxRows]
	}
	return l
}
