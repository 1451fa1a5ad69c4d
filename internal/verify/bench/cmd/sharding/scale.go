package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// group is a server with the replicas that share its objects.
type group struct {
	server *remote
	board  *board
	lease  time.Duration
	busy   time.Duration
	names  int
	all    []*replica // also those that have ended, whose counts stay
	live   []*replica
}

// add starts a replica.
func (g *group) add(ctx context.Context) error {
	g.names++
	r, err := startReplica(ctx, g.server, g.board, fmt.Sprint("replica-", g.names), g.lease, g.busy)
	if err != nil {
		return err
	}
	g.all, g.live = append(g.all, r), append(g.live, r)
	return nil
}

// first removes the replica that has lived longest from those that live.
func (g *group) first() *replica {
	r := g.live[0]
	g.live = g.live[1:]
	return r
}

// end stops all replicas at once, and then the server.
func (g *group) end() error {
	errs := make([]error, len(g.live))
	for _, r := range g.live {
		r.stop()
	}
	for i, r := range g.live {
		errs[i] = <-r.ended
	}
	return errors.Join(append(errs, g.server.End())...)
}

// phase measures what is used while do runs.
func (g *group) phase(ctx context.Context, do func() error) (p shards.Phase, err error) {
	// The replicas of before: one that is added in between begins at zero.
	before := map[*replica]shards.Traffic{}
	for _, r := range g.all {
		before[r] = r.count()
	}
	used, err := g.server.used(ctx)
	if err != nil {
		return p, err
	}
	cpu, at := measure.CPUTime(), time.Now()
	if err := do(); err != nil {
		return p, err
	}
	p.Seconds = time.Since(at).Seconds()
	p.ReplicaCPU = (measure.CPUTime() - cpu).Seconds()
	after, err := g.server.used(ctx)
	if err != nil {
		return p, err
	}
	p.ServerCPU, p.Changes = (after.CPU - used.CPU).Seconds(), after.Changes-used.Changes
	for _, r := range g.all {
		t := r.count().Less(before[r])
		p.Traffic = p.Traffic.Plus(t)
		p.MostBytes = max(p.MostBytes, t.ListBytes+t.WatchBytes+t.LeaseBytes)
		if t.Lists > 0 {
			p.Listing++
		}
	}
	return p, nil
}

// move measures a change of the number of replicas, until the parts are shared evenly.
func (g *group) move(ctx context.Context, kind string, do func() error) (m shards.Move, err error) {
	g.board.reset()
	m.Kind, m.Replicas = kind, len(g.live)
	m.Phase, err = g.phase(ctx, func() error {
		if err := do(); err != nil {
			return err
		}
		return g.board.balanced(ctx, g.live)
	})
	g.board.Lock()
	defer g.board.Unlock()
	most := max(m.Replicas, len(g.live)) // with the one that comes or goes
	m.Parts, m.Bound = g.board.moved, (g.board.parts+most-1)/most
	m.Gap, m.Listed = g.board.gap.Seconds(), g.board.listing.Seconds()
	return m, err
}

// heap returns the bytes on the heap that are in use.
func heap() int64 { return int64(measure.HeapInUse()) } //nolint:gosec // less than a heap can be

// scale measures replicas at a steady rate of changes, and each kind of move.
func scale(ctx context.Context, o options, filter bool) (run shards.Run, err error) {
	server, err := launch(ctx, "", o.objects, filter)
	if err != nil {
		return run, err
	}
	g := &group{server: server, board: newBoard(o.parts), lease: o.lease}
	defer func() { err = errors.Join(err, g.end()) }()
	run = shards.Run{Filter: filter, Objects: o.objects, Replicas: o.replicas, Parts: o.parts, Rate: o.rate}
	empty := heap()
	if run.Start, err = g.phase(ctx, func() error {
		for range o.replicas {
			if err := g.add(ctx); err != nil {
				return err
			}
		}
		return g.board.balanced(ctx, g.live)
	}); err != nil {
		return run, err
	}
	if err := g.quiet(ctx); err != nil {
		return run, err
	}
	g.board.forget() // it keeps a version per object, which no replica has
	run.Heap = heap() - empty
	for _, r := range g.live {
		run.MostObjects = max(run.MostObjects, r.objects.Snapshot().Len())
		for _, s := range r.objects.Health().Sources {
			run.FilteredBy = string(s.FilteredBy)
		}
	}
	progress("  started in %.1f s, %.1f MB each", run.Start.Seconds, float64(run.Heap)/1e6/float64(o.replicas))
	if err := server.set(ctx, "SetRate", o.rate); err != nil {
		return run, err
	}
	g.board.resetLatencies()
	run.Steady, err = g.phase(ctx, func() error { return sleep(ctx, time.Duration(o.seconds)*time.Second) })
	if err != nil {
		return run, err
	}
	run.Latency = g.board.latency()
	err = g.moves(ctx, &run)
	return run, err
}

// moves measures a replica that joins, one that leaves, and one that crashes, while
// objects change.
func (g *group) moves(ctx context.Context, run *shards.Run) error {
	for _, one := range []struct {
		kind string
		do   func() error
	}{
		{"join", func() error { return g.add(ctx) }},
		{"leave", func() error { return g.first().leave() }},
		{"crash", func() error { g.first().kill(); return nil }},
	} {
		m, err := g.move(ctx, one.kind, one.do)
		if err != nil {
			return fmt.Errorf("%s: %w", one.kind, err)
		}
		progress("  %s: %.1f s", one.kind, m.Seconds)
		run.Moves = append(run.Moves, m)
	}
	return nil
}

// quiet waits until no replica has anything to reconcile.
func (g *group) quiet(ctx context.Context) error {
	for last := -1; ; {
		g.board.Lock()
		n := g.board.reconciles
		g.board.Unlock()
		if n == last {
			return nil
		}
		last = n
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
