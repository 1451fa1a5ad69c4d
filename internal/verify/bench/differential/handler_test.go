package differential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
)

// resyncPeriod is that of the resyncing handlers.
const resyncPeriod = 30 * time.Second

// pair is one handler, on both sides.
type pair struct {
	name   string
	temper temper
	gate   gate

	ours, theirs *chains
	ourReg       *informer.Registration
	theirReg     cache.ResourceEventHandlerRegistration

	synced   func() (ours, theirs bool)
	left     bool
	leftBusy bool // it was stalled when it left: which events it received then is random
	calls    int  // of ours, when it left
}

// join adds a handler to both informers.
func (w *world) join(t temper) error {
	p := &pair{name: fmt.Sprintf("handler %d (%v)", len(w.pairs), t), temper: t}
	p.ours, p.theirs = newChains(w.record, &p.gate), newChains(w.record, &p.gate)
	w.pairs = append(w.pairs, p)

	var ours informer.Handler[*corev1.Pod] = &ourRecorder{chains: p.ours, planted: w.planted}
	var theirs cache.ResourceEventHandler = &theirRecorder{chains: p.theirs, filtered: t == filtering, met: w.met}
	opts := informer.HandlerOptions{Lossless: true}
	var period time.Duration
	switch t {
	case filtering:
		ours = informer.FilterHandler(matches, ours)
		theirs = cache.FilteringResourceEventHandler{FilterFunc: matchesAny, Handler: theirs}
	case resyncing:
		opts.ResyncPeriod, period = resyncPeriod, resyncPeriod
	}
	var err, theirErr error
	p.ourReg, err = w.ours.AddHandler(ours, opts)
	p.theirReg, theirErr = w.theirs.AddEventHandlerWithResyncPeriod(theirs, period)
	p.synced = func() (bool, bool) { return p.ourReg.HasSynced(), p.theirReg.HasSynced() }
	return errors.Join(err, theirErr)
}

// handler returns the n-th handler that is still there.
func (w *world) handler(n int) *pair {
	for _, p := range w.pairs {
		if !p.left {
			if n == 0 {
				return p
			}
			n--
		}
	}
	return nil
}

// leave removes a handler from both.
func (w *world) leave(p *pair) error {
	p.left, p.leftBusy = true, p.gate.isClosed()
	p.ourReg.Remove()
	p.calls = p.ours.callsSoFar()
	if p.leftBusy || w.loose() {
		p.calls++ // one may be running
	}
	err := w.theirs.RemoveEventHandler(p.theirReg)
	p.gate.open()
	return err
}

func (c *chains) callsSoFar() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// compare compares all events that both sides delivered to the handler.
func (p *pair) compare(synced bool, met *tally) error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(p.name+": "+format, args...))
	}
	p.ours.mu.Lock()
	defer p.ours.mu.Unlock()
	p.theirs.mu.Lock()
	defer p.theirs.mu.Unlock()
	for _, w := range p.ours.wrong {
		fail("ours: %s", w)
	}
	for _, w := range p.theirs.wrong {
		fail("theirs: %s", w)
	}
	if p.left && p.ours.calls > p.calls {
		fail("ours was called after it was removed")
	}
	if ours, theirs := p.synced(); !p.left && synced && (!ours || !theirs) {
		fail("synced: ours %v, theirs %v", ours, theirs)
	}
	for _, key := range keys {
		ours, theirs := p.ours.strict(key), p.theirs.strict(key)
		if p.leftBusy {
			n := min(len(ours), len(theirs))
			ours, theirs = ours[:n], theirs[:n]
		}
		same := func(a, b delivery) bool { return a == b || p.temper == filtering && isFilteredUnseen(a, b, met) }
		if !slices.EqualFunc(ours, theirs, same) {
			fail("%s\n\tours:   %s\n\ttheirs: %s", key.Name, chain(ours), chain(theirs))
		}
		if a, b := p.ours.known[key], p.theirs.known[key]; !p.left && synced && a != b {
			fail("%s: ours knows %v, theirs %v", key.Name, a, b)
		}
	}
	return errors.Join(errs...)
}

// isFilteredUnseen is difference D7.
func isFilteredUnseen(ours, theirs delivery, met *tally) bool {
	if ours.typ != deleted || !ours.unseen || theirs.unseen {
		return false
	}
	theirs.unseen = true
	if ours == theirs {
		met.add(filteredUnseen, 1)
	}
	return ours == theirs
}

func chain(events []delivery) string {
	var all []string
	for _, e := range events {
		all = append(all, e.String())
	}
	return strings.Join(all, ", ")
}

// resyncCounts returns how often each object was delivered again on both sides.
func (p *pair) resyncCounts() (ours, theirs map[types.NamespacedName]int) {
	count := func(c *chains) map[types.NamespacedName]int {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := map[types.NamespacedName]int{}
		for key := range c.known {
			n[key] = c.resyncs[key]
		}
		return n
	}
	return count(p.ours), count(p.theirs)
}
