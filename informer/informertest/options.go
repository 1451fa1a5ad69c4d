package informertest

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options configure a [Server]. The zero value is a server on a loopback port
// that behaves like a current API server with its watch cache.
type Options struct {
	// InMemory serves over connections in memory instead of a loopback port.
	// Only Config's clients reach such a server. It may be used within a
	// testing/synctest bubble, in which it must also be created and closed.
	InMemory bool

	// Resources are served besides the built-in ones; one of the same group and
	// plural name replaces a built-in.
	Resources []Resource

	// Scheme holds the Go types of kinds that are served in protobuf too, if they have
	// generated code for it. For the built-in kinds it is Scheme of
	// k8s.io/client-go/kubernetes/scheme. All other kinds, custom resources among them, are
	// served in JSON only: a client that accepts nothing but protobuf is refused with
	// 406. The OpenAPI documents have the descriptions of fields from these types. Nothing
	// else depends on them: JSON of the built-in kinds is read alike without.
	Scheme *runtime.Scheme

	// ReviewAccess answers SubjectAccessReviews, also those that a client asks about
	// itself: allowed, and why. nil allows everything. Requests are carried out
	// whatever it says; use a [Fault] to refuse them. It may be called from several
	// goroutines at once.
	ReviewAccess func(AccessReview) (allowed bool, reason string)

	// Seed determines UIDs and generated names.
	Seed uint64

	// HistoryLength is how many events of each resource are kept at least for
	// watches and for lists at a past version; a quarter more may be kept. Older
	// versions are answered with 410. 0 means 10,000.
	HistoryLength int

	// BookmarkInterval is the time between two bookmarks on a watch that asked
	// for them. Another one is sent two seconds before the watch times out. 0
	// means one minute, as in the API server; negative sends none but the one
	// that ends the initial events.
	BookmarkInterval time.Duration

	// WatchTimeout ends watches that state no timeoutSeconds. 0 means 30 minutes.
	WatchTimeout time.Duration

	// FreshnessTimeout is how long a list, get or watch waits for a
	// resourceVersion that the server has not reached. 0 means 3 seconds, as in
	// the API server.
	FreshnessTimeout time.Duration

	// DisableWatchList refuses sendInitialEvents with 422, as servers do whose
	// WatchList feature is off.
	DisableWatchList bool

	// ShardedListAndWatch honours the shard selector of lists and watches, as servers do
	// whose feature gate of that name is on; it is off by default in Kubernetes 1.36. See
	// also [Server.SetShardedListAndWatch].
	ShardedListAndWatch bool

	// PaginateFromCache applies limit also to lists at resourceVersion "0", as a
	// server without watch cache does. Normally such lists are complete.
	PaginateFromCache bool
}

// withDefaults returns the options with every zero replaced by its meaning.
func (o Options) withDefaults() Options {
	setDefault(&o.HistoryLength, 10_000)
	setDefault(&o.BookmarkInterval, time.Minute)
	setDefault(&o.WatchTimeout, 30*time.Minute)
	setDefault(&o.FreshnessTimeout, 3*time.Second)
	return o
}

// setDefault sets an option that was left at its zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
