package indexer

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// MutationOptions configure the detection of objects that were changed after
// they were stored. Such a change is visible to all readers, is a data race, and
// is lost with the next version of the object.
//
// A sample of the stored objects is copied. An object is compared with its copy
// when it is replaced or deleted, and by [Indexer.CheckMutations]; each Commit
// also compares one object of the sample, in turn. With sampling, a mutation that
// happens regularly is found soon; for tests, watch every object.
type MutationOptions struct {
	// SampleEvery selects the watched objects: one of every SampleEvery that are
	// stored. 1 watches each, 0 (the default) switches detection off.
	SampleEvery int

	// MaxObjects bounds how many objects are watched at a time, and with it the
	// memory for the copies; 0 means 256. Beyond it, another object is compared a
	// last time and no longer watched.
	MaxObjects int

	// OnMutation, if set, is called for each mutated object, by the goroutine that called
	// Commit or CheckMutations. Mutations are logged in any case, before the first call.
	OnMutation func(Mutation)
}

const defaultMaxMutationObjects = 256

// Mutation reports an object that was changed after it was stored. Values are
// left out on purpose: they may be secrets.
type Mutation struct {
	// Key is the key under which the object was stored.
	Key types.NamespacedName
	// ResourceVersion is that of the object when it was stored.
	ResourceVersion string
	// Path is the first field found to differ, such as
	// `spec.containers[0].image` or `metadata.labels["a/b"]`.
	Path string
}

// detector watches a sample of the stored objects. All methods but report are called with
// the writer lock held. It is nil where detection is off.
//
// It runs within Commit, so that its cost is the writer's: a deep copy for each sampled
// object, and one comparison per Commit. Objects of a batch that is discarded, which no
// reader has seen, do not reach it.
type detector[T Object] struct {
	opts    MutationOptions
	shared  *shared
	stored  int // objects stored so far, for sampling
	samples []sample[T]
	at      map[types.NamespacedName]int // position in samples
	next    int                          // position of the sample to compare, or to drop, next
	// Collected while the state changes, and reported when that is done and the lock is released.
	found []Mutation // not reported yet
}

// sample is a watched object with its copy. It is the version that is stored:
// whatever replaces or deletes the object drops its sample.
type sample[T Object] struct {
	key  types.NamespacedName
	rv   string
	obj  T
	copy runtime.Object
}

// newDetector returns a detector for valid options, nil if they switch detection off.
func newDetector[T Object](o MutationOptions, sh *shared) (*detector[T], error) {
	switch {
	case o.SampleEvery < 0:
		return nil, fmt.Errorf("indexer: Mutations.SampleEvery is %d, must not be negative", o.SampleEvery)
	case o.MaxObjects < 0:
		return nil, fmt.Errorf("indexer: Mutations.MaxObjects is %d, must not be negative", o.MaxObjects)
	case o.SampleEvery == 0 && (o.MaxObjects != 0 || o.OnMutation != nil):
		return nil, errors.New("indexer: Mutations has options, but SampleEvery is 0, which switches detection off; set it")
	case o.SampleEvery == 0:
		return nil, nil
	}
	o.MaxObjects = cmp.Or(o.MaxObjects, defaultMaxMutationObjects)
	return &detector[T]{opts: o, shared: sh, at: map[types.NamespacedName]int{}}, nil
}

// committed is the hook of Commit. It follows the changes between two published snapshots,
// which may be the same, compares one more sample, and returns what report has to report.
func (d *detector[T]) committed(before, after *Snapshot[T]) (found []Mutation) {
	for c := range Diff(before, after) {
		// The last chance to compare this version: the store has dropped it.
		if i, watched := d.at[c.Key]; watched {
			d.compare(i, true)
		}
		if c.Type != Deleted {
			d.stores(c.Key, c.New)
		}
	}
	if len(d.samples) > 0 {
		d.step(false)
	}
	return d.take()
}

// take returns the mutations found, once.
func (d *detector[T]) take() (found []Mutation) {
	found, d.found = d.found, nil
	return found
}

// stores watches obj, which is stored now, if it is its turn to be sampled.
func (d *detector[T]) stores(key types.NamespacedName, obj T) {
	if d.stored++; d.stored%d.opts.SampleEvery != 0 {
		return
	}
	s := sample[T]{key: key, rv: obj.GetResourceVersion(), obj: obj}
	if s.copy = d.deepCopy(key, obj); s.copy == nil {
		return
	}
	// The one that is next in the round robin is dropped, after a comparison, so that
	// objects which are never written again do not fill the sample for ever.
	if len(d.samples) == d.opts.MaxObjects {
		d.step(true)
	}
	d.at[key] = len(d.samples)
	d.samples = append(d.samples, s)
}

// deepCopy survives a DeepCopyObject that panics; the object is not watched then.
func (d *detector[T]) deepCopy(key types.NamespacedName, obj T) (c runtime.Object) {
	defer func() {
		if r := recover(); r != nil {
			c = nil
			d.shared.noteFailure(problem{text: "objects cannot be watched for mutations, because DeepCopyObject panicked"}, key, fmt.Errorf("panic: %v", r))
		}
	}()
	return obj.DeepCopyObject()
}

// step compares one sample, in turn, and drops it if drop is set.
func (d *detector[T]) step(drop bool) {
	i := d.next % len(d.samples)
	d.next = i + 1
	d.compare(i, drop)
}

// all compares every sample, and returns what report has to report.
func (d *detector[T]) all() (found []Mutation) {
	for i := len(d.samples) - 1; i >= 0; i-- { // backwards: drop moves the last one
		d.compare(i, false)
	}
	return d.take()
}

// compare notes a sample that was mutated. It drops it then, so that it is
// reported once, and also if drop is set.
func (d *detector[T]) compare(i int, drop bool) {
	s := d.samples[i]
	// The object is read while others may be modifying it, since that is what is looked
	// for. A race detector may report it here, beside the write that is at fault.
	path, same := firstDifference(s.copy, s.obj)
	if drop || !same {
		d.drop(i)
	}
	if !same {
		d.found = append(d.found, Mutation{Key: s.key, ResourceVersion: s.rv, Path: path})
	}
}

// report logs mutations and passes them to OnMutation, which may panic: nothing is left to do after it.
func (d *detector[T]) report(found []Mutation) {
	for _, m := range found {
		d.shared.log.Error("indexer: a stored object was mutated; DeepCopy objects before changing them",
			"object", m.Key.String(), "resourceVersion", m.ResourceVersion, "path", m.Path)
	}
	for _, m := range found {
		if d.opts.OnMutation != nil {
			d.opts.OnMutation(m)
		}
	}
}

// drop stops watching sample i; the last one takes its place.
func (d *detector[T]) drop(i int) {
	delete(d.at, d.samples[i].key)
	last := len(d.samples) - 1
	if i != last {
		d.samples[i] = d.samples[last]
		d.at[d.samples[i].key] = i
	}
	// Without this the slot would keep the object and its copy in memory.
	d.samples[last] = sample[T]{}
	d.samples = d.samples[:last]
}

// CheckMutations compares all watched objects with their copies now, waiting
// for a running batch to end. It returns how many were mutated; each is
// reported once. Without [Options].Mutations it returns 0.
func (ix *Indexer[T]) CheckMutations() int {
	if ix.mutations == nil {
		return 0
	}
	found := func() []Mutation {
		ix.writer.Lock()
		defer ix.writer.Unlock()
		return ix.mutations.all()
	}()
	ix.mutations.report(found)
	return len(found)
}
