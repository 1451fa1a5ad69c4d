package health

import (
	"time"

	"github.com/informerkit/informerkit/reflector"
)

// AuditOf returns what the audits of a reflector have found; ok is false if it is not
// audited.
func AuditOf(h *reflector.Health) (found Audit, ok bool) {
	found, ok = h.Monitor.(Audit)
	return found, ok
}

// Audit says what the audits of a reflector have found: it is the
// [reflector.Health].Monitor of one that is audited.
type Audit struct {
	// Interval is the time between audits.
	Interval time.Duration
	// Last is when the last audit was completed, and Audits how many were. Objects is
	// how many objects the server had in the last one.
	Last    time.Time
	Audits  int
	Objects int
	// Missing, Extra and Stale count what the audits have found: objects that only the
	// server had, that only the sink had, and of which the two had different versions.
	// Repaired is how many of those the lists that followed added to the sink, changed
	// in it or removed from it.
	Missing, Extra, Stale, Repaired int
	// Lasting is how many of the differences of the last audit the audit before it had
	// found as well, although the whole collection was read again in between. It is 0 in
	// a program that works. Else a list does not remove what the server and the sink
	// disagree about: the sink drops or changes what it gets, or something else writes
	// to it too.
	Lasting int
	// LastError is the error of the most recent audit that failed, at LastErrorTime. The
	// next one is made an interval later.
	LastError     error
	LastErrorTime time.Time
}

// Found returns how many differences were found.
func (h Audit) Found() int { return h.Missing + h.Extra + h.Stale }
