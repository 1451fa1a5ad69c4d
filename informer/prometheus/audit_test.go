package prometheus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
)

func TestAuditsAreShown(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	var health informer.Health
	series := metrics.Informer("pods", func() informer.Health { return health })
	health.Sources = []informer.SourceHealth{{Namespace: "a"}}
	assert.NotContains(t, scrape(t, registry), `informer_audits_total{name="pods",watched_namespace="a"}`)
	health.Sources[0].Reflector.Monitor = audit.Health{Interval: time.Hour, Audits: 7, Missing: 1, Extra: 2, Stale: 3, Repaired: 5, Lasting: 4}
	scrape(t, registry).includes(t, page{
		`informer_audits_total{name="pods",watched_namespace="a"}`:                           7,
		`informer_audit_differences_total{kind="missing",name="pods",watched_namespace="a"}`: 1,
		`informer_audit_differences_total{kind="extra",name="pods",watched_namespace="a"}`:   2,
		`informer_audit_differences_total{kind="stale",name="pods",watched_namespace="a"}`:   3,
		`informer_audit_repaired_total{name="pods",watched_namespace="a"}`:                   5,
		`informer_audit_lasting{name="pods",watched_namespace="a"}`:                          4,
	})
	series.Close()
}
