// Package ledger judges from the history of the API server whether replicas have worked
// on one Foo at the same time, and whether one was missed.
//
// A replica writes a mark into a Foo when it begins, and another one when it is done;
// see package controller. The server puts all writes of a Foo into one order, and a watch
// shows each. Double is a write by a replica that comes after another one has begun:
//
//	begin a ─ done a ─ begin b ─ done b      well
//	begin a ─ begin b ─ done b               well, if a was killed: it has written nothing since
//	begin a ─ begin b ─ done a               double
//
// It does not ask who was killed when, so what a killed replica has sent and the server has
// received late is counted, too. A term, which is a replica's ownership of a part, counts as another
// replica, and a mark of an earlier term than one that was seen is double.
package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/reflector"
)

// Ledger is what the server has seen. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	foos    map[types.UID]*entry
	counts  Counts
	doubles []string
	undone  int           // Foos that are not done in their generation
	changed chan struct{} // closed when undone is 0
	source  reflector.ListerWatcher[*api.Foo]
	version string // up to which all is known; of Begin and Follow
}

// Counts are what a Ledger has counted. Taken is how many reconciles were begun by one
// replica and begun again by another one, as the first was killed; Double how many writes
// came after another replica had begun.
type Counts struct{ Foos, Done, Taken, Double int }

// entry is the history of one Foo.
type entry struct {
	working, done controller.Mark // as the newest state has them
	owner         controller.Mark // who has begun last
	open          bool            // it is not done
	settled       bool            // done in its generation
}

// New returns an empty ledger of the Foos in a namespace.
func New(cfg *rest.Config, namespace string) (*Ledger, error) {
	source, err := reflector.NewResource[*api.Foo](cfg, api.Resource, reflector.ResourceOptions{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return &Ledger{foos: map[types.UID]*entry{}, changed: make(chan struct{}), source: source}, nil
}

// Begin notes what is there. It comes before the replicas; Follow comes after it.
func (l *Ledger) Begin(ctx context.Context) error {
	list, err := l.source.List(ctx, reflector.Request{}, func(ev reflector.WatchEvent[*api.Foo]) error {
		foo, err := ev.Object, ev.Err
		if err == nil {
			l.Note(foo)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list foos: %w", err)
	}
	l.version = list.ResourceVersion
	return nil
}

// Follow notes what happens, until ctx ends. A server ends watches from time to time, and
// connections break; then it goes on from the version that was seen last. If the server does
// not have that any more it is an error, since a history with a gap proves nothing; and
// so it is if the server does not answer for some seconds.
func (l *Ledger) Follow(ctx context.Context) error {
	for failures := 0; ; {
		seen := l.version
		final, err := l.watch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if failures++; l.version != seen {
			failures = 0
		}
		if final || failures == maxFailures {
			return fmt.Errorf("not all that happened to the foos is known: watch from version %s: %w", l.version, err)
		}
		if failures > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(failurePause):
			}
		}
	}
}

// A watch that fails is tried again after a pause, this many times.
const (
	maxFailures  = 50
	failurePause = 100 * time.Millisecond
)

// watch notes what one watch shows, and returns why it has ended. It is final if another one
// cannot go on from there.
func (l *Ledger) watch(ctx context.Context) (final bool, err error) {
	stream, err := l.source.Watch(ctx, reflector.Request{ListOptions: metav1.ListOptions{ResourceVersion: l.version}})
	if err != nil {
		return isFinal(err), err
	}
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next()
		if err != nil {
			return isFinal(err), err
		}
		if event.Err != nil { // an object that cannot be read
			return true, event.Err
		}
		l.version = event.ResourceVersion
		switch event.Type {
		case watch.Added, watch.Modified:
			l.Note(event.Object)
		case watch.Deleted, watch.Bookmark, watch.Error:
		}
	}
}

// isFinal reports whether the server does not have the version any more.
func isFinal(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// Note notes a state of a Foo. The states of one Foo come in their order.
func (l *Ledger) Note(foo *api.Foo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.foos[foo.UID]
	if e == nil {
		e = &entry{}
		l.foos[foo.UID] = e
		l.counts.Foos++
		l.undone++
	}
	working, done := controller.MarkOf(foo, controller.Working), controller.MarkOf(foo, controller.Done)
	if working != e.working && working != (controller.Mark{}) {
		switch {
		case working.Term < e.owner.Term:
			l.double(foo, working, e.owner)
		case e.open && !same(working, e.owner):
			l.counts.Taken++
			e.owner = working
		default:
			e.owner = working
		}
		e.open = true
	}
	// One that was done again in the same generation has the same mark.
	if none := (controller.Mark{}); done != e.done || working == none && e.working != none {
		l.counts.Done++
		if !same(done, e.owner) {
			l.double(foo, done, e.owner)
		} else {
			e.open = false
		}
	}
	e.working, e.done = working, done
	settled := done.Generation == foo.Generation
	if settled != e.settled {
		e.settled = settled
		if settled {
			l.undone--
		} else {
			l.undone++
		}
	}
	if l.undone == 0 {
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// same reports whether two marks are of one replica in one term.
func same(a, b controller.Mark) bool { return a.Replica == b.Replica && a.Term == b.Term }

func (l *Ledger) double(foo *api.Foo, by, owner controller.Mark) {
	l.counts.Double++
	l.doubles = append(l.doubles, fmt.Sprintf("%s: %s in term %d has written after %s had begun in term %d", foo.Name, by.Replica, by.Term, owner.Replica, owner.Term))
}

// Counts returns what was counted so far, and a line for each double write.
func (l *Ledger) Counts() (Counts, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts, l.doubles
}

// Settle waits until at least foos Foos are known, and each is done in its generation. It
// returns how many are missing when ctx ends.
func (l *Ledger) Settle(ctx context.Context, foos int) (missing int) {
	for {
		l.mu.Lock()
		missing = l.undone + max(foos-l.counts.Foos, 0)
		changed := l.changed
		l.mu.Unlock()
		if missing == 0 {
			return 0
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return missing
		}
	}
}
