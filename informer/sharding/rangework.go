package sharding

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
)

// work is Options.Work of [Ranges]: the life of a part, from the take to the end. It
// returns when no key of the part is in progress, and the cache has no object of it.
func (r *Ranges) work(ctx context.Context, part *Part) error {
	i := part.Index
	gate := &r.gates[i]
	gate.hold(part)
	defer func() {
		if dropped := gate.drop(); len(dropped) > 0 {
			r.replica.log.Debug("the keys that were held back are left to the next owner of the part", "part", i, "keys", len(dropped))
		}
	}()
	if err := r.reader.AddRanges(r.ranges[i]); err != nil {
		return err
	}
	defer r.reader.RemoveRanges(r.ranges[i])
	// Nothing has been handed out yet, so there is no hurry to be out of: ctx may end.
	if err := r.reader.WaitForRanges(ctx, r.ranges[i]); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	r.fill(i)
	if !part.Held() || ctx.Err() != nil {
		return nil
	}
	gate.open()
	<-ctx.Done()
	// Before the range is removed, so that a key in progress still finds its object. It may
	// take long, but no context ends the wait: those of the keys end when the part is lost.
	return gate.drain(context.WithoutCancel(ctx))
}

// guard returns the function for the workers.
func (r *Ranges) guard(fn func(context.Context, *Part, types.NamespacedName) (workqueue.Result, error)) func(context.Context, Key) (workqueue.Result, error) {
	once := func(ctx context.Context, part *Part, key Key) (workqueue.Result, error) {
		if now, exists := r.find(key.NamespacedName); exists && now != key {
			return workqueue.Result{}, nil // the name is that of another object now, which has its own key
		}
		if !r.names.add(key.NamespacedName) {
			return workqueue.Result{RequeueAfter: nameInProgress}, nil
		}
		defer r.names.remove(key.NamespacedName)
		result, err := Guard(part, func(ctx context.Context, key Key) (workqueue.Result, error) {
			return fn(ctx, part, key.NamespacedName)
		})(ctx, key)
		if part.Context().Err() != nil {
			return workqueue.Result{}, nil // the next owner does it
		}
		return result, err
	}
	return func(ctx context.Context, key Key) (workqueue.Result, error) {
		return r.gates[key.Part].pass(ctx, key, once)
	}
}

// nameInProgress is after how long a key is tried again if its name is in progress, for
// another object that had the name before.
const nameInProgress = 20 * time.Millisecond

// nameSet is a set of names in progress. The queue keeps keys apart, and two keys with
// the same name are in different parts.
type nameSet struct {
	mu  sync.Mutex
	all map[types.NamespacedName]struct{}
}

// add returns false if the name is in the set.
func (s *nameSet) add(name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := s.all[name]; in {
		return false
	}
	s.all[name] = struct{}{}
	return true
}

func (s *nameSet) remove(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}

// fills combines the iterations over the cache for parts that are taken together. A
// replica that joins a small group takes many.
type fills struct {
	iterating sync.Mutex
	mu        sync.Mutex
	waiting   map[int]bool // parts, each waiting for the next iteration
}

// fill has the gate of a part, which is closed, remember the keys of all objects of the
// part. The part must be listed.
func (r *Ranges) fill(i int) {
	f := &r.fills
	f.mu.Lock()
	if f.waiting == nil {
		f.waiting = map[int]bool{}
	}
	f.waiting[i] = true
	f.mu.Unlock()

	f.iterating.Lock()
	defer f.iterating.Unlock()
	f.mu.Lock()
	parts := f.waiting
	if !parts[i] {
		f.mu.Unlock()
		return // the iteration that has just ended was for this part, too
	}
	f.waiting = nil
	f.mu.Unlock()
	for key := range r.keys() {
		if parts[key.Part] {
			r.gates[key.Part].remember(key)
		}
	}
}
