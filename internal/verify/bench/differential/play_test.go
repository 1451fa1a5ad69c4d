package differential

import (
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/informer/informertest"
)

// step does one step of a history. Writes follow each other without a pause;
// before anything else happens, both sides have got everything, unless there are
// random faults.
func (w *world) step(s step) error {
	switch s.Do {
	case write, remove, recreate, elsewhere:
		return w.change(s)
	}
	if !w.loose() {
		synctest.Wait()
		if err := w.compareStores(); err != nil {
			return fmt.Errorf("before it: %w", err)
		}
	}
	switch s.Do {
	case start:
		w.start()
	case quiet:
		return w.quiet(time.Duration(s.N) * time.Second)
	case breakAll, restart, pause, resume, compact, expire, twice:
		return w.trouble(s.Do)
	case join:
		return w.join(temper(s.N))
	case leave, stall, release:
		return w.handle(s)
	case index:
		return w.addIndex()
	case chaosOn:
		w.beginChaos(float64(s.N) / 100)
	case chaosOff:
		return w.endChaos()
	}
	return nil
}

func (w *world) change(s step) error {
	if w.loose() {
		time.Sleep(time.Duration(s.Key*s.Key) * 100 * time.Millisecond)
	}
	key := keys[s.Key]
	switch s.Do {
	case write:
		return w.write(key, s.N)
	case remove:
		return w.remove(key)
	case recreate:
		return errors.Join(w.remove(key), w.write(key, s.N))
	default:
		return w.elsewhere()
	}
}

// trouble is what happens to the server and to connections. When no client
// lags in events or bookmarks, and all watches are older than a second, both
// sides resume, or both relist.
func (w *world) trouble(do verb) error {
	if !w.loose() && do != compact { // an up-to-date client does not notice it
		w.ripen()
	}
	pauseAfter := recovery
	switch do {
	case compact:
		w.server.Compact()
		pauseAfter = 0
	case breakAll:
		w.server.BreakConnections()
	case expire, twice:
		if w.loose() {
			return nil
		}
		effect := informertest.DuplicateEvents()
		if do == expire {
			effect = informertest.FailWatch(0, expired)
		}
		// One watch of each side.
		for n := range 2 {
			stop := w.server.Inject(informertest.Fault{Verb: "watch", Resource: pods.Resource, Match: w.isOf(n), Effect: effect})
			defer stop()
		}
		w.server.BreakConnections()
	case restart:
		w.server.Restart()
	case pause:
		if err := w.server.Pause(); err != nil {
			return err
		}
		w.down, pauseAfter = true, 0
	case resume:
		if err := w.server.Resume(); err != nil {
			return err
		}
		w.down = false
	}
	if w.loose() {
		pauseAfter = time.Second
	}
	w.settle(pauseAfter)
	return nil
}

// ripen waits until both sides have had a bookmark, and no watch is so young that
// client-go would relist if it ended. Watches end by themselves at random times.
func (w *world) ripen() {
	w.settle(2 * time.Minute)
	for !w.down {
		all := slices.DeleteFunc(w.server.Requests(), func(r informertest.Request) bool { return r.Verb != "watch" })
		if len(all) == 0 || time.Since(all[len(all)-1].Time) > 2*time.Second {
			return
		}
		w.settle(time.Second)
	}
}

// expired is the 410 of a server that has forgotten the version asked for.
var expired = apierrors.NewResourceExpired("too old resource version")

// isOf matches the requests of one side.
func (w *world) isOf(side int) func(informertest.Request) bool {
	return func(r informertest.Request) bool { return (r.UserAgent == theirAgent) == (side == 0) }
}

// handle does something to a handler, if it is there.
func (w *world) handle(s step) error {
	p := w.handler(s.N)
	switch {
	case p == nil:
	case s.Do == leave:
		return w.leave(p)
	case s.Do == stall:
		p.gate.close()
	case s.Do == release:
		p.gate.open()
	}
	return nil
}

func (w *world) releaseAll() {
	for _, p := range w.pairs {
		p.gate.open()
	}
	synctest.Wait()
}

// beginChaos begins a stretch of random faults.
func (w *world) beginChaos(rate float64) {
	if w.loose() {
		return
	}
	w.releaseAll()
	w.record.stretch.Add(1)
	w.calm = w.server.InjectChaos(informertest.Chaos{Seed: w.seed, Rate: rate})
	w.server.BreakConnections()
}

// endChaos ends it, and waits until both sides have recovered. Connections are
// broken once more, as client-go may hang in a WatchList: difference D9.
func (w *world) endChaos() error {
	if !w.loose() {
		return nil
	}
	w.calm()
	w.down = false
	err := w.server.Resume()
	w.server.BreakConnections()
	w.settle(recovery)
	w.releaseAll()
	w.record.stretch.Add(1)
	return errors.Join(err, w.compareStores())
}

// quiet lets time pass and, if there is enough of it, counts resyncs.
func (w *world) quiet(d time.Duration) error {
	type counts struct{ ours, theirs int }
	before := map[*pair]map[string]counts{}
	count := func(p *pair) map[string]counts {
		all := map[string]counts{}
		ours, theirs := p.resyncCounts()
		for key, n := range ours {
			all[key.Name] = counts{n, theirs[key]}
		}
		return all
	}
	fair := w.started && !w.down && !w.loose()
	for _, p := range w.pairs {
		if fair && p.temper == resyncing && !p.left && !p.gate.isClosed() {
			before[p] = count(p)
		}
	}
	w.settle(d)
	turns := int(d / resyncPeriod)
	var errs error
	for p, was := range before {
		for name, now := range count(p) {
			ours, theirs := now.ours-was[name].ours, now.theirs-was[name].theirs
			if ours < turns || ours > turns+1 || theirs < turns-1 || theirs > turns+1 {
				errs = errors.Join(errs, fmt.Errorf("%s: %s was resynced in %v: ours %d times, theirs %d", p.name, name, d, ours, theirs))
			}
		}
	}
	return errs
}

// finish waits until both sides are idle, and compares them.
func (w *world) finish() error {
	if err := w.endChaos(); err != nil {
		return err
	}
	if err := w.trouble(resume); err != nil {
		return err
	}
	w.start()
	w.releaseAll()
	w.settle(recovery) // for bookmarks
	errs := []error{w.compareStores(), w.compareObjects(), w.compareIndexes(), w.compareVersions()}
	for _, p := range w.pairs {
		errs = append(errs, p.compare(true, w.met))
	}
	return errors.Join(errs...)
}
