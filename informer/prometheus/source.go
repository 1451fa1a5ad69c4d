package prometheus

import (
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

// sourceLevels are about what feeds a cache: one collection, or one for each
// namespace that the informer was given, which is then a label. Prometheus takes
// an empty label for none.
type sourceLevels struct {
	queued, age, degraded, quarantine, quarantined, requests, reconnects level
	audits, differences, repaired, lasting                               level
}

// newSourceLevels names the levels of a source.
func newSourceLevels() sourceLevels {
	return sourceLevels{
		queued:      gauge("informer_queued_items", "Changes that wait to be applied to the cache.", "namespace"),
		age:         gauge("informer_cache_age_seconds", "How long ago the server was last heard of: by a list, an event or a bookmark, of which there should be one a minute. There is no such series before the first list.", "namespace"),
		degraded:    gauge("informer_degraded_seconds", "How long listing and watching has been in trouble; 0 if it is not.", "namespace"),
		quarantine:  gauge("informer_quarantine_size", "Objects that cannot be decoded or transformed at present, up to 100.", "namespace"),
		quarantined: total("informer_quarantined_objects_total", "Objects that could not be decoded or transformed so far.", "namespace"),
		requests:    total("informer_requests_total", "Requests: pages of lists, watches that begin with the whole collection (watchlist), and other watches.", "namespace", "verb"),
		reconnects:  total("informer_reconnects_total", "Watches that ended or could not be started, by the reason.", "namespace", "reason"),
		audits:      total("informer_audits_total", "Comparisons of the cache with the metadata of the collection. There are no series about audits if the options do not ask for any.", "namespace"),
		differences: total("informer_audit_differences_total", "Objects for which an audit found that the cache was wrong: missing, extra, or stale.", "namespace", "kind"),
		repaired:    total("informer_audit_repaired_total", "How many of these were repaired by reading the collection again.", "namespace"),
		lasting:     gauge("informer_audit_lasting", "How many of these the last audit has met again.", "namespace"),
	}
}

// describe sends the descriptions of all levels of a source.
func (l *sourceLevels) describe(ch chan<- *prom.Desc) {
	for _, l := range []level{l.queued, l.age, l.degraded, l.quarantine, l.quarantined, l.requests, l.reconnects, l.audits, l.differences, l.repaired, l.lasting} {
		ch <- l.desc
	}
}

// readSource sends the levels of one source. Ages are measured against now, which is
// one moment for the whole scrape, and never below zero.
func (l *sourceLevels) readSource(r reading, s informer.SourceHealth, now time.Time) {
	h := &s.Reflector
	r.send(l.queued, float64(s.Queued), s.Namespace)
	heard := h.LastSync
	if h.LastEvent.After(heard) {
		heard = h.LastEvent
	}
	if h.Synced {
		r.send(l.age, max(0, now.Sub(heard).Seconds()), s.Namespace)
	}
	var trouble time.Duration
	if _, since, degraded := h.Degraded(); degraded {
		trouble = max(0, now.Sub(since))
	}
	r.send(l.degraded, trouble.Seconds(), s.Namespace)
	r.send(l.quarantine, float64(len(h.Quarantine)), s.Namespace)
	r.send(l.quarantined, float64(h.Quarantined), s.Namespace)
	r.send(l.requests, float64(h.Lists), s.Namespace, "list")
	r.send(l.requests, float64(h.WatchLists), s.Namespace, "watchlist")
	r.send(l.requests, float64(h.Watches), s.Namespace, "watch")
	if a := &h.Audit; a.Interval > 0 {
		r.send(l.audits, float64(a.Audits), s.Namespace)
		r.send(l.differences, float64(a.Missing), s.Namespace, "missing")
		r.send(l.differences, float64(a.Extra), s.Namespace, "extra")
		r.send(l.differences, float64(a.Stale), s.Namespace, "stale")
		r.send(l.repaired, float64(a.Repaired), s.Namespace)
		r.send(l.lasting, float64(a.Lasting), s.Namespace)
	}
	for reason, n := range h.Reconnects {
		r.send(l.reconnects, float64(n), s.Namespace, result(reason))
	}
}
