package inspect

import (
	"fmt"
	"time"

	"github.com/informerkit/informerkit/reflector"
)

// auditReport is what the audits of a source have found.
type auditReport struct {
	Interval  seconds      `json:"intervalSeconds"`
	Last      time.Time    `json:"last,omitzero"`
	Audits    int          `json:"audits"`
	Objects   int          `json:"objects"`
	Missing   int          `json:"missing"`
	Extra     int          `json:"extra"`
	Stale     int          `json:"stale"`
	Repaired  int          `json:"repaired"`
	Lasting   int          `json:"lasting"`
	LastError *errorReport `json:"lastError,omitempty"`
}

// reportAudit returns nil for a source that is not audited.
func reportAudit(a *reflector.AuditHealth) *auditReport {
	if a.Interval == 0 {
		return nil
	}
	r := &auditReport{
		Interval: inSeconds(a.Interval), Last: a.Last.UTC(), Audits: a.Audits, Objects: a.Objects,
		Missing: a.Missing, Extra: a.Extra, Stale: a.Stale, Repaired: a.Repaired, Lasting: a.Lasting,
	}
	if a.LastError != nil {
		h := reflector.Health{LastError: a.LastError, LastErrorClass: reflector.Classify(a.LastError)}
		r.LastError = &errorReport{Class: string(h.LastErrorClass), Message: message(&h), Time: a.LastErrorTime.UTC()}
	}
	return r
}

// facts describes the audits.
func (a *auditReport) facts(now time.Time) []fact {
	found := fact{
		Name:  "Audits",
		Value: fmt.Sprintf("%s, the last %s; found %d missing, %d extra, %d stale; repaired %d", count(a.Audits, "audit"), agoOrNever(now, a.Last), a.Missing, a.Extra, a.Stale, a.Repaired),
		Wide:  true,
	}
	if a.Lasting > 0 {
		found.Value += fmt.Sprintf("; %d remain although the collection was read again", a.Lasting)
		found.Bad = true
	}
	all := []fact{found}
	if e := a.LastError; e != nil {
		all = append(all, fact{
			Name:  "Last audit error",
			Value: fmt.Sprintf("%s ago (%s): %s", ago(now, e.Time), printable(e.Class), printable(e.Message)),
			Bad:   e.Time.After(a.Last),
			Wide:  true,
		})
	}
	return all
}
