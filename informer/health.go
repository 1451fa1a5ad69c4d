package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

// Health is what an informer can say about itself at one moment.
type Health struct {
	// Name is the informer's.
	Name string
	// Synced is whether the first list is in the cache, and SyncedAfter how long
	// after the call of Run that was.
	Synced      bool
	SyncedAfter time.Duration
	// Stopped is whether nothing will change any more.
	Stopped bool
	// Objects is the number of objects in the cache, and ResourceVersion how far
	// it has got.
	Objects         int
	ResourceVersion string
	// Events is the number of entries that were ever put into the event log; the
	// result of a list counts as one.
	Events uint64
	// OverdueWrites is the number of writes that [Informer.Seen] has been waiting for longer than a minute, and
	// OverdueTotal how many have taken so long so far.
	OverdueWrites int
	OverdueTotal  uint64
	// Sources has one entry, or one per namespace. An informer with a [Selection] has one as
	// long as something is selected.
	Sources []SourceHealth
	// Parts has one entry per part of what the [Selection] of the informer selects, and
	// PartsOf says what they are parts of, such as "HashUID" for the hashes of UIDs.
	Parts   []PartHealth
	PartsOf string
	// Handlers has one entry per registration, ordered by name.
	Handlers []HandlerHealth
}

// SourceHealth describes what feeds the cache.
type SourceHealth struct {
	// Namespace is that of the source if the informer has several.
	Namespace string
	// Selector describes the selectors of the source, if it has any and says so, as a
	// source of reflector.NewResource does: "labels app=web". An object that does not
	// match is not in the cache, and one that ceases to match arrives as a deletion.
	Selector string
	// Queued is the number of changes that wait to be applied.
	Queued int
	// FilteredBy is what keeps the objects that are not selected out of the cache, if the
	// informer has a [Selection]: the server, or the client if the server ignores what it
	// is sent. It is empty as long as that is not known.
	FilteredBy FilteredBy
	// Outside is the number of objects that were received, and dropped as they were not selected.
	Outside uint64
	// Reflector says what the reflector does, and what went wrong last.
	Reflector reflector.Health
}

// FilteredBy says who filters; see [SourceHealth].
type FilteredBy string

// The ways in which the objects of a part are selected.
const (
	FilteredByServer FilteredBy = "server"
	FilteredByClient FilteredBy = "client"
)

// PartHealth describes one part of what is selected.
type PartHealth struct {
	Name string
	// Synced is whether its first list is in the cache.
	Synced bool
}

// HandlerHealth describes one registration.
type HandlerHealth struct {
	// Name is that of the registration.
	Name string
	// Synced is whether the first objects were delivered to it.
	Synced bool
	// Lag is the number of entries of the log that wait for it; the one that
	// is being delivered is included. LagAge is how long the oldest of those has
	// been waiting, as of when it was looked at last, or for how long the handler
	// has been catching up; 0 if it has nothing to do.
	Lag    int
	LagAge time.Duration
	// CatchingUp is whether a difference of snapshots is being delivered to it: at
	// first, after a list, or after an overflow.
	CatchingUp bool
	// Delivered counts the events that it was called with, and Panics those that
	// OnPanic was called for. Overflows counts how many times it has had to catch
	// up because more events than its Bound were waiting, or a second list that updated
	// or deleted objects. It is counted when the handler returns from the events that it
	// is processing, once however many came in between. So a handler that never returns
	// is not counted; LagAge shows it.
	Delivered, Overflows, Panics uint64
	// LastPanic is the last panic of which OnPanic was called, at LastPanicTime; nil
	// if there was none. Its Stack is left out.
	LastPanic     *HandlerPanic
	LastPanicTime time.Time
}

// HandlerPanic describes a panic in a handler's OnEvent.
type HandlerPanic struct {
	// Handler is the name of the registration.
	Handler string
	// Type, Key and Origin are those of the event.
	Type   ChangeType
	Key    types.NamespacedName
	Origin Origin
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of the panic, formatted as by debug.Stack.
	Stack []byte
}

// MetricsProvider provides the [Metrics] of each informer, for example series with
// the informer's name as a label. Package informer/prometheus has one.
type MetricsProvider interface {
	// Informer is called by Run, once for each informer. The function health is
	// the informer's [Informer.Health], to be called from any goroutine, for
	// example for each scrape; so all informers of a [Factory] are seen.
	Informer(name string, health func() Health) Metrics
}

// Metrics records the measurements of one informer. The methods are called one at
// a time by the goroutine that applies changes, which waits for them: they must not
// block. What changes with time rather than with events (lag per handler, age of
// the cache, length of the queue, reconnects) is in [Health], to be read as needed.
//
// What its reflectors and a work queue measure is in the Metrics of their packages.
type Metrics interface {
	// Applied records that a batch was applied to the cache and logged.
	Applied(counts EventCounts, took time.Duration)
	// Synced records how long the first list took, from the call of Run.
	Synced(after time.Duration)
	// Close is called when the informer has stopped: its series should end. It is
	// the last call.
	Close()
}

// EventCounts says what a batch consisted of.
type EventCounts struct {
	// Added, Updated and Deleted count changes of the cache, those found by a
	// list included.
	Added, Updated, Deleted int
	// Lists counts the results of lists, first or later.
	Lists int
	// Objects is how many objects the cache has after the batch.
	Objects int
}

// count adds one event of a type.
func (c *EventCounts) count(t ChangeType) {
	switch t {
	case Added:
		c.Added++
	case Updated:
		c.Updated++
	case Deleted:
		c.Deleted++
	}
}
