package monitoring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// folder has what is checked.
const folder = "../../../informer/prometheus"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return text
}

var syntax = parser.NewParser(parser.Options{})

// exported is what a program exports: the labels of each series, by its name.
type exported map[string]map[string]bool

func (e exported) add(name string, labels ...string) {
	if e[name] == nil {
		e[name] = map[string]bool{}
	}
	for _, l := range labels {
		e[name][l] = true
	}
}

// gather notes what a registry has now.
func (e exported) gather(t *testing.T, g prom.Gatherer) {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			// Those that Prometheus adds at the scrape.
			labels := []string{"job", "instance"}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			if f.GetType() != dto.MetricType_HISTOGRAM {
				e.add(f.GetName(), labels...)
				continue
			}
			e.add(f.GetName()+"_sum", labels...)
			e.add(f.GetName()+"_count", labels...)
			e.add(f.GetName()+"_bucket", append(labels, "le")...)
		}
	}
}

// live runs an informer, one of ranges, a queue and a replica, in good days and in bad ones, and returns what they
// export.
func live(t *testing.T) exported {
	t.Helper()
	all := exported{}
	synctest.Test(t, func(t *testing.T) {
		registry := prom.NewPedanticRegistry()
		metrics, err := prometheus.New(registry)
		require.NoError(t, err)
		server := informertest.Start(t, informertest.Options{InMemory: true})
		for i := range 10 { // some of them in the range of the informer of ranges, and some not
			require.NoError(t, server.Create(&corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("map-", i)},
			}))
		}
		source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, reflector.ResourceOptions{})
		require.NoError(t, err)
		silent := slog.New(slog.DiscardHandler)
		inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{
			Name: "configmaps", Metrics: metrics, Logger: silent, Transform: intern.Transform[*corev1.ConfigMap](intern.NewPool()),
			Indexer:   indexer.Options[*corev1.ConfigMap]{Indexes: []indexer.IndexDefinition[*corev1.ConfigMap]{indexer.OwnerUIDIndex[*corev1.ConfigMap]()}},
			Reflector: reflector.Options{Monitor: audit.Every(time.Minute)},
		})
		require.NoError(t, err)
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{Name: "configmaps", Metrics: metrics, MaxWait: []time.Duration{0, time.Minute}})
		_, err = inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(c *corev1.ConfigMap, _ bool) { queue.Add(c.Name) }}, informer.HandlerOptions{Name: "enqueue"})
		require.NoError(t, err)

		ranged, err := sharding.NewRanged(source, sharding.HashUID, informer.Options[*corev1.ConfigMap]{Name: "ranged", Metrics: metrics, Logger: silent})
		require.NoError(t, err)
		require.NoError(t, ranged.AddRanges(sharding.SplitHashes(2)[0]))
		replica, err := sharding.New(server.Config(), sharding.Options{
			Name: "controller", Namespace: "default", Identity: "one", Parts: 1, Metrics: metrics, Logger: silent,
			Work: func(ctx context.Context, _ *sharding.Part) error { <-ctx.Done(); return nil },
		})
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(t.Context())
		worked := make(chan struct{})
		led := make(chan struct{})
		go func() {
			defer close(led)
			assert.NoError(t, replica.Run(ctx))
		}()
		go func() { assert.NoError(t, ranged.Run(ctx)) }()
		go func() {
			defer close(worked)
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[string]{Logger: silent},
				func(context.Context, string) (workqueue.Result, error) {
					return workqueue.Result{}, errors.New("no quota")
				})
			assert.NoError(t, err)
		}()
		go func() { assert.NoError(t, inf.Run(ctx)) }()
		time.Sleep(5 * time.Minute)
		all.gather(t, registry)
		server.Inject(informertest.Fault{Times: -1, Effect: informertest.Refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil))})
		server.BreakConnections()
		time.Sleep(5 * time.Minute)
		all.gather(t, registry)
		cancel()
		<-inf.Done()
		<-ranged.Done()
		<-worked
		<-led
		queue.ShutDown()
		server.Close()
	})
	return all
}

// check checks that the series of an expression, and the labels that it selects, groups
// or joins by, are exported.
func (e exported) check(t *testing.T, expression string) (names []string) {
	t.Helper()
	expr, err := syntax.ParseExpr(expression)
	require.NoError(t, err, expression)
	labels := func(node parser.Node) map[string]bool {
		// Of the series below the node, the labels that any of them has.
		some := map[string]bool{}
		parser.Inspect(node, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				maps.Copy(some, e[s.Name])
			}
			return nil
		})
		return some
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if node == nil { // the end of a node
			return nil
		}
		var wanted []string
		switch n := node.(type) {
		case *parser.VectorSelector:
			names = append(names, n.Name)
			assert.Contains(t, e, n.Name, "in %s", expression)
			for _, m := range n.LabelMatchers {
				if m.Name != "__name__" {
					wanted = append(wanted, m.Name)
				}
			}
		case *parser.AggregateExpr:
			wanted = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				wanted = slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include)
			}
		}
		have := labels(node)
		for _, label := range wanted {
			assert.True(t, have[label], "no series in %s has the label %s", expression, label)
		}
		return nil
	})
	return names
}

// What is written in the README about labels is true.
func TestReadmeNamesTheLabels(t *testing.T) {
	all := live(t)
	for line := range strings.Lines(string(read(t, "README.md"))) {
		name, text, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | ")
		if !ok || !strings.HasPrefix(line, "| `") || !strings.Contains(text, "by `") || all[name] == nil {
			continue
		}
		_, label, _ := strings.Cut(text, "by `")
		label, _, _ = strings.Cut(label, "`")
		assert.True(t, all[name][label], "%s has no label %s", name, label)
	}
}
