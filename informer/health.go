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
	// Sources has one entry, or one per namespace. An informer of [NewRanged] has one as
	// long as it has ranges.
	Sources []SourceHealth
	// Ranges has one entry per range of an informer of [NewRanged], in their order.
	Ranges []RangeHealth
	// HashKey is what an informer of [NewRanged] hashes.
	HashKey HashKey
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
	// FilteredBy is what keeps the objects of other ranges out, for an informer of
	// [NewRanged]: the server, or the client if the server ignores the shard selector.
	// It is empty for any other informer, and as long as that is not known.
	FilteredBy FilteredBy
	// Outside is the number of objects of other ranges that were received, and dropped.
	Outside uint64
	// Reflector says what the reflector does, and what went wrong last.
	Reflector reflector.Health
}

// RangeHealth describes one range of an informer of [NewRanged].
type RangeHealth struct {
	Range HashRange
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
	// up because more events than its Bound were waiting. It is counted when the
	// handler returns from the events that it is processing, once however many came
	// in between. So a handler that never returns is not counted; LagAge shows it.
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
