package reflector

import "time"

// Op is what a reflector was doing when it failed.
type Op string

// The operations.
const (
	// OpList is reading the collection with LIST.
	OpList Op = "list"
	// OpWatchList is reading it as the initial events of a watch.
	OpWatchList Op = "watchlist"
	// OpWatch is starting a watch.
	OpWatch Op = "watch"
	// OpStream is following a watch that had started.
	OpStream Op = "stream"
)

// Failure is what [Options].Policy decides about.
type Failure struct {
	// Op and Class sort the failure, Err is the whole of it.
	Op    Op
	Class ErrorClass
	Err   error
	// Consecutive counts the failures since things were last healthy, this one
	// included.
	Consecutive int
	// Synced says that the sink has had the whole collection before.
	Synced bool
}

// Decision is what is done after a [Failure]. The zero value is [Retry].
type Decision struct {
	stop bool
	wait time.Duration
}

// Retry tries again after the backoff.
func Retry() Decision { return Decision{} }

// Stop makes Run return the error.
func Stop() Decision { return Decision{stop: true} }

// RetryAfter tries again after d, whatever the backoff is, or later if the
// server has asked for it. It suits failures that are expected to last, such as
// ClassNotFound while a CustomResourceDefinition is not installed yet: attempts
// at a pace of your own count neither for the backoff nor for the bound on
// requests. A d of less than 10ms is taken as 10ms.
func RetryAfter(d time.Duration) Decision { return Decision{wait: max(d, minWait)} }

// minWait is the shortest wait that a user can ask for: nothing spins.
const minWait = 10 * time.Millisecond
