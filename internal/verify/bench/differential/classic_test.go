package differential

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// The classic chain on both sides: a reflector writes to a DeltaFIFO, and a loop
// pops from it and applies.
func TestClassicChainDeliversWhatClientGoDoes(t *testing.T) {
	t.Parallel()
	met := &tally{}
	t.Cleanup(func() { met.require(t, kindIsSet) })
	kind[step]{few: 150, generate: chainSteps, run: runChains(met)}.check(t)
}

func runChains(met *tally) func(t *testing.T, seed uint64, steps []step) error {
	return runWorld(func(seed uint64) (*world, error) { return makeWorld(seed, met, (*world).makeChains) })
}

// chainSteps is a history without what happens to handlers: a chain has one, which
// is there from the beginning.
func chainSteps(seed uint64) []step {
	return slices.DeleteFunc(steps(seed), func(s step) bool {
		return slices.Contains([]verb{join, leave, stall, release, index}, s.Do)
	})
}

// makeChains makes both chains, with one recorder each.
func (w *world) makeChains() error {
	p := &pair{name: "the consumer", temper: plain}
	p.ours, p.theirs = newChains(w.record, &p.gate), newChains(w.record, &p.gate)
	w.pairs = append(w.pairs, p)
	ourQueue, ourReflector, err := w.makeOurChain(p.ours)
	if err != nil {
		return err
	}
	theirs, err := w.makeTheirChain(p.theirs)
	if err != nil {
		return err
	}
	p.synced = func() (bool, bool) { return ourQueue.HasSynced(), theirs.HasSynced() }
	w.versions = func() (string, string) {
		return ourReflector.Health().ResourceVersion, theirs.LastSyncResourceVersion()
	}
	return nil
}

func (w *world) makeOurChain(to *chains) (*deltafifo.DeltaFIFO[*corev1.Pod], *reflector.Reflector[*corev1.Pod], error) {
	source, err := w.ourSource()
	if err != nil {
		return nil, nil, err
	}
	store, err := indexer.New(indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{byLabel}})
	if err != nil {
		return nil, nil, err
	}
	queue := deltafifo.New(deltafifo.Options[*corev1.Pod]{KnownObjects: store})
	r, err := reflector.New(source, queue, reflector.Options{})
	if err != nil {
		return nil, nil, err
	}
	end := &chainEnd{chains: to, get: store.Get, set: func(key types.NamespacedName, p *corev1.Pod) error {
		b := store.Batch()
		defer b.Commit()
		if p == nil {
			b.Delete(key)
			return nil
		}
		_, _, err := b.Set(p)
		return err
	}}
	w.ourStore = store
	w.runs = append(w.runs, func() { _ = r.Run(w.ctx) }, func() {
		for w.ctx.Err() == nil {
			err := queue.Pop(w.ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
				initial := !queue.HasSynced()
				for _, d := range slices.Concat(batch.ByObject()...) {
					if err := end.apply(d.Key(), d.Object, d.Type == deltafifo.Deleted, d.FinalStateUnknown, initial); err != nil {
						return err
					}
				}
				return nil
			})
			end.note(err)
		}
	})
	return queue, r, nil
}

func (w *world) makeTheirChain(to *chains) (cache.Controller, error) {
	lw, err := w.theirSource()
	if err != nil {
		return nil, err
	}
	store := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, theirIndex(byLabel.Name(), labelValues))
	end := &chainEnd{chains: to, get: func(key types.NamespacedName) (*corev1.Pod, bool) {
		obj, ok, _ := store.GetByKey(key.String())
		p, _ := obj.(*corev1.Pod)
		return p, ok
	}, set: func(key types.NamespacedName, p *corev1.Pod) error {
		if p == nil {
			return store.Delete(cache.DeletedFinalStateUnknown{Key: key.String()})
		}
		return store.Update(p)
	}}
	controller := cache.New(&cache.Config{
		Queue:                        cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true}),
		ListerWatcher:                lw,
		ObjectType:                   &corev1.Pod{},
		WatchErrorHandlerWithContext: func(context.Context, *cache.Reflector, error) {},
		Process: func(obj any, initial bool) error {
			for _, d := range obj.(cache.Deltas) {
				tombstone, unseen := d.Object.(cache.DeletedFinalStateUnknown)
				if unseen {
					d.Object = tombstone.Obj
				}
				p := d.Object.(*corev1.Pod)
				if err := end.apply(keyOf(p), p, d.Type == cache.Deleted, unseen, initial); err != nil {
					end.note(err)
				}
			}
			return nil
		},
	})
	w.theirStore = store
	w.runs = append(w.runs, func() { controller.RunWithContext(w.ctx) })
	return controller, nil
}

// chainEnd is the consumer at the end of a chain, the same for both sides: it
// updates its store, and records the events that a handler would receive.
type chainEnd struct {
	*chains
	get func(types.NamespacedName) (*corev1.Pod, bool)
	set func(types.NamespacedName, *corev1.Pod) error // nil deletes
}

func (e *chainEnd) apply(key types.NamespacedName, p *corev1.Pod, isDeleted, unseen, initial bool) error {
	e.enter()
	defer e.exit()
	old, known := e.get(key)
	switch {
	case isDeleted && !known:
		return nil
	case isDeleted:
		ev := delivery{typ: deleted, old: stateOf(old), unseen: unseen}
		if !unseen {
			ev.now = stateOf(p)
		}
		e.deliver(key, ev)
		return e.set(key, nil)
	case known && stateOf(old) == stateOf(p): // a list, and nothing new
	case known && old.UID != p.UID:
		e.deliver(key, delivery{typ: deleted, old: stateOf(old), unseen: true})
		e.deliver(key, delivery{typ: added, now: stateOf(p)})
	case known:
		e.deliver(key, delivery{typ: updated, old: stateOf(old), now: stateOf(p)})
	default:
		e.deliver(key, delivery{typ: added, now: stateOf(p), initial: initial})
	}
	return e.set(key, p)
}

// note records an error that there should not be.
func (e *chainEnd) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	e.enter()
	defer e.exit()
	e.fault("the consumer failed: %v", err)
}
