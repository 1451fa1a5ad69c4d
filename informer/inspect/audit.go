package inspect

import (
	"fmt"
	"time"

	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/reflector"
)

// auditReport is what the audits of a source have found.
type auditReport struct {
	// Of the options. A report without an audit is left out as a whole, so this is
	// never 0.
	Interval seconds `json:"intervalSeconds"`
	// When the last complete audit ended; zero before the first one.
	Last   time.Time `json:"last,omitzero"`
	Audits int       `json:"audits"`
	// Objects that the server had in the last audit, for comparison with those of the
	// cache.
	Objects int `json:"objects"`
	// Sums over all audits, not of the last one: a difference that was repaired stays
	// visible, as it hints at a watch that loses events.
	Missing int `json:"missing"`
	Extra   int `json:"extra"`
	Stale   int `json:"stale"`
	// Of those differences, how many the list that followed has resolved.
	Repaired int `json:"repaired"`
	// Still there after that list, so the cache does not keep what it gets.
	Lasting   int          `json:"lasting"`
	LastError *errorReport `json:"lastError,omitempty"`
}

// reportAudit returns nil for a source that is not audited. The JSON then has no audit
// at all: zeros would read as audits that found nothing.
func reportAudit(h *reflector.Health) *auditReport {
	a, ok := health.AuditOf(h)
	if !ok {
		return nil
	}
	r := &auditReport{
		Interval: inSeconds(a.Interval), Last: a.Last.UTC(), Audits: a.Audits, Objects: a.Objects,
		Missing: a.Missing, Extra: a.Extra, Stale: a.Stale, Repaired: a.Repaired, Lasting: a.Lasting,
	}
	// The same rule for texts as for the last error of a request: message withholds
	// those that may quote an object, and needs the class for that.
	if a.LastError != nil {
		h := reflector.Health{LastError: a.LastError, LastErrorClass: reflector.Classify(a.LastError)}
		r.LastError = &errorReport{Class: string(h.LastErrorClass), Message: message(&h), Time: a.LastErrorTime.UTC()}
	}
	return r
}

// facts describes the audits. They raise no problem of their own: what a list has
// repaired needs no action, and what lasts is marked here.
func (a *auditReport) facts(now time.Time) []fact {
	found := fact{
		Name:  "Audits",
		Value: fmt.Sprintf("%s, the last %s; found %d missing, %d extra, %d stale; repaired %d", count(a.Audits, "audit"), agoOrNever(now, a.Last), a.Missing, a.Extra, a.Stale, a.Repaired),
		Wide:  true,
	}
	// A difference that was repaired is history. One that survives a list is a fault of
	// this program, so only this marks the fact.
	if a.Lasting > 0 {
		found.Value += fmt.Sprintf("; %d remain although the collection was read again", a.Lasting)
		found.Bad = true
	}
	all := []fact{found}
	if e := a.LastError; e != nil {
		all = append(all, fact{
			Name:  "Last audit error",
			Value: fmt.Sprintf("%s ago (%s): %s", ago(now, e.Time), printable(e.Class), printable(e.Message)),
			// A later audit that was complete makes an error history.
			Bad:  e.Time.After(a.Last),
			Wide: true,
		})
	}
	return all
}
