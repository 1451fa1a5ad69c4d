package inspect

import (
	"fmt"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue/history"
)

// entryReport is an entry of the history. All but Time, What and Sentence is left out
// where it says nothing.
type entryReport struct {
	Time     time.Time `json:"time"`
	What     string    `json:"what"` // a history.What
	Sentence string    `json:"sentence"`
	Queue    string    `json:"queue,omitempty"`
	Informer string    `json:"informer,omitempty"`
	Handler  string    `json:"handler,omitempty"`
	// Object is the key of the object that caused an add.
	Object     string  `json:"object,omitempty"`
	Change     string  `json:"change,omitempty"` // an informer.ChangeType
	Origin     string  `json:"origin,omitempty"` // an informer.Origin
	OldVersion uint64  `json:"oldVersion,omitempty"`
	NewVersion uint64  `json:"newVersion,omitempty"`
	Duration   seconds `json:"durationSeconds,omitempty"`
	Attempt    int     `json:"attempt,omitempty"`
	// Function is the predicate that refused, or the condition of a park.
	Function string `json:"function,omitempty"`
	Error    string `json:"error,omitempty"`
}

// reportHistory describes what a recorder has of a key.
func reportHistory(h *history.History, opts *Options) historyReport {
	r := historyReport{Recorded: true, Kept: h.Kept, Overwritten: h.Overwritten, Since: h.Since.UTC(), Entries: []entryReport{}}
	r.LeftOut = max(0, len(h.Entries)-maxEntries)
	for i := range h.Entries[r.LeftOut:] {
		r.Entries = append(r.Entries, reportEntry(&h.Entries[r.LeftOut+i], opts))
	}
	return r
}

// reportEntry describes an entry.
func reportEntry(e *history.Entry, opts *Options) entryReport {
	r := entryReport{
		Time: e.Time.UTC(), What: e.What.String(), Sentence: sentence(e, opts),
		OldVersion: e.Old, NewVersion: e.New, Duration: inSeconds(e.Duration), Attempt: int(e.Attempt), Error: errorOf(e, opts),
	}
	if e.Change != 0 {
		r.Change = informer.ChangeType(e.Change).String()
	}
	if e.Origin != 0 {
		r.Origin = informer.Origin(e.Origin).String()
	}
	about := e.Part
	if e.Part != nil && e.Part.Informer == "" {
		r.Queue, about = e.Part.Name, e.Cause
	}
	if about != nil {
		r.Informer, r.Handler = about.Informer, about.Name
	}
	switch {
	case e.What == history.Refused || e.What == history.Parked:
		r.Function = e.Object.Name
	case e.Cause != nil:
		r.Object = shorten(e.Object.String(), maxItem)
	}
	return r
}

// errorOf is the text of the error of an entry, as far as it may be shown.
func errorOf(e *history.Entry, opts *Options) string {
	switch {
	case e.ErrLost:
		return "not kept any more, as many others have failed since"
	case e.Err != nil:
		return opts.errorText(e.Err)
	}
	return ""
}

// sentence says what happened, as a whole sentence without the time.
func sentence(e *history.Entry, opts *Options) string {
	queue := ""
	if e.Part != nil {
		queue = "queue " + title(e.Part.Name)
	}
	switch e.What {
	case history.Received:
		return fmt.Sprintf("Informer %s received the %s (%s).", title(e.Part.Informer), lowerFirst(changeName(&e.Record)), versions(&e.Record))
	case history.Delivered:
		return fmt.Sprintf("Handler %s of informer %s was called: %s.", title(e.Part.Name), title(e.Part.Informer), changed(&e.Record, e.Part, e.Key))
	case history.Refused:
		return fmt.Sprintf("Predicate %s dropped the %s (%s): handler %s of informer %s did nothing with it.",
			printable(orUnnamed(e.Object.Name)), lowerFirst(changeName(&e.Record)), versions(&e.Record), title(e.Part.Name), title(e.Part.Informer))
	case history.Panicked:
		return fmt.Sprintf("Handler %s of informer %s panicked.", title(e.Part.Name), title(e.Part.Informer))
	case history.Added, history.Collapsed, history.AddedAgain, history.AddedParked, history.Rejected:
		return addSentence(e, queue)
	case history.Due:
		return fmt.Sprintf("Its delay ended, and it was queued in %s.", queue)
	case history.Delayed:
		return fmt.Sprintf("Asked for in %s after a delay of %s.", queue, short(e.Duration))
	case history.Retried:
		return fmt.Sprintf("Next try in %s, by the rate limiter of %s (retry %d).", short(e.Duration), queue, e.Attempt)
	case history.HandedOut:
		return fmt.Sprintf("Handed out by %s after %s.", queue, short(e.Duration))
	case history.Done:
		return fmt.Sprintf("Done after %s.", short(e.Duration))
	case history.Succeeded:
		return fmt.Sprintf("Processed without an error, in %s.", short(e.Duration))
	case history.Failed:
		return fmt.Sprintf("Failed after %s, attempt %d: %s", short(e.Duration), e.Attempt, printable(errorOf(e, opts)))
	case history.Dropped:
		return fmt.Sprintf("Failed after %s, attempt %d, and was dropped: it is not tried again before it is added. The error: %s", short(e.Duration), e.Attempt, printable(errorOf(e, opts)))
	case history.Interrupted:
		return fmt.Sprintf("Not tried again, as %s was shut down.", queue)
	case history.Parked:
		most := "."
		if e.Duration > 0 {
			most = ", for " + short(e.Duration) + " at most."
		}
		return fmt.Sprintf("Parked in %s until %s%s", queue, printable(shorten(e.Object.Name, maxCondition)), most)
	case history.ConditionMet:
		return "The condition was met, and the park ended."
	case history.ParkTimedOut:
		return "The park ended after its time, without the condition being met."
	}
	return e.What.String() + "."
}

// addSentence says that the key was added, and why.
func addSentence(e *history.Entry, queue string) string {
	by := " by the program"
	if e.Cause != nil {
		by = fmt.Sprintf(" by handler %s because %s", title(e.Cause.Name), changed(&e.Record, e.Cause, e.Object))
	}
	class := ""
	if e.Class > 0 {
		class = fmt.Sprintf(", in class %d", e.Class)
	}
	switch e.What {
	case history.Collapsed:
		return fmt.Sprintf("Added again to %s%s: collapsed, as it was queued already.", queue, by)
	case history.AddedAgain:
		return fmt.Sprintf("Added to %s%s while it was being processed: it is queued again when that is done.", queue, by)
	case history.AddedParked:
		return fmt.Sprintf("Added to %s%s while it was parked: it is queued when the park ends.", queue, by)
	case history.Rejected:
		return fmt.Sprintf("Added to %s%s, and ignored: the queue is shut down.", queue, by)
	}
	return fmt.Sprintf("Added to %s%s%s.", queue, by, class)
}

// changed says what happened to an object: "Deployment default/web changed (version 8127
// → 8130)".
func changed(r *history.Record, handler *history.Part, object history.Key) string {
	what := "changed"
	switch informer.ChangeType(r.Change) {
	case informer.Added:
		what = "is new"
	case informer.Deleted:
		what = "was deleted"
	}
	how := versions(r)
	switch informer.Origin(r.Origin) {
	case informer.InitialList:
		if informer.ChangeType(r.Change) == informer.Added {
			what = "exists"
		}
		how += ", found by the first list"
	case informer.Relist:
		how += ", found by a later list"
	case informer.CatchUp:
		how += ", as the handler caught up"
	case informer.Resync:
		what, how = "was resynced", how+", unchanged"
	case informer.PartRemoved:
		what, how = "is not read any more", how+", as its part was removed"
	}
	return fmt.Sprintf("%s %s %s (%s)", printable(handler.Kind), printable(shorten(object.String(), maxItem)), what, how)
}
