package differential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	theirs "k8s.io/client-go/util/workqueue"

	ours "github.com/informerkit/informerkit/workqueue"
)

// queuePair is the two queues, and what each is to hold back for later.
//
// Each step happens a nanosecond after the one before, and every delay is a whole
// number of milliseconds, so that no two delays end at the same time: in which
// order they would come is not promised.
type queuePair struct {
	ours     *ours.RateLimitingQueue[string]
	theirs   theirs.TypedRateLimitingInterface[string]
	ourTap   *tap[ours.RateLimiter[string]]
	theirTap *tap[theirs.TypedRateLimiter[string]]
	// When the delay of each item ends. Client-go's queue keeps the earliest that
	// it was ever given, until it ends. Ours keeps it until there is an Add, and
	// takes none while the item is queued; reasons holds which of the two it was.
	theirDelays map[string]time.Time
	ourDelays   map[string]time.Time
	reasons     map[string]difference
	running     map[string]bool
	met         *tally
	down        bool
}

func newQueuePair(seed uint64, met *tally) *queuePair {
	a, b := limiters(seed)
	p := &queuePair{
		ourTap: &tap[ours.RateLimiter[string]]{limiter: a}, theirTap: &tap[theirs.TypedRateLimiter[string]]{limiter: b},
		theirDelays: map[string]time.Time{}, ourDelays: map[string]time.Time{}, reasons: map[string]difference{}, running: map[string]bool{}, met: met,
	}
	p.ours = ours.NewRateLimiting[string](ourTap{a, p.ourTap}, ours.Options[string]{})
	p.theirs = theirs.NewTypedRateLimitingQueue[string](theirTap{b, p.theirTap})
	return p
}

func (p *queuePair) step(s queueStep) error {
	switch s.do {
	case "add":
		p.add(s.item)
	case "add after":
		d := time.Duration(s.ms) * time.Millisecond
		p.delay(s.item, d)
		p.ours.AddAfter(s.item, d)
		p.theirs.AddAfter(s.item, d)
	case "rate limited":
		return p.addRateLimited(s.item)
	case "forget":
		p.ours.Forget(s.item)
		p.theirs.Forget(s.item)
	case "get":
		return p.get()
	case "done":
		p.done(s.item)
	case "stray done":
		p.strayDone(s.item)
	case "wait":
		p.wait(time.Duration(s.ms) * time.Millisecond)
	case "shut down":
		p.ours.ShutDown()
		p.theirs.ShutDown()
		p.down = true
		clear(p.theirDelays)
		clear(p.ourDelays)
	}
	return nil
}

func (p *queuePair) add(item string) {
	p.delay(item, 0)
	p.ours.Add(item)
	p.theirs.Add(item)
}

// addRateLimited also compares the delays that were demanded.
func (p *queuePair) addRateLimited(item string) error {
	if p.down { // difference Q5
		return nil
	}
	queued := p.queued(item) // before, as the delay is known only after
	p.ours.AddRateLimited(item)
	p.theirs.AddRateLimited(item)
	if p.ourTap.last != p.theirTap.last {
		return fmt.Errorf("delay: ours %v, theirs %v", p.ourTap.last, p.theirTap.last)
	}
	p.expect(item, p.theirTap.last, queued)
	return nil
}

// delay notes what is to come of an item that is about to be added after d.
func (p *queuePair) delay(item string, d time.Duration) { p.expect(item, d, p.queued(item)) }

// expect does that for an item that was queued before, or was not.
func (p *queuePair) expect(item string, d time.Duration, queued bool) {
	if p.down {
		return
	}
	if d <= 0 {
		if _, ok := p.ourDelays[item]; ok {
			p.reasons[item] = delayOutlivesAdd
		}
		delete(p.ourDelays, item)
		return
	}
	at := time.Now().Add(d)
	keepEarliest(p.theirDelays, item, at)
	if queued {
		p.reasons[item] = delayWhileQueued
		return
	}
	keepEarliest(p.ourDelays, item, at)
}

func keepEarliest(delays map[string]time.Time, item string, at time.Time) {
	if old, ok := delays[item]; !ok || at.Before(old) {
		delays[item] = at
	}
}

// queued reports whether item is queued, or will be when it is done.
func (p *queuePair) queued(item string) bool {
	now := p.ours.Inspect(math.MaxInt)
	return slices.ContainsFunc(now.Queued, func(i ours.Item[string]) bool { return i.Item == item }) ||
		slices.ContainsFunc(now.Running, func(i ours.Item[string]) bool { return i.Item == item && i.Again })
}

// wait lets time pass, from the end of one of client-go's delays to the next. If
// our queue does not have that delay, by differences Q1 and Q2, the item is
// added to it by hand: then both must be the same again.
func (p *queuePair) wait(d time.Duration) {
	for end := time.Now().Add(d); ; {
		item, at := "", end
		for i, t := range p.theirDelays {
			if t.Before(at) {
				item, at = i, t
			}
		}
		time.Sleep(time.Until(at))
		synctest.Wait()
		if item == "" {
			return
		}
		delete(p.theirDelays, item)
		if p.ourDelays[item].Equal(at) {
			delete(p.ourDelays, item)
			continue
		}
		p.met.add(p.reasons[item], 1)
		p.delay(item, 0)
		p.ours.Add(item)
	}
}

func (p *queuePair) get() error {
	if p.ours.Len() == 0 && !p.down {
		return nil // client-go's would wait
	}
	a, ok := p.ours.Get(context.Background())
	b, down := p.theirs.Get()
	if a != b || ok == down {
		return fmt.Errorf("got: ours %q %v, theirs %q %v", a, ok, b, !down)
	}
	if ok {
		if p.running[a] {
			return fmt.Errorf("%q was handed out twice", a)
		}
		p.running[a] = true
	}
	return nil
}

func (p *queuePair) done(item string) {
	if p.running[item] {
		delete(p.running, item)
		p.ours.Done(item)
		p.theirs.Done(item)
	}
}

// strayDone is Done of what is neither running nor queued. What if it is queued
// is difference Q3.
func (p *queuePair) strayDone(item string) {
	if !p.running[item] && !p.queued(item) {
		p.ours.Done(item)
		p.theirs.Done(item)
	}
}

// compare compares the states of both, and what ours delays with what it is to.
func (p *queuePair) compare() error {
	delays := map[string]time.Time{}
	for _, d := range p.ours.Inspect(math.MaxInt).Delayed {
		delays[d.Item] = d.DelayedUntil
	}
	if !maps.EqualFunc(delays, p.ourDelays, time.Time.Equal) {
		return fmt.Errorf("ours delays %v, and is to delay %v", delays, p.ourDelays)
	}
	if a, b := p.ours.Len(), p.theirs.Len(); a != b {
		return fmt.Errorf("length: ours %d, theirs %d", a, b)
	}
	if a, b := p.ours.ShuttingDown(), p.theirs.ShuttingDown(); a != b {
		return fmt.Errorf("shutting down: ours %v, theirs %v", a, b)
	}
	for _, item := range queueItems {
		if a, b := p.ours.NumRequeues(string(item)), p.theirs.NumRequeues(string(item)); a != b {
			return fmt.Errorf("requeues of %c: ours %d, theirs %d", item, a, b)
		}
	}
	return nil
}

// drain hands out what is left, so that no difference stays hidden in the queue.
func (p *queuePair) drain() error {
	p.wait(time.Second)
	var errs error
	for p.ours.Len() > 0 || len(p.running) > 0 {
		for item := range p.running {
			p.done(item)
		}
		synctest.Wait()
		errs = errors.Join(errs, p.compare())
		if errs != nil {
			break
		}
		if p.ours.Len() > 0 {
			errs = errors.Join(errs, p.get())
		}
	}
	return errs
}

func runQueue(met *tally) func(t *testing.T, seed uint64, steps []queueStep) error {
	return func(t *testing.T, seed uint64, steps []queueStep) (err error) {
		synctest.Test(t, func(*testing.T) {
			p := newQueuePair(seed, met)
			defer func() {
				p.ours.ShutDown()
				p.theirs.ShutDown()
				time.Sleep(time.Minute) // client-go's goroutines take their time
			}()
			for i, s := range steps {
				time.Sleep(time.Nanosecond)
				if err = p.step(s); err == nil {
					synctest.Wait()
					err = p.compare()
				}
				if err != nil {
					err = fmt.Errorf("step %d, %v: %w", i+1, s, err)
					return
				}
			}
			if err = p.drain(); err != nil {
				err = fmt.Errorf("at the end: %w", err)
			}
		})
		return err
	}
}

func TestQueueHandsOutWhatClientGoDoes(t *testing.T) {
	t.Parallel()
	met := &tally{}
	t.Cleanup(func() { met.require(t, delayOutlivesAdd, delayWhileQueued) })
	kind[queueStep]{few: 300, generate: queueSteps, run: runQueue(met)}.check(t)
}
