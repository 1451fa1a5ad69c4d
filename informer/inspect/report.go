package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// version is that of the JSON: it changes when a field goes or gets another meaning. A
// new field does not change it: clients are to ignore what they do not know.
const version = 1

// report is an answer. Its JSON is described in the package's README.
//
// It is also what the page and the text are made of. The types here are those of the
// JSON and not of the library, so that a change of the API does not change what scripts
// read.
type report struct {
	Version   int              `json:"version"`
	Time      time.Time        `json:"time"`
	Problems  []problem        `json:"problems"`
	Informers []informerReport `json:"informers"`
	Queues    []queueReport    `json:"queues"`
	Replicas  []replicaReport  `json:"replicas"`
}

// informerReport is one informer, with what feeds it and what it delivers to. Errors
// and names are those of its [informer.Health]. Empty lists are [] in JSON, never null.
type informerReport struct {
	Name   string `json:"name"`
	Synced bool   `json:"synced"`
	// From the call of Run; 0 as long as Synced is false.
	SyncedAfter seconds `json:"syncedAfterSeconds"`
	Stopped     bool    `json:"stopped"`
	// Objects in the cache now.
	Objects         int    `json:"objects"`
	ResourceVersion string `json:"resourceVersion"`
	// Entries of the event log since the start. A list counts as one, so this is not
	// the number of events that handlers got.
	Events uint64 `json:"events"`
	// Writes of this program that the cache has lacked for more than a minute; left out if there are none.
	OverdueWrites int `json:"overdueWrites,omitempty"`
	// Nil if the source cannot say it.
	Sources []sourceReport `json:"sources"`
	// Of an informer that reads ranges of hashes.
	Ranges []rangeReport `json:"ranges"`
	// What it hashes; left out without ranges.
	HashKey  string          `json:"hashKey,omitempty"`
	Handlers []handlerReport `json:"handlers"`
}

// sourceReport is one source of an informer: its reflector, and the changes of it that
// wait to be applied. Most fields are those of reflector.Health, under the same names.
type sourceReport struct {
	// Empty for a source that reads all namespaces, and for a resource without them.
	Namespace string `json:"namespace"`
	// What of the resource is selected, such as "labels app=web"; empty: everything, or
	// the source does not say it.
	Selector string `json:"selector,omitempty"`
	ranged   bool   // only some ranges of hashes are read
	// What keeps objects of other ranges out, and how many were received and dropped. Empty
	// for an informer that does not read ranges, and as long as it is not known.
	FilteredBy string `json:"filteredBy,omitempty"`
	Outside    uint64 `json:"outside"`
	// A reflector.State, and since when.
	State           string    `json:"state"`
	Since           time.Time `json:"since,omitzero"`
	Synced          bool      `json:"synced"`
	LastSync        time.Time `json:"lastSync,omitzero"`
	LastEvent       time.Time `json:"lastEvent,omitzero"`
	ResourceVersion string    `json:"resourceVersion"`
	// Changes that were read and are not in the cache yet.
	Queued int `json:"queued"`
	// Since the last watch that was healthy. Zero means that nothing is wrong now.
	ConsecutiveFailures int          `json:"consecutiveFailures"`
	DegradedSince       time.Time    `json:"degradedSince,omitzero"`
	NextAttempt         time.Time    `json:"nextAttempt,omitzero"`
	LastError           *errorReport `json:"lastError,omitempty"`
	// Requests since the start; pages of one list count one by one.
	Lists      int `json:"lists"`
	WatchLists int `json:"watchLists"`
	Watches    int `json:"watches"`
	// Ends of watches by class. Servers end each watch after some minutes, so large
	// numbers alone mean nothing.
	Reconnects map[string]int `json:"reconnects"`
	// Ever, and those of now, at most 100.
	Quarantined int              `json:"quarantined"`
	Quarantine  []quarantineItem `json:"quarantine"`
	Audit       *auditReport     `json:"audit,omitempty"`
}

// rangeReport is a range of hashes that an informer reads.
type rangeReport struct {
	Range  string `json:"range"`
	Synced bool   `json:"synced"`
}

// errorReport is the last error of a source; see message for what it must not quote.
// Class is a reflector.ErrorClass. It is for programs, which must not match the
// message.
type errorReport struct {
	Class   string    `json:"class"`
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}

// quarantineItem is an object that could not be read, without what is in it. Item is
// its key, as far as it could be read.
type quarantineItem struct {
	Item  string `json:"item"`
	Class string `json:"class"`
}

// handlerReport is one handler, with how far it is behind. Lag counts entries of the
// log, the one that is being delivered included; lagSeconds is the age of the oldest of
// them.
type handlerReport struct {
	Name       string  `json:"name"`
	Synced     bool    `json:"synced"`
	Lag        int     `json:"lag"`
	LagAge     seconds `json:"lagSeconds"`
	CatchingUp bool    `json:"catchingUp"`
	Delivered  uint64  `json:"delivered"`
	Overflows  uint64  `json:"overflows"`
	Panics     uint64  `json:"panics"`

	LastPanic *panicReport `json:"lastPanic,omitempty"`
}

// panicReport is the last panic of a handler; see panicText for what it must not quote.
type panicReport struct {
	Event   string    `json:"event"`
	Key     string    `json:"key"`
	Message string    `json:"message"`
	Time    time.Time `json:"time"`
}

// queueReport is one queue: numbers, and the first items of each kind.
//
// Numbers are of one moment, under one lock. Counters count since the start of the
// queue; everything in seconds is 0 in a queue that keeps no times.
type queueReport struct {
	Name         string `json:"name"`
	ShuttingDown bool   `json:"shuttingDown"`
	Queued       int    `json:"queued"`
	// Running items that were added once more; they are not in Queued.
	Again          int    `json:"again"`
	Delayed        int    `json:"delayed"`
	Parked         int    `json:"parked"`
	Running        int    `json:"running"`
	Added          uint64 `json:"added"`
	Retried        uint64 `json:"retried"`
	Dropped        uint64 `json:"dropped"`
	Panics         uint64 `json:"panics,omitempty"` // that were recovered; left out if there were none
	ParkTimeouts   uint64 `json:"parkTimeouts"`
	ShutdownLosses uint64 `json:"shutdownLosses"`
	// Of the items that are shown. The classes have the oldest of all.
	LongestQueued   seconds       `json:"longestQueuedSeconds"`
	LongestRunning  seconds       `json:"longestRunningSeconds"`
	UnfinishedWork  seconds       `json:"unfinishedWorkSeconds"`
	PriorityClasses []classReport `json:"priorityClasses"`
	// Items done in each period of ten seconds, the oldest first; the last period is
	// not over. Empty without a history.
	Throughput []int    `json:"throughput"`
	Failures   failures `json:"failures"`
	// The first items of each kind, in the order of workqueue.Inspection.
	QueuedItems  items `json:"queuedItems"`
	RunningItems items `json:"runningItems"`
	DelayedItems items `json:"delayedItems"`
	ParkedItems  items `json:"parkedItems"`

	timed bool // whether the queue keeps times
}

// classReport is one priority class of a queue. Class 0 is the most urgent. A queue
// without priority classes has just that one.
type classReport struct {
	MaxWait seconds `json:"maxWaitSeconds"`
	Queued  int     `json:"queued"`
	Groups  int     `json:"groups"`

	QueuedSince time.Time `json:"queuedSince,omitzero"`
}

// failures are some items that failed last time, and how many more there are. The history
// keeps the last 256, and a page shows at most MaxItems of them.
type failures struct {
	Shown   []failureReport `json:"shown"`
	LeftOut int             `json:"leftOut"`
}

// failureReport is the last failure of an item; see errorText for what it must not quote.
type failureReport struct {
	Item     string    `json:"item"`
	Attempts int       `json:"attempts"`
	Action   string    `json:"action"`
	Message  string    `json:"message"`
	Time     time.Time `json:"time"`
	// Zero for an item that is not delayed.
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
}

// items are some items of a kind, and how many more there are. LeftOut is a number
// rather than a flag: it says how much more there is to worry about.
type items struct {
	Shown   []itemReport `json:"shown"`
	LeftOut int          `json:"leftOut"`
}

// itemReport is one item of a queue. The times that do not apply to its kind are left
// out.
type itemReport struct {
	Item          string    `json:"item"`
	PriorityClass int       `json:"priorityClass"`
	Group         string    `json:"group,omitempty"`
	Retries       int       `json:"retries"`
	Again         bool      `json:"again"`
	QueuedSince   time.Time `json:"queuedSince,omitzero"`
	RunningSince  time.Time `json:"runningSince,omitzero"`
	DelayedUntil  time.Time `json:"delayedUntil,omitzero"`
	ParkedUntil   time.Time `json:"parkedUntil,omitzero"`
	// What ends the park before.
	Until string `json:"until,omitempty"`
}

// seconds is a duration as the JSON has it. A number and not text such as "1m30s",
// which other languages cannot parse.
type seconds float64

// inSeconds converts a duration. Prometheus and Kubernetes state durations in seconds,
// too.
func inSeconds(d time.Duration) seconds { return seconds(d.Seconds()) }

// duration converts back.
func (s seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// String is for the page: JSON has the number.
func (s seconds) String() string { return short(s.duration()) }

// newReport asks each source how it is. Nothing is locked meanwhile but what the
// source locks by itself.
//
// The parts are asked one after the other: a lock over all would stop the program.
func newReport(shown []*Source, opts *Options) *report {
	// Slices that are made here are never nil, for the sake of the JSON.
	r := &report{Version: version, Time: time.Now().UTC(), Problems: []problem{}, Informers: []informerReport{}, Queues: []queueReport{}, Replicas: []replicaReport{}}
	for _, s := range shown {
		if s.queue != nil {
			r.Queues = append(r.Queues, s.queue(opts))
			continue
		}
		if s.replica != nil {
			r.Replicas = append(r.Replicas, s.replica(opts))
			continue
		}
		for _, h := range s.informers() {
			r.Informers = append(r.Informers, reportInformer(h, opts))
		}
	}
	// Sorted, so that two pages can be compared; sources of equal names keep their
	// order.
	slices.SortStableFunc(r.Informers, func(a, b informerReport) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Queues, func(a, b queueReport) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Replicas, func(a, b replicaReport) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Identity, b.Identity))
	})
	// After sorting, so that problems of one rank come in the order of the names.
	for i := range r.Informers {
		r.Problems = append(r.Problems, r.Informers[i].problems(r.Time)...)
	}
	for i := range r.Queues {
		r.Problems = append(r.Problems, r.Queues[i].problems(r.Time)...)
	}
	for i := range r.Replicas {
		r.Problems = append(r.Problems, r.Replicas[i].problems(r.Time)...)
	}
	r.Problems = sortProblems(mergeProblems(r.Problems))
	return r
}

// reportInformer describes an informer. Lists that are empty are not nil, so that the
// JSON has [] and a client need not know about null.
func reportInformer(h informer.Health, opts *Options) informerReport {
	r := informerReport{
		Name:            h.Name,
		Synced:          h.Synced,
		SyncedAfter:     inSeconds(h.SyncedAfter),
		Stopped:         h.Stopped,
		Objects:         h.Objects,
		ResourceVersion: h.ResourceVersion,
		Events:          h.Events,
		OverdueWrites:   h.OverdueWrites,
		Sources:         make([]sourceReport, 0, len(h.Sources)),
		Ranges:          make([]rangeReport, 0, len(h.Parts)),
		Handlers:        make([]handlerReport, 0, len(h.Handlers)),
	}
	for i := range h.Sources {
		source := reportSource(&h.Sources[i])
		source.ranged = source.ranged || len(h.Parts) > 0 // before it is known who filters
		r.Sources = append(r.Sources, source)
	}
	for _, one := range h.Parts {
		r.Ranges = append(r.Ranges, rangeReport{Range: one.Name, Synced: one.Synced})
	}
	if len(h.Parts) > 0 {
		r.HashKey = h.PartsOf
	}
	// By namespace, so that two answers can be compared.
	slices.SortStableFunc(r.Sources, func(a, b sourceReport) int { return cmp.Compare(a.Namespace, b.Namespace) })
	for _, hh := range h.Handlers {
		handler := handlerReport{
			Name: hh.Name, Synced: hh.Synced, Lag: hh.Lag, LagAge: inSeconds(hh.LagAge), CatchingUp: hh.CatchingUp,
			Delivered: hh.Delivered, Overflows: hh.Overflows, Panics: hh.Panics,
		}
		// The value of the panic is the program's, so panicText decides what of it is
		// shown.
		if p := hh.LastPanic; p != nil {
			handler.LastPanic = &panicReport{Event: p.Type.String(), Key: describeItem(p.Key), Message: opts.panicText(p.Value), Time: hh.LastPanicTime.UTC()}
		}
		r.Handlers = append(r.Handlers, handler)
	}
	return r
}

// reportSource describes a source. All times are in UTC, whatever the zone of the
// process: the reader compares them with those of another replica. The zero time stays
// zero in UTC, so that omitzero still leaves it out.
func reportSource(s *informer.SourceHealth) sourceReport {
	h := &s.Reflector
	r := sourceReport{
		Namespace:           s.Namespace,
		Selector:            s.Selector,
		ranged:              s.FilteredBy != "",
		FilteredBy:          string(s.FilteredBy),
		Outside:             s.Outside,
		State:               string(h.State),
		Since:               h.Since.UTC(),
		Synced:              h.Synced,
		LastSync:            h.LastSync.UTC(),
		LastEvent:           h.LastEvent.UTC(),
		ResourceVersion:     h.ResourceVersion,
		Queued:              s.Queued,
		ConsecutiveFailures: h.ConsecutiveFailures,
		DegradedSince:       h.DegradedSince.UTC(),
		NextAttempt:         h.NextAttempt.UTC(),
		Lists:               h.Lists,
		WatchLists:          h.WatchLists,
		Watches:             h.Watches,
		Reconnects:          make(map[string]int, len(h.Reconnects)),
		Quarantined:         h.Quarantined,
		Quarantine:          make([]quarantineItem, 0, len(h.Quarantine)),
		Audit:               reportAudit(h),
	}
	// The text is reduced here, where the error is still known by its type. Nothing
	// behind this point can quote an object.
	if h.LastError != nil {
		r.LastError = &errorReport{Class: string(h.LastErrorClass), Message: message(h), Time: h.LastErrorTime.UTC()}
	}
	// Copied with keys of type string, whose order the encoder sorts.
	for class, n := range h.Reconnects {
		r.Reconnects[string(class)] = n
	}
	for _, e := range h.Quarantine {
		r.Quarantine = append(r.Quarantine, quarantineItem{Item: describeItem(e.Key), Class: string(e.Class)})
	}
	return r
}

// reportQueue describes a queue, from one inspection. That is all that is read under
// the lock of the queue; the texts are made afterwards, without it.
func reportQueue[T comparable](in workqueue.Inspection[T], opts *Options) queueReport {
	s := in.Stats
	r := queueReport{
		Name:            in.Name,
		ShuttingDown:    in.ShuttingDown,
		Queued:          s.Queued,
		Again:           s.Again,
		Delayed:         s.Delayed,
		Parked:          s.Parked,
		Running:         s.Running,
		Added:           s.Added,
		Retried:         s.Retried,
		Dropped:         s.Dropped,
		Panics:          s.Panics,
		ParkTimeouts:    s.ParkTimeouts,
		ShutdownLosses:  s.ShutdownLosses,
		LongestRunning:  inSeconds(s.LongestRunning),
		UnfinishedWork:  inSeconds(s.UnfinishedWork),
		PriorityClasses: make([]classReport, 0, len(in.PriorityClasses)),
		QueuedItems:     reportItems(in.Queued, s.Queued),
		RunningItems:    reportItems(in.Running, s.Running),
		DelayedItems:    reportItems(in.Delayed, s.Delayed),
		ParkedItems:     reportItems(in.Parked, s.Parked),
		Throughput:      []int{},
		Failures:        failures{Shown: []failureReport{}},
		timed:           in.Timed,
	}
	if opts.History != nil {
		r.Throughput = append(r.Throughput, opts.History.Throughput(in.Name)...)
		some, all := opts.History.Failures(in.Name, opts.MaxItems)
		r.Failures.LeftOut = all - len(some)
		for i := range some {
			if some[i].Action == workqueue.Dropped && isGone(opts.History.Of(describeItem(some[i].Key)).Entries) {
				continue // nothing is wrong with what does not exist any more
			}
			r.Failures.Shown = append(r.Failures.Shown, reportFailure(&some[i], opts))
		}
	}
	for _, c := range in.PriorityClasses {
		r.PriorityClasses = append(r.PriorityClasses, classReport{MaxWait: inSeconds(c.MaxWait), Queued: c.Queued, Groups: c.Groups, QueuedSince: c.QueuedSince.UTC()})
	}
	// Not the time of the report: the queue was inspected later than that, and a wait
	// must not come out below zero.
	now := time.Now()
	for _, i := range in.Queued {
		if !i.QueuedSince.IsZero() {
			r.LongestQueued = max(r.LongestQueued, inSeconds(now.Sub(i.QueuedSince)))
		}
	}
	return r
}

// isGone reports whether the last change of an object in its history is its deletion.
func isGone(past []history.Entry) bool {
	for i := range slices.Backward(past) {
		if past[i].Change != 0 {
			return informer.ChangeType(past[i].Change) == informer.Deleted
		}
	}
	return false
}

// reportFailure describes the last failure of an item. Error may be the program's own, and
// slow; it is called without any lock.
func reportFailure(f *history.Failure, opts *Options) failureReport {
	return failureReport{
		Item: describeItem(f.Key), Attempts: f.Attempts, Action: string(f.Action), Message: opts.errorText(f.Err),
		Time: f.Time.UTC(), NextAttempt: f.NextAttempt.UTC(),
	}
}

// reportItems describes some items out of all of a kind. Retries and Again do not
// depend on the kind. The times do, and are left out where they are zero.
func reportItems[T comparable](some []workqueue.Item[T], all int) items {
	r := items{Shown: make([]itemReport, 0, len(some)), LeftOut: all - len(some)}
	for _, i := range some {
		r.Shown = append(r.Shown, itemReport{
			Item:          describeItem(i.Item),
			PriorityClass: i.PriorityClass,
			Group:         shorten(i.Group, maxItem),
			Retries:       i.Retries,
			Again:         i.Again,
			QueuedSince:   i.QueuedSince.UTC(),
			RunningSince:  i.RunningSince.UTC(),
			DelayedUntil:  i.DelayedUntil.UTC(),
			ParkedUntil:   i.ParkedUntil.UTC(),
			Until:         describeCondition(i.Until),
		})
	}
	return r
}
