package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// card describes a queue. Without times in the queue, durations are not known, rather
// than 0. The facts are in the order of an item's life: queued, running, held back, and
// then the counters.
func (q *queueReport) card(now time.Time) card {
	// Idle, unless something below says otherwise.
	c := card{ID: q.id(), Kind: "queue", Name: title(q.Name), State: "idle"}
	switch {
	// It goes before the rest, as it explains why nothing new arrives.
	case q.ShuttingDown:
		c.State = "shut down"
	case q.Running > 0:
		c.State = "working"
	// Not a problem by itself: an item may have been added a moment ago. problems looks
	// at how long.
	case q.Queued > 0:
		c.State = "waiting for a worker"
	}
	timed := q.timed
	c.Facts = facts{
		{Name: "Queued", Value: count(q.Queued, "item")},
		{Name: "Oldest", Value: unknown(timed, func() string { return short(q.oldest(now)) })},
		{Name: "Running", Value: count(q.Running, "item")},
		{Name: "Longest running", Value: unknown(timed, q.LongestRunning.String), Minor: true},
		{Name: "Unfinished work", Value: unknown(timed, q.UnfinishedWork.String), Minor: true},
		{Name: "Running again", Value: count(q.Again, "item"), Minor: true},
		{Name: "Delayed", Value: count(q.Delayed, "item")},
		{Name: "Parked", Value: count(q.Parked, "item")},
		{Name: "Added", Value: count(int(q.Added), "item"), Minor: true},
		{Name: "Retried", Value: count(int(q.Retried), "time"), Minor: true},
		// It is marked as long as an item is known that nothing retries by itself; without a
		// history, for the life of the queue.
		{Name: "Dropped", Value: count(int(q.Dropped), "item"), Bad: q.Dropped > 0 && (len(q.Throughput) == 0 || q.hasDropped())},
		{Name: "Park timeouts", Value: count(int(q.ParkTimeouts), "time"), Minor: true},
		{Name: "Lost at shutdown", Value: count(int(q.ShutdownLosses), "item"), Bad: q.ShutdownLosses > 0},
	}
	if q.Panics > 0 {
		c.Facts = append(c.Facts, fact{Name: "Panics", Value: count(int(q.Panics), "time"), Bad: true})
	}
	if len(q.Throughput) > 0 {
		c.Spark = newSpark(q.Throughput)
	}
	c.Lists = append(c.Lists, q.failingList(now))
	if len(q.PriorityClasses) > 1 || slices.ContainsFunc(q.PriorityClasses, func(c classReport) bool { return c.Groups > 0 }) {
		c.Lists = append(c.Lists, q.classes(now))
	}
	c.Lists = append(c.Lists,
		q.items(&q.RunningItems, "Running", func(i *itemReport) string { return "for " + ago(now, i.RunningSince) }),
		q.items(&q.QueuedItems, "Queued", func(i *itemReport) string { return "for " + ago(now, i.QueuedSince) }),
		q.items(&q.DelayedItems, "Delayed", func(i *itemReport) string { return "for another " + short(i.DelayedUntil.Sub(now)) }),
		q.items(&q.ParkedItems, "Parked", func(i *itemReport) string { return parkedText(i.Until, i.ParkedUntil, now) }),
	)
	return c
}

// parkedText names what ends a park, and when it ends at the latest.
func parkedText(until string, end, now time.Time) string {
	if end.IsZero() {
		return strings.TrimSpace(untilText(until))
	}
	return untilText(until) + "for another " + short(end.Sub(now)) + " at most"
}

// hasDropped reports whether an item is shown that was dropped.
func (q *queueReport) hasDropped() bool {
	return slices.ContainsFunc(q.Failures.Shown, func(f failureReport) bool { return f.Action == string(workqueue.Dropped) })
}

// unknown returns the text, or says that the queue keeps no times. The text is a
// function, since without times there is nothing to format.
func unknown(timed bool, text func() string) string {
	if timed {
		return text()
	}
	return "not known (set Options.Times)"
}

// failingList lists the items that fail, with their last errors. Only ProcessWith sees
// errors, and only a history keeps them.
func (q *queueReport) failingList(now time.Time) list {
	l := list{Name: "Failing", More: q.Failures.LeftOut}
	for i := range q.Failures.Shown {
		f := &q.Failures.Shown[i]
		// Neither dropped nor delayed: it is queued, running or parked, and its own
		// list says which.
		next := "to be retried"
		switch {
		case f.Action == string(workqueue.Dropped):
			next = "dropped"
		case !f.NextAttempt.IsZero():
			next = "next attempt in " + short(f.NextAttempt.Sub(now))
		}
		l.Rows = append(l.Rows, row{
			Name: printable(f.Item), Key: f.Item, Bad: true, Detail: printable(f.Message),
			Text: fmt.Sprintf("%s in a row, %s ago most recently; %s", count(f.Attempts, "failure"), ago(now, f.Time), next),
		})
	}
	return l
}

// classes lists the priority classes. One whose oldest item has waited longer than
// MaxWait permits is marked: its workers are too few, or stuck. The bound is the same
// as that of the problem, see starved.
func (q *queueReport) classes(now time.Time) list {
	l := list{Name: "Priority classes"}
	for i, c := range q.PriorityClasses {
		text := []string{count(c.Queued, "item") + " queued"}
		if c.Groups > 0 {
			text = append(text, "of "+count(c.Groups, "group"))
		}
		if i > 0 {
			text = append(text, "MaxWait "+c.MaxWait.String())
		}
		// Class 0 has no MaxWait; starved judges it by slowBound.
		bad := false
		if !c.QueuedSince.IsZero() {
			text = append(text, "the oldest for "+ago(now, c.QueuedSince))
			bad = i > 0 && now.Sub(c.QueuedSince) >= c.MaxWait.duration()+waitBound
		}
		l.Rows = append(l.Rows, row{Name: fmt.Sprint("class ", i), Text: strings.Join(text, ", "), Bad: bad})
	}
	return l
}

// items lists items of one kind. at says since when or for how much longer, which is
// another time for each kind. Class, group and retries are named only where they differ
// from what every item has.
func (q *queueReport) items(some *items, name string, at func(*itemReport) string) list {
	l := list{Name: name, More: some.LeftOut}
	for k := range some.Shown {
		i := &some.Shown[k]
		// ago returns "-" for a time that the queue does not keep. A dash after "for"
		// would look like a fault of the page.
		text := []string{strings.ReplaceAll(at(i), "for -", "for an unknown time")}
		if len(q.PriorityClasses) > 1 {
			text = append(text, fmt.Sprint("class ", i.PriorityClass))
		}
		if i.Group != "" {
			text = append(text, "group "+printable(i.Group))
		}
		if i.Retries > 0 {
			text = append(text, many(i.Retries, "retry", "retries"))
		}
		if i.Again {
			text = append(text, "added again")
		}
		l.Rows = append(l.Rows, row{Name: printable(i.Item), Key: i.Item, Text: strings.Join(text, ", ")})
	}
	return l
}

// spark is the throughput of the last minutes as a small diagram. The text is for
// screen readers, which see no bars, and for the terminal.
type spark struct {
	Text string // what it shows, in words
	Bars []bar
}

// bar is one period, in units of the diagram, which is 100 high. The stylesheet
// stretches the diagram, so the units have no size on the screen.
type bar struct{ X, Y, Height int }

// barWidth is the width of a bar with its gap. The viewBox of page.html is 30 of them
// wide, one for each period that a queue keeps.
const barWidth = 10

// newSpark draws the throughput. Heights are relative to the highest bar, which the
// text states. The scale differs from queue to queue, because a queue of ten items an
// hour has a shape worth seeing as well.
func newSpark(counts []int) *spark {
	most, sum := 0, 0
	for _, n := range counts {
		most, sum = max(most, n), sum+n
	}
	s := &spark{Text: fmt.Sprintf("%s done in the last %s; at most %d in %s",
		count(sum, "item"), minutes(time.Duration(len(counts))*history.ThroughputPeriod), most, "10 seconds")}
	for i, n := range counts {
		// Two units of a line show that the period was measured.
		height := 2 // a line where nothing was done
		if n > 0 {
			// At least 8: a single item beside thousands must not look like none.
			height = max(8, 100*n/most)
		}
		s.Bars = append(s.Bars, bar{X: i * barWidth, Y: 100 - height, Height: height})
	}
	return s
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }
