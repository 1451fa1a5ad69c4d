package sharding

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/reflector"
)

// fakeServer stores Leases as an API server does: each write has a version of its own,
// and is refused if it carries an old one. Times are those of a synctest bubble.
type fakeServer struct {
	mu      sync.Mutex
	rv      int
	leases  map[string]*lease
	history []change
	changed chan struct{} // closed at the next write
	writes  int
	// compacted is the version up to which the history is gone: a watch from an older one is refused.
	compacted int
	// count is called with what happens.
	count func(what string)
	// committed is when each Lease was written last. A replica must not end the session of another before
	// its duration has passed since, by a clock that goes fastest times as fast as time. early
	// has the sessions for which one did.
	committed map[string]time.Time
	fastest   float64
	early     []string
}

// change is an event, with the time when it was committed.
type change struct {
	watch.Event
	rv int
	at time.Time
}

func newFakeServer() *fakeServer {
	return &fakeServer{
		rv: 1, leases: map[string]*lease{}, changed: make(chan struct{}), count: func(string) {},
		committed: map[string]time.Time{}, fastest: 1,
	}
}

// leaseList is what the list function of a clientset would return.
type leaseList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []lease
}

func (l *leaseList) DeepCopyObject() runtime.Object { return l }

// put stores a Lease; the caller holds mu. An event for a Lease without the label of the group is
// a deletion, as watches have a selector.
func (s *fakeServer) put(l *lease, kind watch.EventType) *lease {
	s.rv++
	s.writes++
	s.committed[l.Name] = time.Now()
	l = l.copy()
	l.ResourceVersion = strconv.Itoa(s.rv)
	old := s.leases[l.Name]
	if l.UID == "" {
		l.UID = types.UID("uid-" + l.ResourceVersion)
	}
	switch {
	case kind == watch.Deleted:
		delete(s.leases, l.Name)
	case old == nil, old.Labels[GroupLabel] == "":
		kind = watch.Added
		s.leases[l.Name] = l
	default:
		kind = watch.Modified
		s.leases[l.Name] = l
	}
	shown := l.Labels[GroupLabel] != "" || old != nil && old.Labels[GroupLabel] != ""
	if l.Labels[GroupLabel] == "" {
		kind = watch.Deleted
	}
	if shown {
		s.history = append(s.history, change{watch.Event{Type: kind, Object: l.copy()}, s.rv, time.Now()})
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return l.copy()
}

// edit changes a Lease by hand; nil from change deletes it.
func (s *fakeServer) edit(name string, change func(l *lease) *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.leases[name]
	if old == nil {
		return
	}
	if l := change(old.copy()); l != nil {
		s.put(l, watch.Modified)
	} else {
		s.put(old, watch.Deleted)
	}
}

// recreate deletes a Lease and creates it again, as kubectl replace --force does.
func (s *fakeServer) recreate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.put(s.leases[name], watch.Deleted)
	l.UID = ""
	s.put(l, watch.Added)
}

// compact drops the history so far.
func (s *fakeServer) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.rv
}

// snapshot returns the Leases that a selector of the group finds.
func (s *fakeServer) snapshot() []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*lease
	for _, l := range s.leases {
		if l.Labels[GroupLabel] != "" {
			all = append(all, l.copy())
		}
	}
	return all
}

var errNetwork = errors.New("the network is down")

// conn is the connection of one replica to the server. It implements client.
type conn struct {
	s        *fakeServer
	identity string     // of the replica
	rnd      *rand.Rand // guarded by s.mu
	// gate blocks while the replica is paused; nil does not.
	gate  func()
	mu    sync.Mutex
	cut   chan struct{} // not nil while it is cut off; closed when that ends
	lose  float64       // how often an answer is lost
	stuck string        // updates of Leases with this prefix are given up
	late  float64       // how often a request that was given up arrives later
	slow  time.Duration // the most that a request takes, each way
	// crash, if not nil, is called before and after each write takes effect.
	crash func(at string)
	deny  error // if set, the answer to each write
	// unsure, if set, is the answer to the next creation of a session, which has worked.
	unsure error
	gone   bool // of a crashed replica: no request has an effect
	blind  bool // no list and no event arrives
	// lag is how old an event is at least when it arrives, as from a replica of the API
	// server that is behind.
	lag time.Duration
	// stale is how old a list may be, as far as its resourceVersion allows.
	stale time.Duration
}

func (s *fakeServer) connect(rnd *rand.Rand) *conn { return &conn{s: s, rnd: rnd} }

func (c *conn) set(change func(c *conn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// sever cuts the replica off, or connects it again.
func (c *conn) sever(off bool) {
	c.set(func(c *conn) {
		switch {
		case off && c.cut == nil:
			c.cut = make(chan struct{})
		case !off && c.cut != nil:
			close(c.cut)
			c.cut = nil
		}
	})
}

// pass is one way over the network.
func (c *conn) pass(ctx context.Context) error {
	c.mu.Lock()
	slow := c.slow
	c.mu.Unlock()
	return c.travel(ctx, slow)
}

// travel is one way over the network, of up to the given time.
func (c *conn) travel(ctx context.Context, slow time.Duration) error {
	c.mu.Lock()
	cut, gone := c.cut, c.gone
	c.mu.Unlock()
	if gone {
		return errNetwork
	}
	if slow > 0 {
		c.s.mu.Lock()
		d := time.Duration(c.rnd.Int64N(int64(slow)))
		c.s.mu.Unlock()
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if cut != nil {
		select {
		case <-cut:
			return errNetwork
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		gate()
	}
	return ctx.Err()
}

// write is a request that has an effect; what says which one.
func (c *conn) write(ctx context.Context, what string, effect func() (*lease, error)) (*lease, error) {
	if err := c.pass(ctx); err != nil {
		c.arriveLate(what, effect)
		return nil, err
	}
	c.mu.Lock()
	crash, deny, lose := c.crash, c.deny, c.lose
	c.mu.Unlock()
	if crash != nil {
		crash("before " + what)
	}
	c.mu.Lock()
	gone := c.gone
	c.mu.Unlock()
	switch {
	case gone:
		return nil, errNetwork
	case deny != nil:
		return nil, deny
	}
	c.s.mu.Lock()
	l, err := effect()
	lost := c.rnd.Float64() < lose
	c.s.mu.Unlock()
	if crash != nil {
		crash("after " + what)
	}
	if lost {
		c.s.count("lost answer to " + what)
		return nil, errNetwork
	}
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	return l, err
}

// arriveLate has a request that its client has given up take effect all the same, some
// time later.
func (c *conn) arriveLate(what string, effect func() (*lease, error)) {
	c.mu.Lock()
	late := c.late
	c.mu.Unlock()
	c.s.mu.Lock()
	arrives, after := c.rnd.Float64() < late, time.Duration(c.rnd.Int64N(int64(10*time.Second)))
	c.s.mu.Unlock()
	if !arrives {
		return
	}
	go func() {
		time.Sleep(after)
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if _, err := effect(); err != nil {
			c.s.count("late and refused: " + what)
		} else {
			c.s.count("late and done: " + what)
		}
	}()
}

// purpose says what a write of a Lease is for.
func purpose(verb string, l *lease) string {
	switch {
	case strings.Contains(l.Name, "-replica-"):
		return verb + " a session"
	case l.holder() == "":
		return "give a part up"
	}
	return "take a part"
}

func (c *conn) get(ctx context.Context, name string) (*lease, error) {
	return c.write(ctx, "get", func() (*lease, error) {
		if l := c.s.leases[name]; l != nil {
			return l.copy(), nil
		}
		return nil, apierrors.NewNotFound(leaseResource.GroupResource(), name)
	})
}

func (c *conn) create(ctx context.Context, l *lease) (*lease, error) {
	var unsure error
	if strings.Contains(l.Name, "-replica-") {
		c.set(func(c *conn) { unsure, c.unsure = c.unsure, nil })
	}
	return c.write(ctx, purpose("begin", l), func() (*lease, error) {
		if c.s.leases[l.Name] != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource.GroupResource(), l.Name)
		}
		return c.s.put(l, watch.Added), unsure
	})
}

func (c *conn) update(ctx context.Context, l *lease) (*lease, error) {
	effect := func() (*lease, error) {
		old := c.s.leases[l.Name]
		if old == nil || old.ResourceVersion != l.ResourceVersion {
			return nil, apierrors.NewConflict(leaseResource.GroupResource(), l.Name, errors.New("changed"))
		}
		return c.s.put(l, watch.Modified), nil
	}
	c.mu.Lock()
	stuck := c.stuck
	c.mu.Unlock()
	if stuck != "" && strings.HasPrefix(l.Name, stuck) {
		<-ctx.Done()
		c.arriveLate(purpose("renew", l), effect)
		return nil, ctx.Err()
	}
	return c.write(ctx, purpose("renew", l), effect)
}

func (c *conn) remove(ctx context.Context, l *lease) error {
	_, err := c.write(ctx, purpose("end", l), func() (*lease, error) {
		old := c.s.leases[l.Name]
		switch {
		case old == nil:
			return nil, apierrors.NewNotFound(leaseResource.GroupResource(), l.Name)
		case l.ResourceVersion != "" && old.ResourceVersion != l.ResourceVersion, l.UID != "" && l.UID != old.UID:
			return nil, apierrors.NewConflict(leaseResource.GroupResource(), l.Name, errors.New("changed"))
		}
		if !strings.HasPrefix(l.Name, "group-replica-"+c.identity+"-") {
			c.s.endedByAnother(old)
		}
		return c.s.put(old, watch.Deleted), nil
	})
	return err
}

// endedByAnother notes a session that is ended too early; the caller holds mu.
func (s *fakeServer) endedByAnother(l *lease) {
	least := l.stated()
	if least <= 0 {
		least = leaseDuration
	}
	if age := time.Since(s.committed[l.Name]); age < time.Duration(float64(least)/s.fastest)-time.Millisecond {
		s.early = append(s.early, fmt.Sprint(l.Name, " was ended ", age, " after it was renewed"))
	}
}

func (c *conn) source() reflector.ListerWatcher[*lease] {
	return reflector.FromFuncs[*lease](c.list, c.watch)
}

// see blocks while the replica is blind.
func (c *conn) see(ctx context.Context) error {
	c.mu.Lock()
	blind, slow := c.blind, c.slow
	c.mu.Unlock()
	if !blind {
		// Events follow each other: the delay of each adds to those before it.
		return c.travel(ctx, min(slow, 40*time.Millisecond))
	}
	<-ctx.Done()
	return ctx.Err()
}

// list answers as an API server does from its watch cache: with version 0 by any state, with another version by
// one that is not older, and without one by the newest.
func (c *conn) list(ctx context.Context, opts metav1.ListOptions) (*leaseList, error) {
	if err := c.see(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	stale := c.stale
	c.mu.Unlock()
	c.s.mu.Lock()
	rv := c.s.rv
	if stale > 0 && opts.ResourceVersion != "" {
		least, _ := strconv.Atoi(opts.ResourceVersion)
		rv = max(least, c.s.versionAt(time.Now().Add(-time.Duration(c.rnd.Int64N(int64(stale))))))
	}
	if rv < c.s.rv {
		c.s.count("stale list")
	}
	l := c.s.listAt(rv)
	c.s.mu.Unlock()
	return l, c.pass(ctx)
}

// versionAt returns the version at a time; the caller holds mu.
func (s *fakeServer) versionAt(at time.Time) int {
	rv := 1
	for _, c := range s.history {
		if c.at.After(at) {
			break
		}
		rv = c.rv
	}
	return rv
}

// listAt returns the Leases with the label as they were at a version; the caller holds mu.
func (s *fakeServer) listAt(rv int) *leaseList {
	state := map[string]*lease{}
	for _, c := range s.history {
		if c.rv > rv {
			break
		}
		l := c.Object.(*lease)
		if state[l.Name] = l; c.Type == watch.Deleted {
			delete(state, l.Name)
		}
	}
	l := &leaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(rv)}}
	for _, one := range state {
		l.Items = append(l.Items, *one.copy())
	}
	return l
}

// fakeWatch is a watch whose events take their time, in order.
type fakeWatch struct {
	events chan watch.Event
	stop   context.CancelFunc
}

func (w *fakeWatch) Stop()                          { w.stop() }
func (w *fakeWatch) ResultChan() <-chan watch.Event { return w.events }

func (c *conn) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(opts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("watch from version %q: %w", opts.ResourceVersion, err)
	}
	c.s.mu.Lock()
	expired := from < c.s.compacted
	c.s.mu.Unlock()
	if expired {
		c.s.count("list again")
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	ctx, stop := context.WithCancel(ctx)
	w := &fakeWatch{events: make(chan watch.Event), stop: stop}
	go func() {
		defer close(w.events)
		for next := 0; ; next++ {
			ev, ok := c.s.event(ctx, next)
			if !ok {
				return
			}
			if ev.rv <= from {
				continue
			}
			if err := c.see(ctx); err != nil {
				return
			}
			if err := c.behind(ctx, ev.at); err != nil {
				return
			}
			select {
			case w.events <- ev.Event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return w, nil
}

// behind waits until an event that was committed at a time is old enough to arrive.
func (c *conn) behind(ctx context.Context, at time.Time) error {
	c.mu.Lock()
	wait := time.Until(at.Add(c.lag))
	c.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// event returns the n-th event, and waits for it.
func (s *fakeServer) event(ctx context.Context, n int) (change, bool) {
	for {
		s.mu.Lock()
		if n < len(s.history) {
			defer s.mu.Unlock()
			ev := s.history[n]
			ev.Object = ev.Object.(*lease).copy()
			return ev, true
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return change{}, false
		}
	}
}
