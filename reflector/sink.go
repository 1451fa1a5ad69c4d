package reflector

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Sink receives what a [Reflector] learns about a collection. All calls come
// from the goroutine in [Reflector.Run], one at a time.
//
// A method may block: the reflector then stops reading, and the pressure
// reaches the server through the TCP connection. It must return soon after ctx
// ends. An error says that the change was not taken over; the reflector reports
// it, backs off and delivers the change again, either as the same event or as
// part of a Replace. A panic is not recovered.
type Sink[T any] interface {
	// Add and Update state the new version of an object. Which of the two it
	// is, is the server's view; a sink may be told to add what it has.
	Add(ctx context.Context, obj T) error
	Update(ctx context.Context, obj T) error
	// Delete states that the object is gone; obj is its last version.
	Delete(ctx context.Context, obj T) error
	// Replace states the whole collection as of rv: what is not in objs does
	// not exist (any more). The slice belongs to the sink.
	Replace(ctx context.Context, objs []T, rv string) error
	// Bookmark states that everything up to rv has been delivered.
	Bookmark(ctx context.Context, rv string) error
}

// Known is implemented by a [Sink] that can be asked for what it has been
// told. A relist then keeps the pointers of unchanged objects (equal UID and
// resourceVersion): the new copies are dropped one by one as they are decoded,
// the memory at a relist stays near that of steady state, and a sink can tell
// what did not change by comparing pointers.
//
// It also keeps the last good version of an object whose present one cannot be
// decoded, which would otherwise look deleted.
type Known[T any] interface {
	// Known returns the newest version that the sink has taken over. It is
	// called from the goroutine of [Reflector.Run], between calls of the
	// Sink's methods.
	Known(key types.NamespacedName) (T, bool)
}
