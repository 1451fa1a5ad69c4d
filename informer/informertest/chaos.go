package informertest

import (
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Chaos makes requests go wrong at random. It does nothing that a real API
// server, or the network in front of it, could not do; objects are neither lost
// nor invented. A client that is correct has the true state soon after the
// chaos ends.
type Chaos struct {
	// Seed determines the choices. It does not determine the order in which the
	// requests of several clients arrive, and so not which of them gets which fault.
	Seed uint64
	// Rate is the share of lists and watches that go wrong, from 0 to 1.
	Rate float64
	// Writes lets all other requests fail as well, reads of one object among them.
	// They are refused before they are carried out.
	Writes bool
	// Longest bounds delays; 0 means one second.
	Longest time.Duration
	// Stalls lets requests hang until the client closes the connection. Clients
	// without a timeout of their own never do.
	Stalls bool
}

// InjectChaos begins to inject random faults and returns the function that ends it. Faults
// that were injected before come first.
func (s *Server) InjectChaos(c Chaos) (stop func()) {
	setDefault(&c.Longest, time.Second)
	m := &monkey{Chaos: c, random: rand.New(rand.NewPCG(c.Seed, 0x6368616f73))}
	return s.faults.add(&fault{pick: m.choose})
}

// monkey makes the choices. Guarded by the lock of the faults.
type monkey struct {
	Chaos
	random *rand.Rand
}

// choose decides about one request.
func (m *monkey) choose(r Request) (Effect, bool) {
	stream := r.Verb == "list" || r.Verb == "watch"
	if !stream && !m.Writes || m.random.Float64() >= m.Rate {
		return Effect{}, false
	}
	effects := m.refusals(r)
	switch r.Verb {
	case "watch":
		effects = append(effects, m.watchFaults()...)
	case "list":
		effects = append(effects, CutBody(m.random.IntN(5000)))
	}
	return effects[m.random.IntN(len(effects))], true
}

// refusals are what can go wrong before a request is carried out.
func (m *monkey) refusals(r Request) []Effect {
	gr := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	effects := []Effect{
		Drop(),
		Delay(time.Duration(m.random.Int64N(int64(m.Longest)))),
		Refuse(apierrors.NewTooManyRequests("too many requests, please try again later", 1)),
		Refuse(apierrors.NewInternalError(errors.New("etcdserver: leader changed"))),
		Refuse(apierrors.NewServiceUnavailable("the server is starting")),
		Refuse(apierrors.NewServerTimeout(gr, r.Verb, 1)),
		Respond(502, "text/html", "<html><body>Bad Gateway</body></html>"),
	}
	if r.Verb == "list" || r.Verb == "watch" {
		effects = append(effects, Refuse(apierrors.NewResourceExpired("too old resource version")))
		if m.Stalls {
			effects = append(effects, Stall())
		}
	}
	return effects
}

// watchFaults are what can go wrong with the stream of a watch.
func (m *monkey) watchFaults() []Effect {
	n := m.random.IntN(20)
	effects := []Effect{
		EndWatch(n), BreakWatch(n), BreakWatchInside(n), TruncateWatch(n), SwallowBookmarks(),
		FailWatch(n, apierrors.NewResourceExpired("too old resource version")),
		FailWatch(n, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))),
		FailWatch(n, apierrors.NewTooManyRequests("too many requests, please try again later", 1)),
	}
	if m.Stalls {
		effects = append(effects, StallWatch(n))
	}
	return effects
}
