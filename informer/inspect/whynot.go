package inspect

import (
	"fmt"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue/history"
)

// whyNot collects the reasons for which the key may not be in a queue. Those of the
// informers come first, as they explain the others.
func (e *explanation) whyNot(r *report, key string, past []history.Entry) {
	for i := range r.Informers {
		e.whyNotCached(&r.Informers[i], key)
	}
	for _, handler := range lastDeliveries(past) {
		e.addReason(handler.whyNot(e.Key))
	}
	for i := range r.Informers {
		e.whyNotDelivered(&r.Informers[i], past)
	}
	for i := range e.Queues {
		switch q := &e.Queues[i]; {
		case !q.Lookup:
			e.addReason(fmt.Sprintf("Whether queue %s has it is not known: its items cannot be looked up by a text.", title(q.Queue)))
		case q.ShuttingDown && !q.Found:
			e.addReason(fmt.Sprintf("Queue %s is shut down: it takes no more items.", title(q.Queue)))
		}
	}
	switch h := &e.History; {
	case !h.Recorded:
		e.addReason("What happened to it is not known: the program records no history. Give a history.Recorder to inspect.Options.History, to the informers and to the queues.")
	case len(h.Entries) > 0:
	case h.Overwritten:
		e.addReason(fmt.Sprintf("The history of this key may have been overwritten: the recorder keeps %s, and of those beside this key the oldest is %s old.", many(h.Kept, "entry", "entries"), ago(r.Time, h.Since)))
	default:
		e.addReason(fmt.Sprintf("Nothing has happened to this key since the recorder was made, %s ago: no informer that is recorded received a change of it, and nothing added it to a queue that is recorded.", ago(r.Time, h.Since)))
	}
}

// addReason appends a reason, unless it is empty or there already.
func (e *explanation) addReason(reason string) {
	if reason == "" {
		return
	}
	for _, other := range e.WhyNot {
		if other == reason {
			return
		}
	}
	e.WhyNot = append(e.WhyNot, reason)
}

// whyNotCached says why an informer may not know the object, or not its newest state.
func (e *explanation) whyNotCached(inf *informerReport, key string) {
	name := title(inf.Name)
	namespace := objectKey(key).Namespace
	read, spaces := false, []string{}
	for i := range inf.Sources {
		s := &inf.Sources[i]
		switch s.Namespace {
		case "", namespace:
			read = true
		default:
			spaces = append(spaces, printable(s.Namespace))
			continue
		}
		for _, q := range s.Quarantine {
			if q.Item == e.Key {
				e.addReason(fmt.Sprintf("Informer %s cannot read the object (%s): it is in quarantine, and handlers do not see what changes in it.", name, printable(q.Class)))
			}
		}
		switch {
		case s.Synced:
		case s.LastError != nil:
			e.addReason(fmt.Sprintf("Informer %s is not synced: %s", name, printable(s.LastError.Message)))
		default:
			e.addReason(fmt.Sprintf("Informer %s is not synced: its reflector is %s.", name, printable(s.State)))
		}
	}
	switch {
	case inf.Stopped:
		e.addReason(fmt.Sprintf("Informer %s has stopped: its cache does not change any more.", name))
	case !read:
		e.addReason(fmt.Sprintf("Namespace %s is not watched by informer %s, which reads %s.", title(namespace), name, orNothing(spaces)))
		return
	}
	e.whyNotSelected(inf, namespace)
}

// orNothing joins names.
func orNothing(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return enumerate(all, 5)
}

// whyNotSelected says that the cache does not have the object, and which selectors may be
// why.
func (e *explanation) whyNotSelected(inf *informerReport, namespace string) {
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Informer == inf.Name && o.Found {
			return
		}
	}
	name := title(inf.Name)
	for i := range inf.Sources {
		s := &inf.Sources[i]
		if s.ranged {
			e.addReason(fmt.Sprintf("Informer %s does not have it, and reads only some ranges of hashes: if the object exists, another replica may have it.", name))
			return
		}
		if s.Selector == "" || s.Namespace != "" && s.Namespace != namespace {
			continue
		}
		e.addReason(fmt.Sprintf("Informer %s does not have it, and reads only what the selector %s matches: whether the object matches is not known here.", name, printable(s.Selector)))
		return
	}
	// What one informer has is of its kind: others have no object of this name for good reason.
	if inf.Synced && !inf.Stopped && !e.cached() {
		e.addReason(fmt.Sprintf("Informer %s has no object of this name.", name))
	}
}

// whyNotDelivered says which handlers have not got to a change that has arrived.
func (e *explanation) whyNotDelivered(inf *informerReport, past []history.Entry) {
	var received *history.Entry
	for i := range past {
		if past[i].What == history.Received && past[i].Part.Informer == inf.Name {
			received = &past[i]
		}
	}
	if received == nil {
		return
	}
	for i := range inf.Handlers {
		h := &inf.Handlers[i]
		// Nothing waits for it, so it has got to this change as well.
		if h.Lag == 0 {
			continue
		}
		delivered := false
		for j := range past {
			p := &past[j]
			delivered = delivered || p.What == history.Delivered && p.Part.Informer == inf.Name && p.Part.Name == h.Name &&
				!p.Time.Before(received.Time)
		}
		if !delivered {
			e.addReason(fmt.Sprintf("Handler %s of informer %s has not been called with the last change yet (%s): %s for it.",
				title(h.Name), title(inf.Name), versions(&received.Record), waits(h.Lag)))
		}
	}
}

// waits says how many events a handler is behind.
func waits(n int) string {
	if n == 1 {
		return "1 event waits"
	}
	return grouped(n) + " events wait"
}

// delivery is the last call of a handler with an object, and what came of it.
type delivery struct {
	call     *history.Entry
	refused  *history.Entry // nil if no predicate refused it
	added    bool           // under this key
	panicked bool
}

// lastDeliveries returns the last call of each handler, in the order of the calls.
func lastDeliveries(past []history.Entry) (all []*delivery) {
	of := map[*history.Part]*delivery{}
	for i := range past {
		p := &past[i]
		switch p.What {
		case history.Delivered:
			of[p.Part] = &delivery{call: p}
		case history.Refused:
			if d := of[p.Part]; d != nil {
				d.refused = p
			}
		case history.Panicked:
			if d := of[p.Part]; d != nil {
				d.panicked = true
			}
		case history.Added, history.Collapsed, history.AddedAgain, history.AddedParked, history.Rejected:
			if d := of[p.Cause]; d != nil {
				d.added = true
			}
		}
	}
	for i := range past {
		if d := of[past[i].Part]; d != nil && d.call == &past[i] {
			all = append(all, d)
		}
	}
	return all
}

// whyNot says why the call did not add the key; empty if it did.
func (d *delivery) whyNot(key string) string {
	who := fmt.Sprintf("Handler %s of informer %s", title(d.call.Part.Name), title(d.call.Part.Informer))
	change := fmt.Sprintf("the %s %s", lowerFirst(changeName(&d.call.Record)), versions(&d.call.Record))
	switch {
	case d.panicked:
		return fmt.Sprintf("%s panicked when it was called with %s.", who, change)
	case d.added:
		return ""
	case d.refused != nil:
		return fmt.Sprintf("%s did not add it: predicate %s dropped %s.", who, printable(orUnnamed(d.refused.Object.Name)), change)
	}
	return fmt.Sprintf("%s was called with %s and is not known to have added %s: it may have added another key, such as that of an owner, or have added it itself without the handlers of package informer.", who, change, printable(key))
}

// orUnnamed stands for a function without a name.
func orUnnamed(name string) string {
	if name == "" {
		return "(without a name)"
	}
	return name
}

// changeName is the type of a change as a noun.
func changeName(r *history.Record) string {
	switch informer.ChangeType(r.Change) {
	case informer.Added:
		return "Addition"
	case informer.Updated:
		if informer.Origin(r.Origin) == informer.Resync {
			return "Resync"
		}
		return "Update"
	case informer.Deleted:
		return "Deletion"
	}
	return "Change"
}

// versions says from which version to which a change went.
func versions(r *history.Record) string {
	switch {
	case r.Old != 0 && r.New != 0 && r.Old != r.New:
		return fmt.Sprintf("version %d → %d", r.Old, r.New)
	case r.New != 0:
		return fmt.Sprintf("version %d", r.New)
	case r.Old != 0:
		return fmt.Sprintf("version %d", r.Old)
	}
	return "of an unknown version"
}
