package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// severity orders problems. The strings are part of the JSON and are class names of the
// stylesheet.
type severity string

const (
	severityError   severity = "error"   // something does not work
	severityWarning severity = "warning" // something works, but not as it should
	severityNote    severity = "note"    // something is not as usual, which may be meant
	severityNone    severity = "ok"
)

// rank of a severity: the worst is the largest. It is not in the JSON: the order of the
// problems is.
func (s severity) rank() int {
	return slices.Index([]severity{severityNone, severityNote, severityWarning, severityError}, s)
}

// problem is one thing that is wrong, and what to do about it.
//
// A problem is a sentence for the reader in trouble: what, where, since when, and what
// to do. Detail is what a server or the program said, and the only part that was not
// written here.
type problem struct {
	Severity severity `json:"severity"`
	Kind     string   `json:"kind"`     // for programs; one of the kinds in the documentation
	Part     string   `json:"part"`     // "informer pods", "queue pods" or "replica pod-1"
	Sentence string   `json:"sentence"` // what is wrong
	Detail   string   `json:"detail,omitempty"`
	Remedy   string   `json:"remedy"`
	// Also has the other parts that the same cause hits.
	Also []string `json:"also,omitempty"`

	card string // the id of the card that it belongs to
	// Of a problem that several informers may have for one reason; see merge.
	class reflector.ErrorClass
	name  string    // of the informer, as one of several
	many  string    // the sentence for several, with a verb for their names
	since time.Time // the sentence of the one that has had it for longest counts
}

// The bounds from which on something is a problem. They are far above what is usual, so
// that a page without problems means something.
const (
	lagWarning = 10 * time.Second // a handler is to return at once
	// A minute is what no function that adds a key to a queue takes. Something blocks.
	lagError  = time.Minute
	waitBound = 10 * time.Second // beyond what a class may wait, or without any worker
	// Nothing says how long an item may wait in a queue without classes, so this only
	// asks for a look.
	slowBound = time.Minute // queued without a class
	// A reconciliation that calls other systems may take minutes. It is a warning for
	// that reason.
	stuckBound = 5 * time.Minute // running
	// Two conflicts in a row happen to every controller that updates what others
	// update.
	failedBound = 3 // attempts in a row
	// The counter stays; the problem ends, as a fault that does not come again may have
	// been fixed by a change of the data.
	panicFor = 10 * time.Minute // for how long a panic is a problem

	// Watches break every few minutes, and most are back within seconds.
	degradedBound = 30 * time.Second // as in Ready of an informer
)

// causes says what an error of a class means, and what to do about it.
//
// A class without an entry gets the sentences of causeOf. A remedy begins with a verb,
// or with None if waiting is enough.
var causes = map[reflector.ErrorClass]struct{ cause, remedy string }{
	reflector.ClassRefused:      {"nothing listens at the server's address (connection refused)", "Check that the API server is running, and that its address in the configuration is right."},
	"network":                   {"the server cannot be reached", "Check the network, the DNS name and the firewalls between this program and the server."},
	"tls":                       {"there is no secure connection to the server", "Check the scheme of the address, and the CA and the server name in the configuration."},
	"timeout":                   {"the server does not answer in time", "Check whether the server can be reached and is overloaded, or a proxy holds the answer back."},
	reflector.ClassUnauthorized: {"the server rejects the credentials (401 Unauthorized)", "Renew the credentials in the configuration: they are missing, wrong or expired."},
	reflector.ClassForbidden:    {"the server does not permit this user to list and watch (403 Forbidden)", "Add the verbs list and watch on this resource to the Role or ClusterRole of this user; check with: kubectl auth can-i list RESOURCE --as USER."},
	reflector.ClassNotFound:     {"the server does not serve this resource (404 Not Found)", "Install the CustomResourceDefinition if the group is not built in; correct the version or the plural name; or look whether a gateway in front of the API server has lost its route."},
	reflector.ClassExpired:      {"the version asked for has expired (410 Gone)", "None, if it does not last: the collection is listed again."},
	"resourceVersion too large": {"the server is behind the version asked for", "None, if it does not last: a replica of the server catches up, or the collection is listed again."},
	"throttled":                 {"the server throttles this user (429 Too Many Requests)", "None, if it does not last. Else send fewer requests, or give the user a larger share in API Priority and Fairness."},
	reflector.ClassServer:       {"the server reports an error of its own (5xx)", "Look at the log of the API server, or of the API service that it names."},
	"rejected":                  {"the server rejects the request (4xx)", "Correct the selectors and the options of the request."},
	"not an API server":         {"what answers is not an API server", "Correct the address of the server; look for a proxy or a login page in between."},
	"another history":           {"the server has other objects than its watch has led to, perhaps because etcd was restored from a backup", "None: the collection is listed again."},
	"outside":                   {"the server sends objects of another namespace or outside of the selector", "Look for a proxy that changes requests, or report it to the owner of the server."},
	"wrong kind":                {"the server sends objects of another kind", "Make the Go type and the resource agree."},
	reflector.ClassDecode:       {"the answer of the server cannot be decoded", "Make the Go type and the resource agree; the error is in the log."},
	reflector.ClassTransform:    {"the Transform function fails", "Correct the Transform function; the error is in the log."},
	"no bookmark":               {"the server does not end its initial events with a bookmark", "None: the collection is listed instead."},
	"idle":                      {"the watch was silent for too long", "Look for a proxy or a firewall that drops connections without closing them."},
	"closed":                    {"watches end soon after they began", "Look for a proxy between this program and the server that closes connections."},
	"sink":                      {"the cache does not take the objects over", "The error is in the log."},
	"audit":                     {"an audit found objects that differ from the server's", "None, if it does not last: the collection is listed again. Else look for what modifies the cache, or for a server that loses changes."},
	"quarantine":                {"objects are quarantined, so the collection is read again", "See the quarantined objects."},
}

// causeOf returns the two sentences for an error. A class that is not known comes from
// a source of the program's own, or from a later version of the reflector.
func causeOf(e *errorReport) (cause, remedy string) {
	if c, ok := causes[reflector.ErrorClass(e.Class)]; ok {
		return c.cause, c.remedy
	}
	return "the source fails", "The error is in the log."
}

// problems returns what is wrong with an informer.
func (inf *informerReport) problems(now time.Time) (all []problem) {
	part := "informer " + title(inf.Name)
	add := func(s severity, kind, detail, remedy, format string, args ...any) *problem {
		all = append(all, problem{Severity: s, Kind: kind, Part: part, Sentence: fmt.Sprintf(format, args...), Detail: detail, Remedy: remedy, card: inf.id()})
		return &all[len(all)-1]
	}
	if inf.Stopped {
		add(severityNote, "stopped", "", "None, if the program stops or does not need it any more. Else see why its Run returned.",
			"Informer %s has stopped: its cache does not change any more.", title(inf.Name))
	}
	// Sources of a stopped informer are degraded or out of date by nature. Objects that
	// are quarantined still are not in its cache.
	for i := range inf.Sources {
		if s := &inf.Sources[i]; !inf.Stopped {
			inf.problemOfSource(s, now, add)
		}
		inf.problemsOfObjects(&inf.Sources[i], add)
	}
	if inf.OverdueWrites > 0 && !inf.Stopped {
		add(severityWarning, "overdue", "", "None, if it does not last: the collection is read again. Else see why the watch lags; the log names the objects.",
			"Informer %s has lacked %s of this program for more than a minute; the keys that wrote wait.", title(inf.Name), count(inf.OverdueWrites, "write"))
	}
	for i := range inf.Handlers {
		inf.Handlers[i].problems(title(inf.Name), now, add)
	}
	return all
}

// addProblem appends a problem of one informer or queue, so that its name and card are
// stated once. The result is valid until the next call.
type addProblem func(s severity, kind, detail, remedy, format string, args ...any) *problem

// of names an informer and, if it reads several, a namespace. The comma behind the
// namespace closes the apposition in the sentence.
func (inf *informerReport) of(s *sourceReport) string {
	if s.Namespace == "" {
		return title(inf.Name)
	}
	return title(inf.Name) + ", namespace " + printable(s.Namespace) + ","
}

// plain is of for an enumeration, in which a comma would end the name.
func (inf *informerReport) plain(s *sourceReport) string {
	if s.Namespace == "" {
		return title(inf.Name)
	}
	return title(inf.Name) + " (namespace " + printable(s.Namespace) + ")"
}

// problemOfSource says why a source is not synced or has lost its server.
//
// At most one case applies, the one that explains most. The order matters: a source
// that has not been started has no error yet, and one that is not synced is degraded as
// well.
func (inf *informerReport) problemOfSource(s *sourceReport, now time.Time, add addProblem) {
	name := inf.of(s)
	// A first list of a large collection takes a few seconds, and is not a problem
	// until it lasts.
	lasting := func(since time.Time) severity {
		if now.Sub(since) >= degradedBound {
			return severityWarning
		}
		return severityNote
	}
	switch {
	case reflector.State(s.State) == reflector.StateNew:
		add(severityError, "not-started", "", "Call Run of the informer, or Start of its factory.", "Informer %s has not been started.", name).
			several(inf.plain(s), "", time.Time{}, "Informers %s have not been started.")
	// An error at once, not after a grace period: what the server said is known, and
	// rarely goes away by itself.
	case !s.Synced && s.LastError != nil:
		cause, remedy := causeOf(s.LastError)
		add(severityError, "not-synced", s.failure(now), remedy, "Informer %s is not synced: %s.", name, cause).
			several(inf.plain(s), s.LastError.Class, time.Time{}, "Informers %s are not synced: %s.", cause)
	case !s.Synced:
		add(lasting(s.Since), "not-synced", "", "Wait; if it lasts, look at the network and at the server.",
			"Informer %s is not synced yet: it has been in state %s for %s.", name, printable(s.State), ago(now, s.Since))
	// A watch runs, but not for long enough to count as healthy. The handlers get
	// events, so this is a note.
	case !s.DegradedSince.IsZero() && s.LastError != nil && reflector.State(s.State) == reflector.StateWatching:
		cause, _ := causeOf(s.LastError)
		add(severityNote, "recovering", printable(s.LastError.Message), "None, if it lasts. If watches keep ending early, look for a proxy that closes connections.",
			"Informer %s has been watching again for %s, after %s: %s.", name, ago(now, s.Since), count(s.ConsecutiveFailures, "failed request"), cause)
	case !s.DegradedSince.IsZero() && s.LastError != nil:
		cause, remedy := causeOf(s.LastError)
		grade := severityWarning
		if now.Sub(s.DegradedSince) >= degradedBound {
			grade = severityError
		}
		add(grade, "degraded", s.failure(now), remedy, "Informer %s has been out of touch with the server for %s: %s.", name, ago(now, s.DegradedSince), cause).
			several(inf.plain(s), s.LastError.Class, s.DegradedSince, "Informers %s have been out of touch with the server for %s: %s.", ago(now, s.DegradedSince), cause)
	}
}

// failure is the last error, and when the next attempt is. The attempt is named only
// while the reflector waits for it.
func (s *sourceReport) failure(now time.Time) string {
	text := printable(s.LastError.Message)
	if s.NextAttempt.After(now) {
		text += " (attempt " + fmt.Sprint(s.ConsecutiveFailures+1) + " in " + short(s.NextAttempt.Sub(now)) + ")"
	}
	return text
}

// problemsOfObjects names what is quarantined. One problem for all objects of a class,
// since the remedy is the same. Three names are enough to look one up.
func (inf *informerReport) problemsOfObjects(s *sourceReport, add addProblem) {
	byClass := map[string][]string{}
	for _, q := range s.Quarantine {
		byClass[q.Class] = append(byClass[q.Class], printable(q.Item))
	}
	// A slice, so that the order is fixed. Only these two classes quarantine an object.
	for _, class := range []reflector.ErrorClass{reflector.ClassDecode, reflector.ClassTransform} {
		items := byClass[string(class)]
		if len(items) == 0 {
			continue
		}
		what, remedy := "cannot be decoded", "Correct the object, or the Go type that it is decoded into; the error is in the log. It is read again with each change and each list."
		if class == reflector.ClassTransform {
			what, remedy = "cannot be transformed", "Correct the Transform function, or the object; the error is in the log. It is read again with each change and each list."
		}
		add(severityWarning, "quarantine", "", remedy, "%s of informer %s %s, so no handler sees what changes there: %s.",
			count(len(items), "object"), inf.of(s), what, enumerate(items, 3))
	}
}

// problems returns what is wrong with a handler of an informer. Overflows are not a
// problem: the handler asked for differences by its options, and gets them.
func (h *handlerReport) problems(inf string, now time.Time, add addProblem) {
	name := title(h.Name)
	if p := h.LastPanic; p != nil && now.Sub(p.Time) < panicFor {
		add(severityError, "panic", printable(p.Message), "Correct the handler; OnPanic of its HandlerOptions has the stack. The event is not delivered again.",
			"Handler %s of informer %s panicked %s ago with the event %s %s, %s so far.",
			name, inf, ago(now, p.Time), p.Event, printable(p.Key), count(int(h.Panics), "panic"))
	}
	if age := h.LagAge.duration(); age >= lagWarning {
		grade := severityWarning
		if age >= lagError {
			grade = severityError
		}
		add(grade, "lag", "", "Let the handler return at once, for example by only adding the key to a queue; where it hangs is in /debug/pprof/goroutine.",
			"Handler %s of informer %s is behind by %s and %s.", name, inf, count(h.Lag, "event"), h.LagAge)
	}
}

// problems returns what is wrong with a queue. Without times in the queue, oldest and
// LongestRunning are 0, and only failures are found.
func (q *queueReport) problems(now time.Time) (all []problem) {
	name := title(q.Name)
	add := func(s severity, kind, detail, remedy, format string, args ...any) *problem {
		all = append(all, problem{Severity: s, Kind: kind, Part: "queue " + name, Sentence: fmt.Sprintf(format, args...), Detail: detail, Remedy: remedy, card: q.id()})
		return &all[len(all)-1]
	}
	if q.ShuttingDown {
		add(severityNote, "shut-down", "", "None, if the program stops.", "Queue %s is shut down: it takes no more items, and %s in it.", name, are(q.Queued+q.Running, "item"))
	}
	oldest := q.oldest(now)
	switch {
	// Nothing runs although something has waited for long: the workers are gone, or
	// were never started. Slow workers would leave something running.
	case q.Queued > 0 && q.Running == 0 && oldest >= waitBound:
		add(severityError, "no-workers", "", "Start Process or ProcessWith for this queue, or see why its workers have ended.",
			"No worker takes items from queue %s: %s, the oldest for %s.", name, are(q.Queued, "item")+" waiting", short(oldest))
	// With classes each has its own bound, so the oldest of all classes says nothing.
	case len(q.PriorityClasses) > 1:
		q.starved(now, add)
	case oldest >= slowBound:
		add(severityWarning, "slow", "", "Use more workers, or make the work shorter.",
			"Queue %s is behind: the oldest of %s has waited for %s, while %s running.", name, count(q.Queued, "item"), short(oldest), are(q.Running, "item"))
	}
	// The first running item is the one that was handed out first. A limit of items may
	// leave out others, but not this one.
	if d := q.LongestRunning.duration(); d >= stuckBound && len(q.RunningItems.Shown) > 0 {
		add(severityWarning, "stuck", "", "Set ProcessOptions.ItemTimeout and respect the context; where it hangs is in /debug/pprof/goroutine. Without ProcessWith, see that Done is called.",
			"A worker of queue %s has been processing %s for %s.", name, printable(q.RunningItems.Shown[0].Item), short(d))
	}
	q.failing(now, add)
	return all
}

// oldest returns for how long the oldest item of all classes has waited. The classes
// know it exactly. The items shown are a part of the queue only.
func (q *queueReport) oldest(now time.Time) (wait time.Duration) {
	for _, c := range q.PriorityClasses {
		if !c.QueuedSince.IsZero() {
			wait = max(wait, now.Sub(c.QueuedSince))
		}
	}
	return wait
}

// starved names the classes that wait for longer than they may. waitBound comes on top,
// as a class is overdue only once MaxWait has passed, and then gets every fourth turn.
func (q *queueReport) starved(now time.Time, add addProblem) {
	for i, c := range q.PriorityClasses {
		if c.QueuedSince.IsZero() || i == 0 && now.Sub(c.QueuedSince) < slowBound {
			continue
		}
		bound := c.MaxWait.duration()
		if wait := now.Sub(c.QueuedSince); wait >= bound+waitBound {
			// The most urgent class cannot be starved by another. It is behind.
			if i == 0 {
				add(severityWarning, "slow", "", "Use more workers, make the work shorter, or give fewer items the most urgent class.",
					"Queue %s is behind: the oldest of %s in the most urgent class has waited for %s.", title(q.Name), count(c.Queued, "item"), short(wait))
				continue
			}
			add(severityError, "starved", "", "Use more workers, make the work shorter, or give fewer items a more urgent class: an overdue class gets every fourth turn.",
				"Priority class %d of queue %s is starved: the oldest of its %s has waited for %s, and MaxWait is %s.",
				i, title(q.Name), count(c.Queued, "item"), short(wait), short(bound))
		}
	}
}

// failing names the item that fails most often, and the one dropped last.
//
// Two problems at most, however many items fail: they usually fail for one reason. The
// list on the card has the others.
func (q *queueReport) failing(now time.Time, add addProblem) {
	var retried, dropped *failureReport
	var others, gone int
	for i := range q.Failures.Shown {
		switch f := &q.Failures.Shown[i]; {
		case f.Action == string(workqueue.Dropped):
			gone++
			if dropped == nil || f.Time.After(dropped.Time) {
				dropped = f
			}
		case f.Attempts >= failedBound:
			// Below failedBound a retry is routine.
			others++
			if retried == nil { // the first has the most attempts
				retried = f
			}
		}
	}
	more := func(n int) string {
		if n <= 1 {
			return "."
		}
		return fmt.Sprintf("; so did %d more.", n-1)
	}
	if retried != nil {
		// No delay is known, so the attempt is due.
		next := "it is queued or running"
		if retried.NextAttempt.After(now) {
			next = "the next attempt is in " + short(retried.NextAttempt.Sub(now))
		}
		add(severityWarning, "failing", printable(retried.Message), "Correct what the error names; "+next+".",
			"%s failed %s in a row in queue %s, %s ago most recently%s", printable(retried.Item), count(retried.Attempts, "time"), title(q.Name), ago(now, retried.Time), more(others))
	}
	if dropped != nil {
		add(severityWarning, "dropped", printable(dropped.Message), "Correct what the error names; the item is processed again when it is added again.",
			"%s was dropped by queue %s %s ago, after %s%s", printable(dropped.Item), title(q.Name), ago(now, dropped.Time), count(dropped.Attempts, "attempt"), more(gone))
	}
}
