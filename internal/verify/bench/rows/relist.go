package rows

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// relistRows are what it costs to read the collection again, of which little has
// changed: after each restart of an API server every client does that.
func relistRows() []bench.Row {
	var rows []bench.Row
	for _, w := range []wire{{false, false}, {true, false}} {
		rows = append(rows, compareRelists(bench.Row{
			Work: fmt.Sprintf("relist, 1%% changed: processor time, %s", w),
			Does: fmt.Sprintf("An informer that has synced 50,000 pods of 2.5 KB JSON lists them again (%s), because its watch has expired; "+
				"one in a hundred has changed; the processor time until the last change's update, per object.", w),
			Measure: bench.Latency, Per: cluster, Want: bench.Target{Ratio: 3},
		}, w))
	}
	return rows
}

// compareRelists measures the processor time of a second list.
func compareRelists(row bench.Row, w wire) bench.Row {
	row.Area = "sync"
	row.Fresh, row.Repeat = true, 1
	side := func(create func(*rest.Config, wire) syncer) func() bench.Subject {
		return func() bench.Subject {
			server := startServer(cluster, w.watchList)
			s := create(&rest.Config{Host: server.url}, w)
			warmUp(server.url, w)
			ctx, cancel := context.WithCancel(context.Background())
			subject := relisting(ctx, s, server.url)
			before, value := cpuOf()
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
