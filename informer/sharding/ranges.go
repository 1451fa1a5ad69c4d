package sharding

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue"
)

// RangeReader reads ranges of hashes that come and go. An [Factory] is one, and
// so is a [Ranged].
type RangeReader interface {
	AddRanges(ranges ...HashRange) error
	WaitForRanges(ctx context.Context, ranges ...HashRange) error
	RemoveRanges(ranges ...HashRange) bool
}

// Cache is that of an informer that reads ranges: a [Ranged] or a [Shared].
type Cache[T informer.Object] interface {
	informer.Cache[T]
	HashKey() HashKey
}

// RangesOptions configures [Ranges]. Objects is required, and so are the Name and the
// Namespace of the [Options].
type RangesOptions[T informer.Object] struct {
	// Options are those of the replica. Work is left nil, as Ranges does that.
	Options
	// Objects is the cache of the objects that are shared. All that happens to them makes
	// their keys be processed; do not add another handler for that.
	Objects Cache[T]
	// Reader is what reads the ranges: the factory of Objects. Nil means Objects, which
	// then must be a [Ranged].
	Reader RangeReader
	// Limiter and Queue are the arguments of workqueue.NewRateLimiting. The default of
	// Group is the part: then a part that has just been taken, all of whose keys are
	// queued at once, does not delay the keys of others.
	Limiter workqueue.RateLimiter[Key]
	Queue   workqueue.Options[Key]
}

// Ranges shares the objects of a collection among replicas: each part of the group is a
// range of hashes, and each replica has the objects of its parts in its cache, and works
// on these only. Create one with [NewRanges], and run it beside the informers:
//
//	factory, err := sharding.NewFactory(cfg, informer.FactoryOptions{})
//	foos, err := sharding.For(factory, sharding.HashUID, informer.ForOptions[*Foo]{Resource: foosResource})
//	ranges, err := sharding.NewRanges(cfg, sharding.RangesOptions[*Foo]{
//		Options: sharding.Options{Name: "my-controller", Namespace: "my-namespace"},
//		Objects: foos, Reader: factory,
//	})
//	...
//	return factory.Run(ctx, func(ctx context.Context) error {
//		return ranges.Run(ctx, workqueue.ProcessOptions[sharding.Key]{Workers: 4}, reconcile)
//	})
//
// The life of a part here. There is one queue, and a gate per part between the queue and
// the function:
//
//	taken     AddRanges ─▶ WaitForRanges ─▶ the gate opens, and all keys of the range are queued
//	handed    the gate closes: nothing is handed out, what is in progress ends ─▶ RemoveRanges
//	over        ─▶ the gate drops its keys ─▶ the record of the part is given up
//	lost      the same, but what is in progress is cancelled
//
// Keys are queued from the cache, and not by the events of the list: a handler that is late
// may find that a range went and came back unchanged, and get no event for it.
type Ranges struct {
	replica *Replica
	reader  RangeReader
	queue   *workqueue.RateLimitingQueue[Key]
	ranges  []HashRange // one per part
	gates   []gate      // one per part
	hashKey HashKey
	handler *informer.Registration
	running atomic.Bool

	// Of the cache, whatever its type: all keys, and that of one object.
	keys func() iter.Seq[Key]
	find func(types.NamespacedName) (Key, bool)

	fills fills
	names nameSet
}

// NewRanges returns Ranges, with a replica that has not joined its group yet. It makes no
// request. The errors are about cfg and the options.
func NewRanges[T informer.Object](cfg *rest.Config, opts RangesOptions[T]) (*Ranges, error) {
	if opts.Objects == nil || object.IsNilPointer(opts.Objects) {
		return nil, errors.New("sharding: RangesOptions.Objects is nil; set it to the informer of the objects that are to be shared")
	}
	if opts.Work != nil {
		return nil, errors.New("sharding: RangesOptions.Work is set; leave it nil, and pass Run what is to be done with a key")
	}
	r := &Ranges{reader: opts.Reader, hashKey: opts.Objects.HashKey(), names: nameSet{all: map[types.NamespacedName]struct{}{}}}
	if r.reader == nil {
		var ok bool
		if r.reader, ok = opts.Objects.(RangeReader); !ok {
			return nil, errors.New("sharding: RangesOptions.Reader is nil, and Objects cannot add ranges; set Reader to the factory that Objects is of")
		}
	}
	opts.Work = r.work
	var err error
	if r.replica, err = New(cfg, opts.Options); err != nil {
		return nil, err
	}
	r.ranges = SplitHashes(r.replica.opts.Parts)
	if opts.Queue.Name == "" {
		opts.Queue.Name = opts.Objects.Name()
	}
	if opts.Queue.Group == nil {
		opts.Queue.Group = func(key Key) string { return strconv.Itoa(key.Part) }
	}
	r.queue = workqueue.NewRateLimiting(opts.Limiter, opts.Queue)
	r.gates = make([]gate, len(r.ranges))
	for i := range r.gates {
		r.gates[i].add = r.queue.Add
	}
	r.keys = func() iter.Seq[Key] {
		return func(yield func(Key) bool) {
			for obj := range opts.Objects.Snapshot().All() {
				if !yield(r.KeyOf(obj)) {
					return
				}
			}
		}
	}
	r.find = func(name types.NamespacedName) (key Key, exists bool) {
		obj, exists := opts.Objects.Snapshot().Get(name)
		if exists {
			key = r.KeyOf(obj)
		}
		return key, exists
	}
	r.handler, err = opts.Objects.AddHandler(enqueueChanges[T](r), informer.HandlerOptions{Name: opts.Name})
	return r, err
}

// enqueueChanges returns the handler of the objects that are shared.
func enqueueChanges[T informer.Object](r *Ranges) informer.Handler[T] {
	return informer.When(isChange[T], informer.EnqueueMapped(r, func(obj T) []Key { return []Key{r.KeyOf(obj)} }))
}

// isChange selects all events but those of a range that is new: its keys are queued when
// all of them are in the cache.
//
//go:noinline
func isChange[T informer.Object](e informer.Event[T]) bool {
	return e.Origin != informer.InitialList || e.Type != informer.Added
}

// Replica returns the replica, whose Health says which parts it has. It is run by
// [Ranges.Run], and not by others.
func (r *Ranges) Replica() *Replica { return r.replica }

// Queue returns the queue, to be looked at. Keys are added with [Ranges.Add].
func (r *Ranges) Queue() *workqueue.RateLimitingQueue[Key] { return r.queue }

// Add has a key processed, if this replica has its part. Else it does nothing: the key is
// the business of another replica, or of this one when it gets the part, since then all
// keys of the part are processed. It makes Ranges a queue for handlers, such as that of
// [informer.EnqueueMapped], in which any object may lead to any key.
func (r *Ranges) Add(key Key) {
	if r.holds(key) {
		r.queue.Add(key)
	}
}

// AddBecause is Add with the cause, for a queue with a history.
func (r *Ranges) AddBecause(key Key, why any) {
	if r.holds(key) {
		r.queue.AddBecause(key, why)
	}
}

// holds reports whether the part of a key is held. If it is given up before the key is in
// the queue, the gate drops the key.
func (r *Ranges) holds(key Key) bool {
	return key.Part >= 0 && key.Part < len(r.gates) && r.gates[key.Part].held() != nil
}

// Run joins the group, and calls fn for the keys of the parts that this replica gets, as
// [workqueue.ProcessWith] does, until ctx ends. Then it hands its parts over, and returns nil when that is
// done. The informers must be synced, and run until Run has returned: call it by
// [informer.Factory.Run] or [informer.Group.Run]. It runs once.
//
// Fn gets the part of the key; its context ends, with the cause [ErrLost], when the part
// is lost. What fn returns after that is ignored. Before that, a hand-over waits for fn, up to
// Options.DrainTimeout, so an fn that ignores its context keeps Run from returning.
//
// If an object is deleted and another one gets its name, the two are in different parts,
// unless the hash is that of the namespace. Within this replica no two calls of fn for one name
// run at a time. If the second part is another replica's, that one may begin with the new object
// while fn still runs here for the old one. Fn is not called with the part of the first for the
// second, but it may come into being while fn runs: so use an object only if its KeyOf has the
// Index of the part, and write what depends on the object with its UID as a precondition.
func (r *Ranges) Run(ctx context.Context, opts workqueue.ProcessOptions[Key], fn func(ctx context.Context, part *Part, key types.NamespacedName) (workqueue.Result, error)) error {
	if fn == nil {
		return errors.New("sharding: Run: the function is nil; pass what is to be done with a key")
	}
	if !r.running.CompareAndSwap(false, true) {
		return errors.New("sharding: Run was called before; Ranges run once")
	}
	defer r.handler.Remove()
	// The workers outlive ctx, until the last part is handed over.
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()    // nothing is processed any more: the others are to have the parts
		opts.Drain = true // by then all gates are closed, and what is left in the queue passes quickly
		failed = workqueue.ProcessWith(working, r.queue, opts, r.guard(fn))
	}()
	err := r.replica.Run(ctx)
	stop()
	<-ended
	return errors.Join(err, failed)
}
