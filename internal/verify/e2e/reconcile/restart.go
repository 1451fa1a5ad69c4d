package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// populate makes the sets and pods that controllers find when they start. It also
// warms up the server.
func (m *measurement) populate(ctx context.Context) error {
	r, err := m.prepare(ctx, Ours, areaRestart)
	if err != nil {
		return err
	}
	m.populated = r.namespace
	writes, err := atOnce(ctx, m.OldSets, writers, r.creating(m.OldReplicas))
	if err == nil {
		_, err = r.observer.waitFor(ctx, versions(writes))
	}
	return r.end(ctx, err, m.OldSets)
}

// restart starts a controller over sets that have what they want.
func (m *measurement) restart(ctx context.Context, side Side) (_ outcome, err error) {
	started := time.Now()
	p, synced, err := m.start(ctx, side, areaRestart, m.populated)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, p.End()) }()
	idle, err := measure.Call[time.Time](ctx, p, "Reconciled", m.OldSets)
	if err != nil {
		return outcome{}, err
	}
	used, err := usageOf(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	alive, err := liveOf(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	for request := range used.Requests {
		if !strings.HasPrefix(request, "list ") && !strings.HasPrefix(request, "watch ") {
			return outcome{}, fmt.Errorf("the controller had nothing to do, and made a request: %s", request)
		}
	}
	return outcome{figures: map[string]float64{
		workSynced:      float64(synced.Sub(started)),
		workIdle:        float64(idle.Sub(started)),
		workCPU:         float64(used.CPU),
		workAllocations: float64(used.Allocs),
		workLive:        float64(alive),
	}}, nil
}
