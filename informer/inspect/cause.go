package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/reflector"
)

// The kinds of problems, those that explain others first. Two problems of one severity
// are ordered by this.
var kinds = []string{
	"not-synced", "degraded", "no-session", "no-renewal", "not-started", "stopped", "part-idle", "no-workers", "stuck", "starved", "lag", "panic", "failing", "dropped",
	"overdue", "quarantine", "handover", "slow", "recovering", "unowned", "leaving", "shut-down", "exposed",
}

// explains has the consequences of a kind of problem, all of them later in kinds.
//
// The first line of the page is the cause and not a consequence, however much worse a
// consequence looks: who reads "call Run" while the server is down calls Run in vain.
var explains = map[string][]string{
	"not-synced":  {"not-started", "part-idle", "no-workers"}, // programs wait for the sync before they start the rest
	"no-session":  {"not-started", "part-idle", "no-workers", "unowned"},
	"no-renewal":  {"part-idle", "no-workers", "unowned"},
	"not-started": {"part-idle", "no-workers", "unowned"},
	"stopped":     {"unowned"},
	"part-idle":   {"no-workers"},
	"stuck":       {"starved", "handover", "slow"}, // of which a queue has none without a worker
}

// serverTrouble is what a server that cannot be used explains in addition: every request
// of the program goes there.
var serverTrouble = []string{"no-session", "no-renewal", "not-started", "part-idle", "no-workers", "starved", "failing", "dropped", "handover", "slow", "unowned"}

// ofServer are the classes of errors that every request to the server has, whatever it
// asks for.
var ofServer = []reflector.ErrorClass{
	reflector.ClassRefused, "network", "tls", "timeout", reflector.ClassUnauthorized, "throttled", reflector.ClassServer, "not an API server",
}

// explains reports whether p is a cause of a problem of another kind.
func (p *problem) explains(kind string) bool {
	if slices.Contains(explains[p.Kind], kind) {
		return true
	}
	return (p.Kind == "not-synced" || p.Kind == "degraded") && slices.Contains(ofServer, p.class) && slices.Contains(serverTrouble, kind)
}

// sortProblems puts the worst first, and causes before consequences: a cause is as bad as
// what it causes.
func sortProblems(all []problem) []problem {
	kind := func(p problem) int { return slices.Index(kinds, p.Kind) }
	// From the last kind on, as a consequence may be a cause itself.
	slices.SortStableFunc(all, func(a, b problem) int { return kind(a) - kind(b) })
	for i := len(all) - 1; i >= 0; i-- {
		for j := range all[i+1:] {
			if c := &all[i+1+j]; all[i].explains(c.Kind) && c.Severity.rank() > all[i].Severity.rank() {
				all[i].Severity = c.Severity
			}
		}
	}
	slices.SortStableFunc(all, func(a, b problem) int { return cmp.Or(b.Severity.rank()-a.Severity.rank(), kind(a)-kind(b)) })
	return all
}

// several makes p one of those that mergeProblems puts together: problems of one kind and
// one class of error. format is the sentence for several informers, whose names come first.
func (p *problem) several(name, class string, since time.Time, format string, args ...any) {
	p.class, p.name, p.since = reflector.ErrorClass(class), name, since
	p.many = fmt.Sprintf(format, append([]any{"%s"}, args...)...)
}

// mergeProblems makes one problem of those that several informers have for one reason: a
// server that is down is one thing to mend, however many informers read from it.
func mergeProblems(all []problem) []problem {
	type reason struct {
		kind  string
		class reflector.ErrorClass
	}
	at, names := map[reason]int{}, map[reason][]string{}
	merged := make([]problem, 0, len(all))
	for _, p := range all {
		r := reason{p.Kind, p.class}
		i, known := at[r]
		switch {
		case p.many == "":
			merged = append(merged, p)
			continue
		case !known:
			at[r] = len(merged)
			merged = append(merged, p)
		default:
			first := &merged[i]
			if p.Severity.rank() > first.Severity.rank() {
				first.Severity = p.Severity
			}
			if p.since.Before(first.since) {
				first.since, first.many = p.since, p.many
			}
			// Several namespaces of one informer are one part.
			if p.Part != first.Part && !slices.Contains(first.Also, p.Part) {
				first.Also = append(first.Also, p.Part)
			}
		}
		names[r] = append(names[r], p.name)
	}
	for r, i := range at {
		if n := names[r]; len(n) > 1 {
			merged[i].Sentence = strings.Replace(merged[i].many, "%s", together(n, 3), 1)
		}
	}
	return merged
}

// together enumerates names within a sentence: "a, b and c", "a, b, c and 4 more".
func together(names []string, most int) string {
	if len(names) > most {
		return enumerate(names, most)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
