package workqueue

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/informerkit/informerkit/workqueue/history"
)

// errNoGroups is returned where a group is named to a queue that has none.
var errNoGroups = errors.New("workqueue: the queue has no groups; set Options.Group")

// paused is a group whose items are not handed out. Its entries are not in the order:
// what is to be queued waits in a list here, in order of arrival, until the group is
// resumed or dropped.
//
//	          PauseGroup
//	queued ───────────────▶ paused: a request, but not in the order
//	   ▲                       │  ▲
//	   └───── ResumeGroup ─────┘  └─ Add, the end of a delay or a park, Done of one added again
//
// So a queue without paused groups pays one look at a map that is nil, and Get does
// not know of pauses at all.
type paused[T comparable] struct {
	entries entryList[T]
	n       int // entries in the list
	running int // items of the group that are handed out and not done
	// drained is closed when running gets to 0; nil if nothing waits for that.
	drained chan struct{}
}

// pauseOf returns the pause that holds back e, or nil.
func (o *order[T]) pauseOf(e *entry[T]) *paused[T] {
	if len(o.paused) == 0 {
		return nil
	}
	return o.paused[o.links.at(e.handle).name]
}

// push appends an entry that is to be queued as soon as the group is resumed.
func (p *paused[T]) push(o *order[T], e *entry[T]) {
	o.links.at(e.handle).paused = true
	p.entries.pushBack(e)
	p.n++
	o.nPaused++
}

// remove takes an entry out of the list. Its request stays pending, if there is one.
func (p *paused[T]) remove(o *order[T], e *entry[T]) {
	o.links.at(e.handle).paused = false
	p.entries.remove(e)
	p.n--
	o.nPaused--
}

// isPaused reports whether e waits for its group to be resumed.
func (o *order[T]) isPaused(e *entry[T]) bool { return o.grouped && o.links.at(e.handle).paused }

// pauseGroup stops handing out the items of a group. A pause that is there already is
// returned as it is.
func (q *engine[T]) pauseGroupLocked(name string) *paused[T] {
	o := &q.order
	if p := o.paused[name]; p != nil {
		return p
	}
	p := &paused[T]{entries: entryList[T]{entries: o.entries}}
	for e := range q.running.each {
		if o.links.at(e.handle).name == name {
			p.running++
		}
	}
	for i := range o.classes {
		c := &o.classes[i]
		for g := c.groups[name]; g != nil; g = c.groups[name] {
			e := o.entries.at(g.head)
			o.remove(e)
			p.push(o, e)
			q.noteLocked(e, history.Paused, 0)
		}
	}
	if o.paused == nil {
		o.paused = make(map[string]*paused[T])
	}
	o.paused[name] = p
	if q.shuttingDown.Load() { // there is no later for what was queued
		q.dropPausedLocked(p)
	}
	return p
}

// pauseGroup is PauseGroup.
func (q *engine[T]) pauseGroup(name string) error {
	if !q.order.grouped {
		return errNoGroups
	}
	now := q.timeIfKept()
	q.lock()
	q.observeLocked(now)
	q.pauseGroupLocked(name)
	drained := q.drainedLocked()
	q.unlock()
	drained.end() // what is dropped during a shutdown is not waited for
	return nil
}

// resumeGroup is ResumeGroup.
func (q *engine[T]) resumeGroup(name string) error {
	if !q.order.grouped {
		return errNoGroups
	}
	now := q.timeIfKept()
	q.lock()
	now = q.observeLocked(now)
	var drained chan struct{}
	if p := q.order.paused[name]; p != nil {
		// Taken off the map first: push asks it.
		delete(q.order.paused, name)
		for !p.entries.empty() {
			e := p.entries.first()
			p.remove(&q.order, e)
			q.order.push(e, now)
			q.noteLocked(e, history.Resumed, 0)
		}
		drained = p.drained
	}
	q.unlock()
	if drained != nil {
		close(drained) // DrainGroup looks why
	}
	return nil
}

// drainGroup is DrainGroup.
func (q *engine[T]) drainGroup(ctx context.Context, name string) error {
	if !q.order.grouped {
		return errNoGroups
	}
	now := q.timeIfKept()
	q.lock()
	q.observeLocked(now)
	p := q.pauseGroupLocked(name)
	ended := q.drainedLocked()
	wait := p.drained
	if p.running > 0 && wait == nil {
		wait = make(chan struct{})
		p.drained = wait
	}
	running := p.running
	q.unlock()
	ended.end()
	if running > 0 {
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	q.lock()
	defer q.unlock()
	if q.order.paused[name] != p {
		return ErrGroupResumed
	}
	return nil
}

// groupDoneLocked notes that an item of what may be a paused group is done. It returns
// what is to be closed once the lock is released, or nil.
func (q *engine[T]) groupDoneLocked(e *entry[T]) (drained chan struct{}) {
	p := q.order.pauseOf(e)
	if p == nil || p.running == 0 {
		return nil
	}
	if p.running--; p.running > 0 {
		return nil
	}
	drained, p.drained = p.drained, nil
	return drained
}

// queueLocked queues an entry that has a request, or drops it if its group is paused
// and the queue shut down: then there is no later.
func (q *engine[T]) queueLocked(e *entry[T], now int64) {
	q.order.push(e, now)
	q.notePausedLocked(e)
	if q.shuttingDown.Load() && q.order.isPaused(e) {
		q.dropPausedLocked(q.order.pauseOf(e))
	}
}

// dropPausedLocked drops the requests of a paused group because of a shutdown, and
// returns their items.
func (q *engine[T]) dropPausedLocked(p *paused[T]) (items []T) {
	for !p.entries.empty() {
		e := p.entries.first()
		p.remove(&q.order, e)
		items = append(items, e.item)
		q.count.shutdownLosses++
		// As of a parked item: the request was never processed, so its barrier stays open.
		e.barrier = 0
		q.discardLocked(e)
	}
	return items
}

// dropAllPausedLocked drops the requests of all paused groups because of a shutdown.
func (q *engine[T]) dropAllPausedLocked() (items []T) {
	for _, p := range q.order.paused {
		items = append(items, q.dropPausedLocked(p)...)
	}
	return items
}

// dropGroup is DropGroup.
func (q *engine[T]) dropGroup(name string) ([]T, error) {
	if !q.order.grouped {
		return nil, errNoGroups
	}
	var (
		items   []T
		cancels []func()
		reached []*barrier
	)
	now := q.timeIfKept()
	q.lock()
	q.observeLocked(now)
	p := q.pauseGroupLocked(name)
	// A request that will never be processed must not keep a barrier waiting: unlike
	// after a shutdown, the queue goes on.
	unask := func(e *entry[T]) {
		items = append(items, e.item)
		if e.requested() {
			reached = append(reached, q.barriers.leave(e.barrier))
			e.barrier = 0
		}
	}
	of := func(e *entry[T]) bool { return q.order.links.at(e.handle).name == name }
	for !p.entries.empty() {
		e := p.entries.first()
		p.remove(&q.order, e)
		unask(e)
		q.discardLocked(e)
	}
	for e := range q.running.each {
		if of(e) && e.again && !e.parked() {
			unask(e)
			q.dropAgainLocked(e)
		}
	}
	for handle := range q.delays.all {
		e := q.items.entries.at(handle)
		if !of(e) {
			continue
		}
		q.endDelayLocked(e)
		items = append(items, e.item)
		if !e.running {
			q.discardLocked(e)
		}
	}
	for handle := range q.parks.all {
		e := q.items.entries.at(handle)
		if !of(e) {
			continue
		}
		if c := q.forgetParkLocked(e).cancel; c != nil {
			cancels = append(cancels, c)
		}
		q.parks.remove(e.handle)
		unask(e)
		if e.again {
			q.dropAgainLocked(e)
		}
		if !e.running {
			q.discardLocked(e)
		}
	}
	if q.recording != nil {
		for _, item := range items {
			q.recording.note(q.latest, item, &history.Record{What: history.Withdrawn})
		}
	}
	drained := q.drainedLocked()
	q.unlock()
	drained.end()
	for _, k := range reached {
		k.close()
	}
	cancelAll(cancels)
	for _, item := range items {
		q.failing.clear(item)
	}
	return items, nil
}

// PausedGroup is the state of a paused group in an [Inspection].
type PausedGroup struct {
	// Name is that of the group, as [Options].Group returns it.
	Name string
	// Queued is the number of items that wait for the group to be resumed, and Running
	// that of those which are handed out and not done.
	Queued, Running int
}

// inspectPauses describes the paused groups, ordered by name.
func (o *order[T]) inspectPauses() []PausedGroup {
	var all []PausedGroup
	for name, p := range o.paused {
		all = append(all, PausedGroup{Name: name, Queued: p.n, Running: p.running})
	}
	slices.SortFunc(all, func(a, b PausedGroup) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// ErrGroupResumed is returned by [Queue.DrainGroup] when [Queue.ResumeGroup] ended the
// pause that it began.
var ErrGroupResumed = errors.New("workqueue: ResumeGroup ended the pause before the group was drained")

// PauseGroup stops handing out the items of one of the groups of [Options].Group, until
// [Queue.ResumeGroup]. Those that are running go on. What is added meanwhile is kept, and
// so is what is delayed or parked. The group need not have items, so it can be paused
// before its first one is added. Pausing it twice is pausing it once.
//
// A shutdown drops the items of paused groups and counts them, as it drops delayed ones;
// to pause a group after a shutdown drops its items too. So a drain does not wait for
// what will not be handed out.
//
// It fails if the queue has no groups. It takes a time in proportion to the items that
// the group has queued and to those that are running.
func (q *plain[T]) PauseGroup(group string) error { return q.engine.pauseGroup(group) }

// ResumeGroup hands out the items of a paused group again: those that waited are queued,
// in the order in which they came, behind the items of their priority class. For a group
// that is not paused it does nothing. It fails if the queue has no groups.
func (q *plain[T]) ResumeGroup(group string) error { return q.engine.resumeGroup(group) }

// DrainGroup is [Queue.PauseGroup] that waits until none of the group's items is running:
// once it has returned nil, no worker holds one, and none will before ResumeGroup.
//
// It returns the context's cause if ctx ends first, [ErrGroupResumed] if the group was
// resumed meanwhile, and an error if the queue has no groups. The group stays paused
// in the first case. Any number of callers may wait. A worker must not call it for the group of the
// item that it holds.
func (q *plain[T]) DrainGroup(ctx context.Context, group string) error {
	return q.engine.drainGroup(ctx, group)
}

// DropGroup is [Queue.PauseGroup] that also removes the group's items: those that are
// queued, delayed or parked. One that is running is finished by its worker and not queued
// again, unless it is added after this. The group stays paused, so what is added from now
// on is kept. It returns the number of requests that were dropped; the failures of their
// items are forgotten. A [Queue.Barrier] does not wait for them any more.
//
// It looks at all items that are delayed or parked, while the queue is locked. It fails
// if the queue has no groups.
func (q *plain[T]) DropGroup(group string) (dropped int, err error) {
	items, err := q.engine.dropGroup(group)
	return len(items), err
}

// DropGroup is [Queue.DropGroup]; the limiter forgets the items too.
func (q *RateLimitingQueue[T]) DropGroup(group string) (dropped int, err error) {
	items, err := q.engine.dropGroup(group)
	for _, item := range items {
		q.limiter.Forget(item)
	}
	return len(items), err
}
