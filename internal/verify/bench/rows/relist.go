package rows

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// relistRows are what it costs to read the collection again, of which little has
// changed: after each restart of an API server every client does that.
func relistRows() []bench.Row {
	var rows []bench.Row
	for _, w := range []wire{{false, false}, {true, false}} {
		what := fmt.Sprintf("An informer that has synced 50,000 pods of 2.5 KB JSON lists them again (%s), because its watch has expired; one in a hundred has changed; ", w)
		add := func(work, does string, m bench.Measure, probe relistProbe, want bench.Target) {
			rows = append(rows, compareRelists(bench.Row{
				Work: fmt.Sprintf("relist, 1%% changed: %s, %s", work, w), Does: what + does, Measure: m, Per: cluster, Want: want,
			}, w, probe))
		}
		cpu := bench.Target{Ratio: 5}
		if w.protobuf {
			cpu.Ratio = 3
		}
		add("time", "from the request to the last change's update, per object.", bench.Latency, relistTime, bench.Target{})
		add("processor time", "the processor time of that, per object.", bench.Latency, relistProcessorTime, cpu)
		add("allocations", "the number of allocations, per object.", bench.Quotient, relistAllocations, bench.Target{Ratio: 20})
	}
	// In protobuf it is a row of syncRows.
	return append(rows, compareSyncs(bench.Row{
		Work:    "relist, 1% changed: peak over steady heap, JSON",
		Does:    "A second list in JSON, in which one pod in a hundred has changed: the most that was reachable at any time, over what is afterwards.",
		Measure: bench.Quotient,
		Want:    bench.Target{Figure: bench.AtMost(1.10)},
	}, wire{false, false}, true))
}

// relistProbe returns what is called before a relist, and what measures it after that.
type relistProbe func(*listClock) (before func(), value func() float64)

func relistTime(c *listClock) (before func(), value func() float64) {
	return func() {}, func() float64 { return float64(time.Since(c.last())) }
}

func relistProcessorTime(*listClock) (before func(), value func() float64) { return cpuOf() }

func relistAllocations(*listClock) (before func(), value func() float64) {
	made := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Mallocs)
	}
	var start float64
	return func() { start = made() }, func() float64 { return made() - start }
}

// listClock notes when the last list was asked for: both sides wait for about a second
// after the watch has expired, at random.
type listClock struct {
	next http.RoundTripper
	mu   sync.Mutex
	at   time.Time
}

// RoundTrip implements http.RoundTripper.
func (c *listClock) RoundTrip(r *http.Request) (*http.Response, error) {
	if watch := r.URL.Query().Get("watch"); watch == "" || watch == "0" || watch == "false" {
		c.mu.Lock()
		c.at = time.Now()
		c.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

func (c *listClock) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// compareRelists measures a second list by a probe.
func compareRelists(row bench.Row, w wire, probe relistProbe) bench.Row {
	row.Area = "sync"
	row.Fresh, row.Repeat, row.Rounds = true, 1, 3
	side := func(create func(*rest.Config, wire) syncer) func() bench.Subject {
		return func() bench.Subject {
			server := startServer(cluster, w.watchList)
			clock := &listClock{}
			cfg := &rest.Config{Host: server.url}
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { clock.next = next; return clock })
			s := create(cfg, w)
			warmUp(server.url, w)
			ctx, cancel := context.WithCancel(context.Background())
			subject := relisting(ctx, s, server.url)
			before, value := probe(clock)
			var figure float64
			run := subject.Run
			subject.Run = func(n int) {
				before()
				run(n)
				figure = value()
			}
			subject.Value = func() float64 { return figure / cluster }
			subject.After = func() {
				cancel()
				server.stop()
			}
			return subject
		}
	}
	row.Ours = bench.Side{Who: informerkit, Setup: side(newOurSyncer)}
	row.Theirs = bench.Side{Who: clientGo, Setup: side(newClientGoSyncer)}
	return row
}
