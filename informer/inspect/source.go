package inspect

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue"
)

// Source is something to show. Make one with [Informer], [Factory], [Queue] or [Replica];
// the zero value is refused.
//
// Exactly one of informers, queue and replica is set. They are functions rather than the
// objects, so that a Handler needs no type parameter.
type Source struct {
	informers func() []informer.Health
	queue     func(opts *Options) queueReport
	replica   func(opts *Options) replicaReport
	// For one key, by its text; nil if a source cannot look one up.
	find func(types.NamespacedName) map[string]informer.Object // by the names of informers
	item func(opts *Options, text string) itemState
}

// Informer returns the source that shows inf, any [informer.Informer].
func Informer(inf interface{ Health() informer.Health }) Source {
	// New and Add refuse it, with an error that says what to do. A panic here would
	// name no source.
	if isNil(inf) {
		return Source{}
	}
	s := Source{informers: func() []informer.Health { return []informer.Health{inf.Health()} }}
	if f, ok := inf.(interface {
		Find(key types.NamespacedName) (informer.Object, bool)
	}); ok {
		s.find = func(key types.NamespacedName) map[string]informer.Object {
			obj, found := f.Find(key)
			if !found {
				return nil
			}
			return map[string]informer.Object{inf.Health().Name: obj}
		}
	}
	return s
}

// Factory returns the source that shows the informers of f, an [informer.Factory] or
// what else has several: those that it has at the time of a request.
func Factory(f interface{ Health() []informer.Health }) Source {
	if isNil(f) {
		return Source{}
	}
	s := Source{informers: f.Health}
	if found, ok := f.(interface {
		Find(key types.NamespacedName) map[string]informer.Object
	}); ok {
		s.find = found.Find
	}
	return s
}

// Queue returns the source that shows q, any of the queues of package workqueue. The
// lock of the queue is held while at most MaxItems items of each kind are copied.
func Queue[T comparable](q interface {
	Inspect(limit int, only ...T) workqueue.Inspection[T]
}) Source {
	if isNil(q) {
		return Source{}
	}
	return Source{
		queue: func(opts *Options) queueReport { return reportQueue(q.Inspect(opts.MaxItems), opts) },
		item:  func(opts *Options, text string) itemState { return lookUpItem(q.Inspect, text, opts) },
	}
}

// empty reports whether there is nothing to show.
func (s Source) empty() bool { return s.informers == nil && s.queue == nil && s.replica == nil }

// isNil reports whether v is nil, or a nil pointer in an interface, which is easy to pass
// by mistake.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
