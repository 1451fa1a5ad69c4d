package prometheus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// Promise prometheus/1
func TestMemoryIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t)
		for i := range 100 {
			require.NoError(t, server.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", i)},
				Data:       map[string]string{"settings": fmt.Sprintf("%0600d", 7)},
			}))
		}
		inf, err := informer.New(source(t, server, ""), informer.Options[*corev1.ConfigMap]{
			Name: "configmaps", Metrics: metrics, InternPool: reflector.NewInternPool(),
			Indexer: indexer.Options[*corev1.ConfigMap]{Indexes: []indexer.IndexDefinition[*corev1.ConfigMap]{
				indexer.NewIndex("by name", func(c *corev1.ConfigMap) ([]string, error) { return []string{c.Name}, nil }),
			}},
		})
		require.NoError(t, err)
		stop := run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		usage := inf.MemoryUsage()
		require.Equal(t, 100, usage.Objects)
		shown := scrape(t, registry)
		shown.includes(t, page{
			`informer_structure_bytes{name="configmaps"}`:             float64(usage.Structure.Objects),
			`informer_index_bytes{index="by name",name="configmaps"}`: float64(usage.Structure.Indexes["by name"]),
			`informer_objects_bytes{name="configmaps"}`:               float64(usage.Own),
			`informer_shared_bytes{name="configmaps"}`:                float64(usage.Plain - usage.Own),
			`informer_pool_bytes{name="configmaps"}`:                  float64(usage.Pool),
		})
		assert.Greater(t, shown[`informer_shared_bytes{name="configmaps"}`], 80*600.0)
		assert.Positive(t, shown[`informer_index_bytes{index="by name",name="configmaps"}`])

		// Later figures are shown later.
		for i := range 100 {
			create(t, server, "default", fmt.Sprint("d", i))
		}
		time.Sleep(time.Minute)
		series := `informer_structure_bytes{name="configmaps"}`
		assert.InDelta(t, shown[series], scrape(t, registry)[series], 0.1)
		time.Sleep(4 * time.Minute)
		assert.Greater(t, scrape(t, registry)[series], shown[series])
		stop()
		assert.Empty(t, scrape(t, registry))
	})
}

func TestAuditsAreShown(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	var health informer.Health
	series := metrics.Informer("pods", func() informer.Health { return health })
	health.Sources = []informer.SourceHealth{{Namespace: "a"}}
	assert.NotContains(t, scrape(t, registry), `informer_audits_total{name="pods",namespace="a"}`)
	health.Sources[0].Reflector.Audit = reflector.AuditHealth{Interval: time.Hour, Audits: 7, Missing: 1, Extra: 2, Stale: 3, Repaired: 5, Lasting: 4}
	scrape(t, registry).includes(t, page{
		`informer_audits_total{name="pods",namespace="a"}`:                           7,
		`informer_audit_differences_total{kind="missing",name="pods",namespace="a"}`: 1,
		`informer_audit_differences_total{kind="extra",name="pods",namespace="a"}`:   2,
		`informer_audit_differences_total{kind="stale",name="pods",namespace="a"}`:   3,
		`informer_audit_repaired_total{name="pods",namespace="a"}`:                   5,
		`informer_audit_lasting{name="pods",namespace="a"}`:                          4,
	})
	series.Close()
}
