package explore

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// lag holds back the events of a resource, and lists that accept an old state get that of
// a version.
type lag struct {
	resource string
	at       uint64
	until    time.Time
	// refuse makes the server one without streaming lists, so that a cache begins with a
	// list from the server's cache.
	refuse bool
}

// gap keeps a resource from being listed and watched while users act.
type gap struct {
	resource string
	steps    int
	until    time.Time
}

// refusal refuses so many writes, or for a while those with one verb to one resource.
type refusal struct {
	kind           string
	left           int
	until          time.Time
	verb, resource string
}

// held reports whether the events of a stream are held back.
func (r *run) held(s *stream) bool {
	now := time.Now()
	return now.Before(s.process.everything) ||
		slices.ContainsFunc(r.lags, func(l lag) bool { return l.resource == s.Resource })
}

// cutLocked begins a gap.
func (r *run) cutLocked(f fault) {
	r.note(event{who: "fault", kind: eventFault, text: fmt.Sprintf("%v: watches of %s are cut, and return after %d steps of users; the history is compacted", f, f.resource, f.count())})
	for _, s := range r.streams {
		if s.Resource == f.resource {
			s.fail(errReset)
		}
	}
	r.gaps = append(r.gaps, gap{f.resource, f.count(), time.Now().Add(disturbance)})
}

// disturbance is how long lags, gaps and partitions last.
const disturbance = 30 * time.Second

// expire ends what has lasted long enough, and looks for processes that do not end.
func (r *run) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.lags = slices.DeleteFunc(r.lags, func(l lag) bool {
		ends := !now.Before(l.until)
		if ends {
			r.lastWork = now
			r.note(event{who: "fault", kind: eventFault, text: "events of " + l.resource + " arrive again"})
		}
		return ends
	})
	r.gaps = slices.DeleteFunc(r.gaps, func(g gap) bool {
		ends := !now.Before(g.until) || g.steps <= 0
		if ends {
			r.lastWork = now
			r.server.Compact()
			r.note(event{who: "fault", kind: eventFault, text: g.resource + " can be listed and watched again"})
		}
		return ends
	})
	r.refusals = slices.DeleteFunc(r.refusals, func(x refusal) bool {
		ends := !x.until.IsZero() && !now.Before(x.until)
		if ends {
			r.lastWork = now
			r.note(event{who: "fault", kind: eventFault, text: fmt.Sprintf("%s of %s is accepted again", x.verb, x.resource)})
		}
		return ends
	})
	for _, rep := range r.replicas {
		p := rep.now
		if p == nil {
			continue
		}
		if !p.everything.IsZero() && !now.Before(p.everything) {
			p.everything = time.Time{}
			r.lastWork = now
			r.note(event{who: "fault", kind: eventFault, text: p.name + " reaches the server again; what it sent meanwhile has failed"})
			r.disconnectLocked(p)
		}
		if !p.stopped.IsZero() && now.Sub(p.stopped) > r.opts.Grace {
			select {
			case <-p.ended:
			default:
				r.failLocked(ruleGrace, fmt.Sprintf("Start of %s has not returned %v after its context ended", p.name, r.opts.Grace))
			}
		}
	}
}

// disconnectLocked breaks the connections of a process, with the requests on them.
func (r *run) disconnectLocked(p *process) {
	for _, s := range r.streams {
		if s.process == p {
			s.fail(errReset)
		}
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(rq *request) bool {
		if rq.process == p {
			rq.done <- answer{err: errReset}
		}
		return rq.process == p
	})
}

// disturbedLocked reports whether a fault is in effect.
func (r *run) disturbedLocked() bool {
	if len(r.lags) > 0 || len(r.gaps) > 0 || len(r.refusals) > 0 && !r.refusals[0].until.IsZero() {
		return true
	}
	now := time.Now()
	return slices.ContainsFunc(r.replicas, func(rep *replica) bool {
		p := rep.now
		return p == nil || !p.stopped.IsZero() || now.Before(p.everything) || now.Before(p.leases)
	})
}

// staleQuery rewrites the query of a list that accepts an old state, if there is one to be had.
func (l lag) staleQuery(q url.Values) (url.Values, bool) {
	rv := q.Get("resourceVersion")
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil || n > l.at || q.Get("resourceVersionMatch") == "Exact" || q.Get("continue") != "" {
		return nil, false
	}
	q.Set("resourceVersion", strconv.FormatUint(l.at, 10))
	q.Set("resourceVersionMatch", "Exact")
	return q, true
}
