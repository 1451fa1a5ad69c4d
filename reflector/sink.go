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
// ends. An error says that the sink did not accept the change; the reflector reports
// it, backs off and delivers the change again, either as the same event or as
// part of a Replace. A panic is not recovered.
type Sink[T any] interface {
	// Add and Update state the new version of an object. Which of the two it
	// is, is the server's view; Add may come for an object that the sink has.
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

// Known is implemented by a [Sink] that can return what it has. A relist then
// neither decodes nor transforms an unchanged object, one of which the sink has the
// same UID and resourceVersion: it keeps the sink's pointer. A relist costs what
// has changed, the memory stays near that of steady state, and a sink finds what did
// not change by comparing pointers. The same holds for a first list over objects
// that the sink had before.
//
// It also keeps the last good version of an object whose present one cannot be
// decoded, which would otherwise look deleted.
//
// The same version promises the same stored object, but not the same representation:
// see [Options].DecodeUnchanged.
type Known[T any] interface {
	// Known returns the newest version that the sink has. It is called while a
	// collection is read, and from several goroutines at once; no method of the Sink
	// runs meanwhile. So it needs no lock against the Sink's own methods, but one for
	// whatever it modifies itself.
	Known(key types.NamespacedName) (T, bool)
}

// knower is implemented by a [Known] sink that can say whether it has any object before it
// was given one, so that a first list into an empty one is spared the look-ups.
type knower interface{ KnowsAny() bool }

// known returns the sink, if it can return what it has, and has anything; else nil.
func (r *Reflector[T]) known() Known[T] {
	if s, ok := r.sink.(knower); ok && !r.Health().Synced && !s.KnowsAny() {
		return nil
	}
	k, _ := r.sink.(Known[T])
	return k
}

// distinguisher is implemented by a sink that distinguishes objects that cannot be read from
// those that do not exist.
type distinguisher interface {
	// Unreadable states which objects could not be read: those of the list that the next
	// Replace states, or those of an event.
	Unreadable(ofList bool, objs ...*ObjectError)
	// Gone states that an object that is not known does not exist any more.
	Gone(key types.NamespacedName)
}

// unreadable passes on what could not be read.
func (r *Reflector[T]) unreadable(ofList bool, objs ...*ObjectError) {
	if s, ok := r.sink.(distinguisher); ok && len(objs) > 0 {
		s.Unreadable(ofList, objs...)
	}
}

// sinkError says that the sink did not take a change over.
type sinkError struct {
	op  string // the method of the Sink: Add, Update, Delete, Replace or Bookmark
	err error  // what it returned
}

// Error names the method.
func (e *sinkError) Error() string { return "sink: " + e.op + ": " + e.err.Error() }

// Unwrap returns what the sink returned.
func (e *sinkError) Unwrap() error { return e.err }
