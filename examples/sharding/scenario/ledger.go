package scenario

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// ledger judges from the history of the API server whether replicas have worked
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
//
// It is safe for concurrent use.
type ledger struct {
	*informer.Informer[*api.Foo] // runs for as long as the ledger is kept

	mu      sync.Mutex
	foos    map[types.UID]*entry
	doubles []string
	gap     bool // a part of the history is not known
}

// entry is the history of one Foo.
type entry struct {
	working, done controller.Mark // as the newest state has them
	owner         controller.Mark // who has begun last
	settled       bool            // done in its generation
}

// newLedger returns an empty ledger of the Foos in a namespace.
func newLedger(cfg *rest.Config, namespace string) (*ledger, error) {
	source, err := reflector.NewResource[*api.Foo](cfg, api.Resource, reflector.ResourceOptions{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	l := &ledger{foos: map[types.UID]*entry{}}
	l.Informer, err = informer.New(source, informer.Options[*api.Foo]{
		Name: "ledger", Logger: slog.New(slog.DiscardHandler),
		Reflector: reflector.Options{Policy: exampleapp.StopUnlessSynced}, // without a server there is nothing to judge
	})
	if err != nil {
		return nil, err
	}
	_, err = l.AddHandler(l, informer.HandlerOptions{Lossless: true})
	return l, err
}

// OnEvent implements informer.Handler. A list after the first one shows where a Foo has got to, and not how.
func (l *ledger) OnEvent(e informer.Event[*api.Foo]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = l.gap || e.Origin == informer.Relist
	if e.Type != informer.Deleted {
		l.note(e.New)
	}
}

// note notes a state of a Foo. The states of one Foo come in their order.
func (l *ledger) note(foo *api.Foo) {
	e := l.foos[foo.UID]
	if e == nil {
		e = &entry{}
		l.foos[foo.UID] = e
	}
	working, done := controller.MarkOf(foo, controller.Working), controller.MarkOf(foo, controller.Done)
	none := controller.Mark{}
	if working != e.working && working != none {
		if working.Term < e.owner.Term {
			l.double(foo, working, e.owner)
		} else {
			e.owner = working
		}
	}
	// One that was done again in the same generation has the same mark.
	if (done != e.done || working == none && e.working != none) && (done.Replica != e.owner.Replica || done.Term != e.owner.Term) {
		l.double(foo, done, e.owner)
	}
	e.working, e.done, e.settled = working, done, done.Generation == foo.Generation
}

func (l *ledger) double(foo *api.Foo, by, owner controller.Mark) {
	l.doubles = append(l.doubles, fmt.Sprintf("%s: %s in term %d has written after %s had begun in term %d", foo.Name, by.Replica, by.Term, owner.Replica, owner.Term))
}

// doublesSoFar returns a line for each double write so far. It is an error if not the whole history is known.
func (l *ledger) doublesSoFar() (lines []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gap {
		err = errors.New("not all that happened to the foos is known: they were listed again")
	}
	return slices.Clone(l.doubles), err
}

// missing returns how many of that many Foos are not known, or not done in their generation.
func (l *ledger) missing(foos int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.foos {
		if e.settled {
			foos--
		}
	}
	return foos
}
