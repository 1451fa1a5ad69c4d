package audit

import (
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/reflector"
)

// Health says what the audits of a reflector have found: it is the
// [reflector.Health].Monitor of one that is audited.
type Health = health.Audit

// HealthOf returns what the audits of a reflector have found; ok is false if it is not
// audited.
func HealthOf(h *reflector.Health) (found Health, ok bool) { return health.AuditOf(h) }

// count adds differences.
func count(h *Health, found differences) {
	for _, d := range found {
		switch {
		case d.sink == version{}:
			h.Missing++
		case d.server == version{}:
			h.Extra++
		default:
			h.Stale++
		}
	}
}
