package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// The kinds of writes whose latency is measured.
const (
	kindCreate = "create"
	kindScale  = "scale"
)

var writeKinds = []string{kindCreate, kindScale}

// latency creates sets at a modest rate, then scales them up at the same rate, and
// finds out when the controller heard of each write, acted on it and was done.
func (m *measurement) latency(ctx context.Context, side Side) (outcome, error) {
	r, err := m.prepare(ctx, side, areaLatency)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{figures: map[string]float64{}}
	err = m.follow(ctx, o, kindCreate, r, r.creating(1))
	if err == nil {
		err = m.follow(ctx, o, kindScale, r, r.scaling(2))
	}
	return o, r.end(ctx, err, m.Writes)
}

// follow makes the writes of one kind and adds what became of them to o.
func (m *measurement) follow(ctx context.Context, o outcome, kind string, r *run, write writeFunc) error {
	writes, err := paced(ctx, m.Writes, m.Rate, write)
	if err != nil {
		return err
	}
	reconciled, err := r.observer.waitFor(ctx, versions(writes))
	if err != nil {
		return err
	}
	recorded, err := measure.Call[Events](ctx, r.process, "Recorded", measure.None(true))
	if err != nil {
		return err
	}
	moments := map[string][]time.Duration{}
	add := func(moment string, from, to time.Time) { moments[moment] = append(moments[moment], to.Sub(from)) }
	for _, w := range writes {
		heard, began, ok := recorded.of(w)
		if !ok {
			return fmt.Errorf("the controller never heard of generation %d of %s", w.generation, w.set)
		}
		add(toAnswer, w.sent, w.answered)
		add(toHandler, w.sent, heard)
		add(toReconcile, w.sent, began)
		add(toDone, w.sent, reconciled[w.version])
		add(afterAnswers, w.answered, heard)
	}
	for moment, all := range moments {
		slices.Sort(all)
		for _, p := range percentiles {
			o.figures[kind+moment+p.name] = float64(percentile(all, p.share))
		}
	}
	return nil
}

// of returns when the handler was first called with a write, and when the first
// reconcile after it began. The set had been quiet before.
func (e *Events) of(w written) (heard, began time.Time, ok bool) {
	calls := e.Handled[w.set]
	i := slices.IndexFunc(calls, func(h Handled) bool { return h.Generation >= w.generation })
	rounds := e.Reconciling[w.set]
	j := slices.IndexFunc(rounds, func(at time.Time) bool { return at.After(w.sent) })
	if i < 0 || j < 0 {
		return time.Time{}, time.Time{}, false
	}
	return calls[i].At, rounds[j], true
}
