package prometheus

import (
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/reflector"
)

// sourceLevels are about what feeds a cache: one collection, or one for each
// namespace that the informer was given, which is then a label. Prometheus takes
// an empty label for none.
type sourceLevels struct {
	state, sourceSynced, outside, serverFilters                              level
	queued, age, degraded, reason, failures                                  level
	quarantine, quarantined, requests, reconnects                            level
	audits, auditInterval, auditAge, audited, differences, repaired, lasting level
}

// states are the values of the label state.
var states = []reflector.State{
	reflector.StateNew, reflector.StateConnecting, reflector.StateListing, reflector.StateStreaming,
	reflector.StateSynced, reflector.StateWatching, reflector.StatePolling, reflector.StateDegraded, reflector.StateStopped,
}

// newSourceLevels names the levels of a source.
func newSourceLevels() sourceLevels {
	return sourceLevels{
		state:         gauge("informer_state", "1 for the state of the reflector, 0 for the others.", "watched_namespace", "state"),
		sourceSynced:  gauge("informer_source_synced", "1 if the first list of this namespace is in the cache, else 0.", "watched_namespace"),
		outside:       total("informer_outside_objects_total", "Objects of other ranges that were received and dropped: the server does not keep them out. 0 for an informer without ranges.", "watched_namespace"),
		serverFilters: gauge("informer_server_filters", "1 if the server keeps objects of other ranges out, 0 if it sends all and this program drops them. There is no such series for an informer without ranges, and as long as it is not known.", "watched_namespace"),
		reason:        gauge("informer_degraded_reason", "1 for the kind of the last error while listing and watching is in trouble; there is no such series if it is not.", "watched_namespace", "reason"),
		failures:      gauge("informer_consecutive_failures", "Requests that failed since the last healthy watch.", "watched_namespace"),
		queued:        gauge("informer_queued_items", "Changes that wait to be applied to the cache.", "watched_namespace"),
		age:           gauge("informer_cache_age_seconds", "How long ago the server was last heard of: by a list, an event or a bookmark, of which there should be one a minute. There is no such series before the first list.", "watched_namespace"),
		degraded:      gauge("informer_degraded_seconds", "How long listing and watching has been in trouble; 0 if it is not.", "watched_namespace"),
		quarantine:    gauge("informer_quarantine_size", "Objects that cannot be decoded or transformed at present, up to 100.", "watched_namespace"),
		quarantined:   total("informer_quarantined_objects_total", "Objects that could not be decoded or transformed so far.", "watched_namespace"),
		requests:      total("informer_requests_total", "Requests: pages of lists, watches that begin with the whole collection (watchlist), and other watches.", "watched_namespace", "verb"),
		reconnects:    total("informer_reconnects_total", "Watches that ended or could not be started, by the reason.", "watched_namespace", "reason"),
		audits:        total("informer_audits_total", "Comparisons of the cache with the metadata of the collection. There are no series about audits if the options do not ask for any.", "watched_namespace"),
		auditInterval: gauge("informer_audit_interval_seconds", "How often there is to be an audit.", "watched_namespace"),
		auditAge:      gauge("informer_audit_age_seconds", "How long ago the last complete audit was. There is no such series before the first one.", "watched_namespace"),
		audited:       gauge("informer_audit_objects", "Objects that the server had in the last audit.", "watched_namespace"),
		differences:   total("informer_audit_differences_total", "Objects for which an audit found that the cache was wrong: missing, extra, or stale.", "watched_namespace", "kind"),
		repaired:      total("informer_audit_repaired_total", "How many of these were repaired by reading the collection again.", "watched_namespace"),
		lasting:       gauge("informer_audit_lasting", "How many of these the last audit has met again.", "watched_namespace"),
	}
}

// describe sends the descriptions of all levels of a source.
func (l *sourceLevels) describe(ch chan<- *prom.Desc) {
	for _, l := range []level{
		l.state, l.sourceSynced, l.outside, l.serverFilters, l.queued, l.age, l.degraded, l.reason, l.failures,
		l.quarantine, l.quarantined, l.requests, l.reconnects,
		l.audits, l.auditInterval, l.auditAge, l.audited, l.differences, l.repaired, l.lasting,
	} {
		ch <- l.desc
	}
}

// readSource sends the levels of one source. Ages are measured against now, which is
// one moment for the whole scrape, and never below zero.
func (l *sourceLevels) readSource(r reading, s informer.SourceHealth, now time.Time) {
	h := &s.Reflector
	for _, state := range states {
		r.send(l.state, one(h.State == state), s.Namespace, string(state))
	}
	r.send(l.sourceSynced, one(h.Synced), s.Namespace)
	r.send(l.outside, float64(s.Outside), s.Namespace)
	if s.FilteredBy != "" {
		r.send(l.serverFilters, one(s.FilteredBy == informer.FilteredByServer), s.Namespace)
	}
	r.send(l.queued, float64(s.Queued), s.Namespace)
	heard := h.LastSync
	if h.LastEvent.After(heard) {
		heard = h.LastEvent
	}
	if h.Synced {
		r.send(l.age, max(0, now.Sub(heard).Seconds()), s.Namespace)
	}
	var trouble time.Duration
	if reason, since, degraded := h.Degraded(); degraded {
		trouble = max(0, now.Sub(since))
		r.send(l.reason, 1, s.Namespace, result(reason))
	}
	r.send(l.degraded, trouble.Seconds(), s.Namespace)
	r.send(l.failures, float64(h.ConsecutiveFailures), s.Namespace)
	r.send(l.quarantine, float64(len(h.Quarantine)), s.Namespace)
	r.send(l.quarantined, float64(h.Quarantined), s.Namespace)
	r.send(l.requests, float64(h.Lists), s.Namespace, "list")
	r.send(l.requests, float64(h.WatchLists), s.Namespace, "watchlist")
	r.send(l.requests, float64(h.Watches), s.Namespace, "watch")
	if a, ok := health.AuditOf(h); ok {
		r.send(l.audits, float64(a.Audits), s.Namespace)
		r.send(l.auditInterval, a.Interval.Seconds(), s.Namespace)
		if !a.Last.IsZero() {
			r.send(l.auditAge, max(0, now.Sub(a.Last).Seconds()), s.Namespace)
			r.send(l.audited, float64(a.Objects), s.Namespace)
		}
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
