package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/informer/health"
)

// Replica returns the source that shows r, a Replica of package sharding, with its group: who
// leads, or which parts the replica has.
func Replica(r interface{ Health() health.Replica }) Source {
	if isNil(r) {
		return Source{}
	}
	return Source{replica: func(opts *Options) replicaReport { return reportReplica(r.Health(), opts) }}
}

// replicaReport is one replica, and its group as it sees it. Most fields are those of
// health.Replica, under the same names.
type replicaReport struct {
	Name     string `json:"name"` // of the group
	Identity string `json:"identity"`
	// Empty without a session.
	Session string `json:"session"`
	State   string `json:"state"`
	// Sessions that it has had.
	Sessions int `json:"sessions"`
	// Parts of the group, and how many of them the replica is to have.
	Parts int          `json:"parts"`
	Quota int          `json:"quota"`
	Held  []partReport `json:"held"`
	// Parts without an owner.
	Free int `json:"free"`
	// Of a group of one part: the session that has it.
	Leader      string         `json:"leader,omitempty"`
	Replicas    []memberReport `json:"replicas"`
	LastRenewal time.Time      `json:"lastRenewal,omitzero"`
	Deadline    time.Time      `json:"deadline,omitzero"`
	Took        uint64         `json:"took"`
	Gave        uint64         `json:"gave"`
	Lost        uint64         `json:"lost"`
	LastError   *errorReport   `json:"lastError,omitempty"`
	// The watch of the Leases.
	Watch  sourceReport `json:"watch"`
	remedy string       // of the last error
}

// partReport is a part that the replica has.
type partReport struct {
	Part     int       `json:"part"`
	Working  bool      `json:"working"`
	Draining bool      `json:"draining"`
	Since    time.Time `json:"since,omitzero"`
}

// memberReport is a replica of the group.
type memberReport struct {
	Session string    `json:"session"`
	Held    int       `json:"held"`
	Leaving bool      `json:"leaving"`
	Seen    time.Time `json:"seen,omitzero"`
}

// reportReplica describes a replica.
func reportReplica(h health.Replica, opts *Options) replicaReport {
	r := replicaReport{
		Name: h.Name, Identity: h.Identity, Session: h.Session, State: string(h.State), Sessions: h.Sessions,
		Parts: h.Parts, Quota: h.Quota, Held: make([]partReport, 0, len(h.Held)), Free: h.Free, Leader: h.Leader(),
		Replicas: make([]memberReport, 0, len(h.Replicas)), LastRenewal: h.LastRenewal.UTC(), Deadline: h.Deadline.UTC(),
		Took: h.Took, Gave: h.Gave, Lost: h.Lost,
	}
	for _, p := range h.Held {
		r.Held = append(r.Held, partReport{Part: p.Part, Working: p.Working, Draining: p.Draining, Since: p.Since.UTC()})
	}
	for _, m := range h.Replicas {
		r.Replicas = append(r.Replicas, memberReport{Session: m.Session, Held: m.Held, Leaving: m.Leaving, Seen: m.Seen.UTC()})
	}
	// The error may be one of Work, which is the program's own function.
	if h.LastError != nil {
		class, remedy := leaseError(h.LastError)
		r.remedy = remedy
		r.LastError = &errorReport{Class: class, Message: opts.errorText(h.LastError), Time: h.LastErrorTime.UTC()}
	}
	for i := range h.Leases.Sources {
		r.Watch = reportSource(&h.Leases.Sources[i]) // there is one
	}
	return r
}

// leaseError returns the class of an error of a replica, and what to do about it.
func leaseError(err error) (class, remedy string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "other", "Correct what the error names: it is one of Work, or of the connection to the API server."
	}
	switch status.Status().Code {
	case http.StatusForbidden:
		return "forbidden", "Add the verbs get, list, watch, create, update and delete on leases of coordination.k8s.io to the Role of this user, in the namespace of the Leases."
	case http.StatusUnauthorized:
		return "unauthorized", "Renew the credentials in the configuration: they are missing, wrong or expired."
	case http.StatusNotFound:
		return "not-found", "Create the namespace of the Leases, or correct Options.Namespace."
	}
	return "server", "Correct what the error names; look at the API server and at the network in between."
}

func (r *replicaReport) id() string { return id("replica", r.Name+"/"+r.Identity) }

// title names the replica.
func (r *replicaReport) title() string { return title(r.Identity) + " of group " + title(r.Name) }

// role is the state of the replica in a few words.
func (r *replicaReport) role() string {
	switch {
	case health.ReplicaState(r.State) != health.ReplicaMember:
		return printable(r.State)
	case r.Parts != 1:
		return fmt.Sprintf("has %d of %s", len(r.Held), count(r.Parts, "part"))
	case len(r.Held) == 1:
		return "leads"
	}
	return "follows"
}

// card describes a replica: what it has, what it knows of the others, then the counters.
func (r *replicaReport) card(now time.Time) card {
	c := card{ID: r.id(), Kind: "replica", Name: r.title(), State: r.role()}
	session := fact{Name: "Session", Value: cmp.Or(printable(r.Session), "none"), Bad: r.Session == "" && r.joined(), Wide: true}
	c.Facts = []fact{session}
	if r.Parts == 1 {
		c.Facts = append(c.Facts, fact{Name: "Leader", Value: cmp.Or(printable(r.Leader), "none at the moment"), Wide: true})
	}
	c.Facts = append(c.Facts,
		fact{Name: "Held", Value: fmt.Sprintf("%d of %s; to have %d", len(r.Held), count(r.Parts, "part"), r.Quota)},
		fact{Name: "Free", Value: count(r.Free, "part")},
		fact{Name: "Renewed", Value: agoOrNever(now, r.LastRenewal), Bad: r.late(now)},
	)
	if !r.Deadline.IsZero() {
		c.Facts = append(c.Facts, fact{Name: "Deadline", Value: "in " + short(r.Deadline.Sub(now)), Bad: r.late(now)})
	}
	c.Facts = append(c.Facts,
		fact{Name: "Sessions", Value: count(r.Sessions, "session")},
		fact{Name: "Moves", Value: fmt.Sprintf("took %s, gave %s, lost %s", grouped(int(r.Took)), grouped(int(r.Gave)), grouped(int(r.Lost)))},
	)
	if r.Watch.State != "" {
		c.Facts = append(c.Facts, fact{Name: "Watch of Leases", Value: r.Watch.stateText(now), Bad: !r.Watch.DegradedSince.IsZero()})
	}
	if e := r.LastError; e != nil {
		c.Facts = append(c.Facts, fact{Name: "Last error", Value: fmt.Sprintf("%s ago (%s): %s", ago(now, e.Time), e.Class, printable(e.Message)), Wide: true})
	}
	c.Lists = []list{r.parts(now), r.members(now)}
	return c
}

// parts lists what the replica has, those that are not simply worked on first.
func (r *replicaReport) parts(now time.Time) list {
	l := list{Name: "Parts"}
	for _, p := range r.Held {
		one := row{Name: fmt.Sprint("part ", p.Part), Text: "worked on" + since(now, p.Since)}
		switch {
		case !p.Working:
			one.Text, one.Bad = "held, and not worked on", true
		case p.Draining:
			one.Text, one.Bad = "handed over"+since(now, p.Since), now.Sub(p.Since) >= waitBound
		}
		l.Rows = append(l.Rows, one)
	}
	return l.worstFirst()
}

// members lists the sessions of the group.
func (r *replicaReport) members(now time.Time) list {
	l := list{Name: "Replicas"}
	for _, m := range r.Replicas {
		text := []string{count(m.Held, "part"), "seen " + agoOrNever(now, m.Seen)}
		if m.Session == r.Session {
			text = append(text, "this one")
		}
		if m.Leaving {
			text = append(text, "leaving")
		}
		l.Rows = append(l.Rows, row{Name: printable(m.Session), Text: strings.Join(text, ", ")})
	}
	return l.worstFirst()
}

// joined reports whether the replica is to have a session: Run was called, and is not
// ending.
func (r *replicaReport) joined() bool {
	s := health.ReplicaState(r.State)
	return s == health.ReplicaJoining || s == health.ReplicaMember
}

// late reports whether more than half of the time until the deadline has passed without a
// renewal: one of the usual interval has failed.
func (r *replicaReport) late(now time.Time) bool {
	return !r.Deadline.IsZero() && r.Deadline.Sub(now) < r.Deadline.Sub(r.LastRenewal)/2
}

// problems returns what is wrong with a replica.
func (r *replicaReport) problems(now time.Time) (all []problem) {
	name := r.title()
	add := func(s severity, kind, detail, remedy, format string, args ...any) *problem {
		all = append(all, problem{Severity: s, Kind: kind, Part: "replica " + title(r.Identity), Sentence: fmt.Sprintf(format, args...), Detail: detail, Remedy: remedy, card: r.id()})
		return &all[len(all)-1]
	}
	switch health.ReplicaState(r.State) {
	case health.ReplicaNew:
		add(severityError, "not-started", "", "Call Run of the replica.", "Replica %s has not been started.", name)
	case health.ReplicaStopped:
		add(severityNote, "stopped", "", "None, if the program stops. Else see why its Run returned.", "Replica %s has stopped: it takes no part any more.", name)
	case health.ReplicaLeaving:
		add(severityNote, "leaving", "", "None: it ends when the work on its parts has.", "Replica %s is leaving, and has %s to hand over.", name, count(len(r.Held), "part"))
	case health.ReplicaJoining:
		r.notJoined(add)
	case health.ReplicaMember:
		r.problemsOfMember(now, add)
	}
	for _, p := range r.Held {
		// The first is enough: they have one cause.
		if took := now.Sub(p.Since); p.Draining && took >= waitBound {
			add(severityWarning, "handover", "", "Let Work return when its context has ended: stop handing out keys, and finish those in progress.",
				"Replica %s has been handing over part %d for %s: Work has not returned.", name, p.Part, short(took))
			break
		}
	}
	return all
}

// notJoined says why a replica has no session.
func (r *replicaReport) notJoined(add addProblem) {
	why := "is joining its group"
	if r.Sessions > 0 {
		why = "has lost its session, and has no part until it has another"
	}
	switch e := r.LastError; {
	// Without the watch it cannot see its own session.
	case !r.Watch.Synced && r.Watch.LastError != nil:
		cause, remedy := causeOf(r.Watch.LastError)
		add(severityError, "no-session", printable(r.Watch.LastError.Message), remedy, "Replica %s %s: it cannot watch the Leases, because %s.", r.title(), why, cause)
	case e != nil:
		add(severityError, "no-session", printable(e.Message), r.remedy, "Replica %s %s: requests fail.", r.title(), why)
	case r.Sessions > 0:
		add(severityWarning, "no-session", "", "None, if it does not last. If it happens again, give the process more of the processor, or a longer LeaseDuration.", "Replica %s %s.", r.title(), why)
	default:
		add(severityNote, "no-session", "", "Wait; if it lasts, look at the network and at the server.", "Replica %s %s.", r.title(), why)
	}
}

// problemsOfMember says what is wrong with a replica that has a session.
func (r *replicaReport) problemsOfMember(now time.Time, add addProblem) {
	detail, remedy := "", "Look at the watch of the Leases, and at the load of this process."
	if r.LastError != nil {
		detail, remedy = printable(r.LastError.Message), r.remedy
	}
	switch {
	case !r.late(now):
	case !r.Deadline.After(now):
		add(severityError, "no-renewal", detail, remedy, "Replica %s has not renewed its session for %s: it works on nothing any more.", r.title(), ago(now, r.LastRenewal))
	default:
		add(severityWarning, "no-renewal", detail, remedy, "Replica %s has not renewed its session for %s, and stops all work in %s.", r.title(), ago(now, r.LastRenewal), short(r.Deadline.Sub(now)))
	}
	for _, p := range r.Held {
		// A moment before Work is called, or after it has returned, is no problem.
		if !p.Working && r.LastError != nil && now.Sub(r.LastError.Time) < partFailedFor {
			add(severityError, "part-idle", detail, "Correct what the error names; Work is called again after some seconds.",
				"Replica %s has part %d, and does not work on it: Work has returned.", r.title(), p.Part)
			break
		}
	}
	if r.Free > 0 {
		what := are(r.Free, "part") + " without an owner in group " + title(r.Name)
		if r.Parts == 1 {
			what = "Group " + title(r.Name) + " has no leader"
		}
		add(severityNote, "unowned", "", "None, if it does not last: a replica takes what is free within a second. Else see the errors of all replicas.", "%s.", what)
	}
}

// partFailedFor is for how long an error explains why Work does not run: it is called
// again after half a minute at most.
const partFailedFor = time.Minute
