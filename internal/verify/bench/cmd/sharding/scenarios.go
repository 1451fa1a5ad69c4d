package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/reflector"
)

// The scenarios are those that timebertt/kubernetes-controller-sharding is evaluated with:
// 9,000 objects are created, and changed, while replicas come and go. There it takes 15
// minutes, here some seconds each, at a rate that is higher by as much; so that the
// crashes fit in, the Leases are shorter.
const (
	scenarioObjects = 9000
	scenarioParts   = 64
	scenarioLease   = 3 * time.Second
	scenarioBusy    = time.Millisecond // of a reconcile
)

// scenario is what happens to the replicas while objects are created.
type scenario struct {
	name, text string
	replicas   int // at the beginning
	steps      int
	step       func(ctx context.Context, g *group) error
}

var scenarios = []scenario{
	{"basic", "three replicas", 3, 0, nil},
	{"chaos", "three replicas; three times, one is killed, and another one started", 3, 3, func(ctx context.Context, g *group) error {
		g.first().kill()
		return g.add(ctx)
	}},
	{"rolling update", "three replicas; each is replaced: another one joins, then it leaves", 3, 3, func(ctx context.Context, g *group) error {
		if err := g.add(ctx); err != nil {
			return err
		}
		if err := g.board.balanced(ctx, g.live); err != nil {
			return err
		}
		return g.first().leave()
	}},
	{"scale-out", "one replica; four times, another one joins", 1, 4, func(ctx context.Context, g *group) error { return g.add(ctx) }},
}

// play runs a scenario.
func play(ctx context.Context, o options, s scenario) (result shards.Scenario, err error) {
	server, err := launch(ctx, "", 1, true)
	if err != nil {
		return result, err
	}
	g := &group{server: server, board: newBoard(scenarioParts), lease: scenarioLease, busy: scenarioBusy}
	defer func() { err = errors.Join(err, g.end()) }()
	for range s.replicas {
		if err := g.add(ctx); err != nil {
			return result, err
		}
	}
	if err := g.board.balanced(ctx, g.live); err != nil {
		return result, err
	}
	g.board.reset()
	g.board.resetLatencies()
	begin := time.Now()
	slice := time.Duration(o.seconds) * time.Second / time.Duration(s.steps+1)
	if err := server.set(ctx, "SetRate", o.rate); err != nil {
		return result, err
	}
	for i := range s.steps + 1 {
		if i > 0 {
			if err := s.step(ctx, g); err != nil {
				return result, err
			}
		}
		if err := g.create(ctx, scenarioObjects*i/(s.steps+1), scenarioObjects*(i+1)/(s.steps+1), slice); err != nil {
			return result, err
		}
		if err := g.board.balanced(ctx, g.live); err != nil {
			return result, err
		}
	}
	if err := server.set(ctx, "SetRate", 0); err != nil {
		return result, err
	}
	missed, err := g.missed(ctx)
	if err != nil {
		return result, err
	}
	used, err := server.used(ctx)
	if err != nil {
		return result, err
	}
	g.board.Lock()
	result = shards.Scenario{
		Name: s.name, Does: s.text, Objects: scenarioObjects, Seconds: time.Since(begin).Seconds(), Changes: used.Changes,
		Reconciles: g.board.reconciles, Double: g.board.double, Missed: missed, PartsMoved: g.board.moved, Gap: g.board.gap.Seconds(),
	}
	g.board.Unlock()
	result.Latency = g.board.latency()
	return result, nil
}

// create creates the objects from one number to another, spread over a time.
func (g *group) create(ctx context.Context, from, to int, over time.Duration) error {
	const steps = 20
	begin := time.Now()
	for i := range steps {
		if err := g.server.set(ctx, "Create", max(1, from+(to-from)*(i+1)/steps)); err != nil {
			return err
		}
		if err := sleep(ctx, time.Until(begin.Add(over*time.Duration(i+1)/steps))); err != nil {
			return err
		}
	}
	return nil
}

// missed returns how many objects have a version that no replica has reconciled, once
// nothing changes any more. It waits for those that are on their way.
func (g *group) missed(ctx context.Context) (int, error) {
	source, err := reflector.NewResource[*corev1.ConfigMap](g.server.cfg, configMaps, reflector.ResourceOptions{})
	if err != nil {
		return 0, err
	}
	all, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = all.Run(ctx) }) // until the objects have arrived
	defer running.Wait()
	defer cancel()
	if err := informer.WaitForSync(ctx, all); err != nil {
		return 0, err
	}
	for until := time.Now().Add(20 * time.Second); ; {
		missed := 0
		g.board.Lock()
		for obj := range all.Snapshot().All() {
			if g.board.done[types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}] != obj.ResourceVersion {
				missed++
			}
		}
		g.board.Unlock()
		if missed == 0 || time.Now().After(until) {
			return missed, nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return missed, err
		}
	}
}
