package inspect

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

const (
	// maxKey bounds the parameter key. A namespace and a name have 317 bytes at most.
	maxKey = 512
	// maxEntries is how many entries of the history are shown, the newest.
	maxEntries = 200
)

// explanation is the answer for one key. Its JSON is described in the package's README.
type explanation struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Key     string    `json:"key"`
	// Answer says in a sentence how the key is, or why it was not processed.
	Answer problem `json:"answer"`
	// WhyNot are reasons for which the key may not be processed, or not with the newest
	// state, those that are certain first.
	WhyNot  []string       `json:"whyNot"`
	Objects []objectReport `json:"objects"`
	Queues  []itemState    `json:"queues"`
	History historyReport  `json:"history"`

	asked string // the key, not shortened
}

// historyReport is what the recorder has of the key.
type historyReport struct {
	// Recorded is whether there is a recorder: Options.History.
	Recorded bool `json:"recorded"`
	// Kept is how many entries it keeps, of all keys.
	Kept int `json:"kept"`
	// Overwritten is whether entries before Since may be missing.
	Overwritten bool      `json:"overwritten"`
	Since       time.Time `json:"since,omitzero"`
	// The oldest comes first; LeftOut are older ones that are not shown.
	Entries []entryReport `json:"entries"`
	LeftOut int           `json:"leftOut"`
}

// explain answers for one key. The report has the state of everything, and the problems.
func (h *Handler) explain(r *report, shown []*Source, key string) *explanation {
	e := &explanation{
		Version: version, Time: r.Time, Key: shorten(key, maxItem), asked: key, WhyNot: []string{},
		Objects: []objectReport{}, Queues: []itemState{}, History: historyReport{Entries: []entryReport{}},
	}
	for _, s := range shown {
		if s.find != nil {
			e.lookUpObject(s, key, &h.opts)
		}
		if s.item != nil {
			e.Queues = append(e.Queues, s.item(&h.opts, key))
		}
	}
	slices.SortStableFunc(e.Objects, func(a, b objectReport) int { return cmp.Compare(a.Informer, b.Informer) })
	slices.SortStableFunc(e.Queues, func(a, b itemState) int { return cmp.Compare(a.Queue, b.Queue) })
	var past history.History
	if h.opts.History != nil {
		past = h.opts.History.Of(key)
		e.History = reportHistory(&past, &h.opts)
	}
	e.whyNot(r, key, past.Entries)
	e.Answer = e.answer(r, past.Entries, &h.opts)
	return e
}

// known reports whether a cache, a queue or the history has the key.
func (e *explanation) known() bool {
	return e.cached() || len(e.History.Entries) > 0 || slices.ContainsFunc(e.Queues, func(q itemState) bool { return q.Found })
}

// cached reports whether a cache has the key.
func (e *explanation) cached() bool {
	return slices.ContainsFunc(e.Objects, func(o objectReport) bool { return o.Found })
}

// lookUpObject looks the key up in the caches of a source.
func (e *explanation) lookUpObject(s *Source, key string, opts *Options) {
	found := s.find(objectKey(key))
	for _, h := range s.informers() {
		if obj, ok := found[h.Name]; ok {
			e.Objects = append(e.Objects, reportObject(h.Name, obj, opts))
		} else {
			e.Objects = append(e.Objects, objectReport{Informer: h.Name})
		}
	}
}

// goName is the name of the Go type of an object.
func goName(obj informer.Object) string {
	t := reflect.TypeOf(obj)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// answer says how the key is: by what a queue has of it now, else by what happened last,
// else by the first reason against it.
func (e *explanation) answer(r *report, past []history.Entry, opts *Options) problem {
	for i := range e.Queues {
		if p, ok := e.Queues[i].answer(e.Key, r.Time); ok {
			return p
		}
	}
	last := lastOutcome(past)
	// What came after the last outcome and led to nothing is what is asked about.
	if len(e.WhyNot) > 0 && (last == nil || past[len(past)-1].Time.After(last.Time)) {
		return problem{Severity: severityWarning, Kind: "not-queued", Part: e.Key,
			Sentence: fmt.Sprintf("%s is in no queue. %s", printable(e.Key), e.WhyNot[0]), Remedy: e.remedy(r)}
	}
	if last != nil {
		return problem{Severity: severityNone, Kind: "processed", Part: e.Key,
			Sentence: fmt.Sprintf("%s is in no queue: %s ago, %s", printable(e.Key), ago(r.Time, last.Time), lowerFirst(sentence(last, opts)))}
	}
	p := problem{Severity: severityNote, Kind: "unknown", Part: e.Key, Sentence: printable(e.Key) + " is in no queue, and nothing is known that would add it to one.", Remedy: e.remedy(r)}
	if len(e.WhyNot) > 0 {
		p.Sentence = fmt.Sprintf("%s is in no queue. %s", printable(e.Key), e.WhyNot[0])
	}
	return p
}

// remedy is that of the worst problem, as far as it is about an informer.
func (e *explanation) remedy(r *report) string {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Severity == severityError && strings.HasPrefix(p.Part, "informer ") {
			return p.Remedy
		}
	}
	return ""
}

// lastOutcome is the last time that a worker was done with the key, or nil.
func lastOutcome(past []history.Entry) *history.Entry {
	for i := range slices.Backward(past) {
		switch past[i].What {
		case history.Succeeded, history.Done, history.Dropped, history.Interrupted:
			return &past[i]
		}
	}
	return nil
}

// answer says where the item is in this queue; ok is false if it is not in it.
func (s *itemState) answer(key string, now time.Time) (p problem, ok bool) {
	queue := "queue " + title(s.Queue)
	p = problem{Severity: severityNone, Kind: "in-queue", Part: queue}
	key = printable(key)
	switch {
	case s.Running:
		p.Sentence = fmt.Sprintf("%s is being processed%s, from %s.", key, since(now, s.RunningSince), queue)
	case s.Queued:
		p.Sentence = fmt.Sprintf("%s waits for a worker of %s%s, in class %d with %s queued.", key, queue, since(now, s.QueuedSince), s.PriorityClass, count(s.ClassQueued, "item"))
	case s.Until != "" || !s.ParkedUntil.IsZero():
		p.Sentence = fmt.Sprintf("%s is parked in %s %s.", key, queue, parkedText(s.Until, s.ParkedUntil, now))
	case s.Failure != nil && s.Found:
		p.Sentence = fmt.Sprintf("%s failed in %s %s ago; next try in %s.", key, queue, ago(now, s.Failure.Time), short(s.DelayedUntil.Sub(now)))
	case !s.DelayedUntil.IsZero():
		p.Sentence = fmt.Sprintf("%s is delayed in %s for another %s.", key, queue, short(s.DelayedUntil.Sub(now)))
	case s.Failure != nil && s.Failure.Action == string(workqueue.Dropped):
		p.Sentence = fmt.Sprintf("%s was dropped by %s %s ago, after %s: it is not tried again before it is added.", key, queue, ago(now, s.Failure.Time), count(s.Failure.Attempts, "failure"))
	default:
		return p, false
	}
	if s.Failure != nil {
		p.Severity, p.Kind = severityWarning, "failing" // as on the page of everything
		p.Detail = printable(s.Failure.Message)
		p.Remedy = cmp.Or(p.Remedy, "Read the error, which is that of the last attempt.")
	}
	return p, true
}

// lowerFirst makes a sentence the end of another one.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
