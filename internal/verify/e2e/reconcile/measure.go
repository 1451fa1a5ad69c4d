package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Settings say how much is measured.
type Settings struct {
	Rounds  int `json:"rounds"`  // runs of each side
	Workers int `json:"workers"` // of each controller

	Writes int     `json:"writes"` // sets created, and scaled, for the latency
	Rate   float64 `json:"rate"`   // writes per second of these

	Sets     int `json:"sets"`     // created at once
	Replicas int `json:"replicas"` // pods of each of them

	OldSets     int `json:"oldSets"`     // sets that a controller finds when it starts
	OldReplicas int `json:"oldReplicas"` // pods of each of them
}

// Defaults are what fits into three minutes on two cores. The number of workers is
// what the kube-controller-manager gives to its own ReplicaSets.
var Defaults = Settings{
	Rounds: 9, Workers: 5, Writes: 100, Rate: 50, Sets: 100, Replicas: 5, OldSets: 400, OldReplicas: 4,
}

// Config is what is measured on, and with.
type Config struct {
	Settings
	// Only is the one area that is measured, by its name in the rows; "" is all.
	Only string
	// Server is the API server; its clients must not be limited. Kubeconfig is a
	// file by which the controllers' processes reach the same server.
	Server     *rest.Config
	Kubeconfig string
	// Command returns a command that calls [Serve], to be started once. It must not
	// be bound to a context.
	Command func() *exec.Cmd
	// Profiles is a directory for CPU and heap profiles of the processes
	// during throughput; "" is none. To profile costs time: do not believe the figures.
	Profiles string
	// Progress receives messages about the measurement; nil discards them.
	Progress io.Writer
}

// patience is how long one run may take.
const patience = 2 * time.Minute

// measurement is one in progress.
type measurement struct {
	Config
	populated string // the namespace of the sets that a controller finds when it starts
	profiled  int    // runs that profiles were written of
}

// Measure runs both controllers in turns and returns what it has found. It makes
// namespaces on the server and leaves them there.
func Measure(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	s := cfg.Settings
	if min(s.Rounds, s.Workers, s.Writes, s.Sets, s.Replicas, s.OldSets, s.OldReplicas) < 1 || s.Rate <= 0 {
		return nil, fmt.Errorf("reconcile: all settings must be more than zero: %+v", s)
	}
	m := &measurement{Config: cfg}
	works, err := m.works()
	if err != nil {
		return nil, err
	}
	host, err := thisHost(cfg.Server)
	if err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	if err := demo.Install(ctx, cfg.Server, api.CRD); err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	fmt.Fprintf(cfg.Progress, "reconcile: preparing %d sets with %d pods each\n", s.OldSets, s.OldReplicas)
	if err := m.within(ctx, m.populate); err != nil {
		return nil, fmt.Errorf("reconcile: preparing: %w", err)
	}
	areas := map[string]map[Side][]outcome{}
	for round := range s.Rounds {
		fmt.Fprintf(cfg.Progress, "reconcile: round %d of %d\n", round+1, s.Rounds)
		for _, work := range works {
			if areas[work.area] == nil {
				areas[work.area] = map[Side][]outcome{}
			}
			for i := range work.sides {
				side := work.sides[(round+i)%len(work.sides)] // who goes first has the emptier server
				err := m.within(ctx, func(ctx context.Context) error {
					o, err := work.run(ctx, side)
					areas[work.area][side] = append(areas[work.area][side], o)
					return err
				})
				if err != nil {
					return nil, fmt.Errorf("reconcile: %s of %s: %w", work.area, side, err)
				}
			}
		}
	}
	return newReport(host, s, areas), nil
}

// work is what is measured in one area.
type work struct {
	area  string
	sides []Side
	run   func(context.Context, Side) (outcome, error)
}

// works returns what is to be measured.
func (m *measurement) works() ([]work, error) {
	all := []work{
		{areaLatency, Sides, m.latency},
		{areaThroughput, append(slices.Clone(Sides), RequestsAlone), m.throughput},
		{areaRestart, Sides, m.restart},
	}
	if m.Only == "" {
		return all, nil
	}
	for i, w := range all {
		if w.area == m.Only {
			return all[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("reconcile: there is no area %q; there are %s, %s and %s",
		m.Only, areaLatency, areaThroughput, areaRestart)
}

// within bounds the time of a run.
func (m *measurement) within(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return run(ctx)
}

// run is one run of a side: a namespace with a controller at work and an observer.
type run struct {
	*user
	process  *measure.Process
	observer *observer
}

// prepare begins a run, which must be ended.
func (m *measurement) prepare(ctx context.Context, side Side, what string) (*run, error) {
	u, err := newUser(ctx, m.Server, what)
	if err != nil {
		return nil, err
	}
	return m.begin(ctx, u, side, what)
}

// begin begins a run in the namespace of u. It must be ended.
func (m *measurement) begin(ctx context.Context, u *user, side Side, what string) (*run, error) {
	p, _, err := m.start(ctx, side, what, u.namespace)
	if err != nil {
		return nil, err
	}
	o, err := u.observe(ctx)
	if err != nil {
		return nil, errors.Join(err, p.End())
	}
	return &run{u, p, o}, nil
}

// start starts a controller's process, and returns when its caches were synced.
func (m *measurement) start(ctx context.Context, side Side, what, namespace string) (*measure.Process, time.Time, error) {
	p, err := measure.Start(m.Command())
	if err != nil {
		return nil, time.Time{}, err
	}
	synced, err := measure.Call[time.Time](ctx, p, "Start", Order{
		Side: side, Kubeconfig: m.Kubeconfig, Namespace: namespace, Workers: m.Workers, Profile: m.profile(side, what),
	})
	if err != nil {
		return nil, synced, errors.Join(err, p.End())
	}
	return p, synced, nil
}

// usageOf asks for what a process has used.
func usageOf(ctx context.Context, p *measure.Process) (Usage, error) {
	return measure.Call[Usage](ctx, p, "Used", measure.None(true))
}

// liveOf asks for what is live on heap and stacks of a process.
func liveOf(ctx context.Context, p *measure.Process) (uint64, error) {
	return measure.Call[uint64](ctx, p, "Live", measure.None(true))
}

// profile returns where the profiles of a run go, "" for none.
func (m *measurement) profile(side Side, what string) string {
	if m.Profiles == "" || what != areaThroughput {
		return ""
	}
	m.profiled++
	return filepath.Join(m.Profiles, fmt.Sprintf("%s-%d", strings.ReplaceAll(string(side), " ", "-"), m.profiled))
}

// end ends a run that has failed with err, if that is not nil, and otherwise checks
// that it has led to n sets which have what they want.
func (r *run) end(ctx context.Context, err error, n int) error {
	r.observer.stop()
	if err := errors.Join(err, r.process.End()); err != nil {
		return err
	}
	return r.verify(ctx, n)
}
