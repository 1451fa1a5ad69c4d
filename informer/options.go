package informer

import (
	"iter"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// Options configures an informer. The zero value is good.
type Options[T Object] struct {
	// Name is for logs, errors, health and metrics. The default is the name of
	// the Go type, such as "Pod".
	Name string
	// Resource is what the errors of the [Lister] name. The default is what the
	// source says, if it does, and else is derived from Name.
	Resource schema.GroupResource
	// Logger gets what goes wrong. The default is slog.Default() at the time of
	// New; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
	// Transform, if set, changes each object before it is stored, once, for
	// example to drop managedFields. It owns the object that it gets. UID,
	// resourceVersion, namespace and name are put back if it clears or changes
	// them: an object cannot be stored under another name. See
	// [reflector.Transform].
	Transform func(T) (T, error)
	// Reflector configures how the source is listed and watched.
	Reflector reflector.Options
	// Indexer configures the cache, for example its indexes.
	Indexer indexer.Options[T]
	// QueueLimit is the number of changes that may wait to be applied before the
	// informer stops reading from the server; 0 is deltafifo.DefaultLimit.
	QueueLimit int
	// Seed, if set, fills the cache before the first list, for example with what
	// an informer before this one held. Handlers are told of these objects like
	// of any others, and later of what the first list changes. The informer is
	// not synced before that list. If it reads namespaces, objects of others are
	// deleted when Run begins.
	Seed iter.Seq[T]
	// Metrics, if set, gets measurements.
	Metrics Metrics
}
