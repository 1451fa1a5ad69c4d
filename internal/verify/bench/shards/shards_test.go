package shards

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	publishedResult = "../results/sharding.json"
	publishedPage   = "../../../../informer/sharding/SCALE.md"
)

// The page of this repository has the figures of the result beside it.
func TestPageMatchesTheResult(t *testing.T) {
	t.Parallel()
	r, err := Read(publishedResult)
	require.NoError(t, err)
	page, err := os.ReadFile(publishedPage)
	require.NoError(t, err)
	want, err := r.Update(string(page))
	require.NoError(t, err)
	assert.Equal(t, want, string(page), "go -C internal/verify/bench run ./cmd/sharding -from results/sharding.json -update writes the page again")
}

// What was measured keeps the promises that are about numbers, and is what the formulas say.
func TestPublishedResultKeepsThePromises(t *testing.T) {
	t.Parallel()
	r, err := Read(publishedResult)
	require.NoError(t, err)
	u, err := r.Units()
	require.NoError(t, err)
	require.Len(t, r.Runs, 2)
	for i := range r.Runs {
		run := &r.Runs[i]
		m, n, parts := float64(run.Objects), float64(run.Replicas), float64(run.Parts)
		assert.Equal(t, map[bool]string{true: "server", false: "client"}[run.Filter], run.FilteredBy)
		assert.LessOrEqual(t, float64(run.MostObjects), m/n+m/parts, "objects in the largest cache")
		assert.Equal(t, run.Filter, run.Steady.Dropped == 0, "objects of other ranges that were received")
		assert.Zero(t, run.Steady.RecordWrites, "parts do not move by themselves")
		require.Len(t, run.Moves, 3)
		for _, move := range run.Moves {
			assert.LessOrEqual(t, move.Parts, move.Bound, "%s, filter %v", move.Kind, run.Filter)
		}
		costs := u.Costs(Cluster{Objects: run.Objects, Replicas: run.Replicas, Parts: run.Parts, Changes: float64(run.Steady.Changes) / run.Steady.Seconds, Lease: r.Lease, Filter: run.Filter})
		assert.InEpsilon(t, costs.WatchReplica, float64(run.Steady.WatchBytes)/run.Steady.Seconds/n, 0.2, "bytes of changes, filter %v", run.Filter)
		assert.InDelta(t, costs.LeaseWrites, float64(run.Steady.SessionWrites)/run.Steady.Seconds, 0.5*costs.LeaseWrites, "renewals, filter %v", run.Filter)
		assert.GreaterOrEqual(t, costs.HeapReplica, float64(run.Heap)/n, "heap, filter %v", run.Filter)
	}
	require.Len(t, r.Scenarios, 4)
	for _, s := range r.Scenarios {
		assert.Zero(t, s.Double, s.Name)
		assert.Zero(t, s.Missed, s.Name)
		assert.GreaterOrEqual(t, s.Reconciles, s.Objects, s.Name)
	}
	for _, o := range r.Owned {
		assert.Equal(t, o.Way == "each by its own UID", o.Apart > 0, "%s: %d children are apart from their owner", o.Way, o.Apart)
	}
}

// Each formula, for numbers that are easy to follow.
func TestCosts(t *testing.T) {
	t.Parallel()
	u := Units{ListBytes: 10, EventBytes: 20, LeaseBytes: 30, HeapBytes: 40, KeepSeconds: 0.01, SkipSeconds: 0.001, EventSeconds: 0.002}
	c := Cluster{Objects: 1000, Replicas: 5, Parts: 12, Changes: 100, Lease: 15 * time.Second, Filter: true}
	with := u.Costs(c)
	want := Costs{
		WatchReplica: 400, WatchServer: 2000, Comparisons: 500, EventCores: 0.04, LeaseWrites: 2, LeaseServer: 300,
		HeapReplica: 40 * 1000 * (1.0/5 + 1.0/12), JoinBytes: 4000, LeaveListers: 3, LeaveBytes: 7500, LeaveScanned: 3000,
		RecordsJoin: 4, RecordsLeave: 6, JoinSeconds: 3, LeaveSeconds: 3.5, CrashSeconds: 18.5, KeysMovedJoin: 250,
	}
	close := func(want, got Costs) {
		t.Helper()
		for i, cell := range want.cells() {
			assert.Equal(t, cell, got.cells()[i], Formulas[i].Cost)
		}
		assert.InDelta(t, want.HeapReplica, got.HeapReplica, 1e-6)
		assert.InDelta(t, want.LeaveBytes, got.LeaveBytes, 1e-6)
	}
	close(want, with)

	c.Filter = false
	without := u.Costs(c)
	want.WatchReplica, want.WatchServer, want.EventCores = 2000, 10_000, 0.2
	want.JoinBytes, want.LeaveBytes = 20_000, 30_000
	want.JoinSeconds, want.LeaveSeconds, want.CrashSeconds = 2, 2, 17
	close(want, without)

	c.Replicas, c.Filter = 2, true
	assert.InDelta(t, 1, u.Costs(c).LeaveListers, 0, "the only one that is left")
	c.Parts = 2
	assert.InDelta(t, 40*1000, u.Costs(c).HeapReplica, 1e-9, "never more than all objects")
	assert.Len(t, with.cells(), len(Formulas))
}

func TestUnitsNeedBothRuns(t *testing.T) {
	t.Parallel()
	r, err := Read(publishedResult)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(r *Result)
		says   string
	}{
		"no run":     {func(r *Result) { r.Runs = nil }, "-gate both"},
		"one run":    {func(r *Result) { r.Runs = r.Runs[:1] }, "-gate both"},
		"no moves":   {func(r *Result) { r.Runs[1].Moves = nil }, "there are none"},
		"no changes": {func(r *Result) { r.Runs[1].Steady.Changes = 0 }, "-seconds"},
	} {
		broken := r
		broken.Runs = append([]Run(nil), r.Runs...)
		c.change(&broken)
		_, err := broken.Units()
		require.ErrorContains(t, err, c.says, name)
		_, err = broken.Update("<!-- sharding: how -->\n<!-- /sharding -->\n")
		require.Error(t, err, name)
		assert.NotContains(t, broken.Text(), "Calculated", name)
	}
	assert.Contains(t, r.Text(), "Calculated")
}

func TestPageThatCannotBeUpdated(t *testing.T) {
	t.Parallel()
	r, err := Read(publishedResult)
	require.NoError(t, err)
	page, err := os.ReadFile(publishedPage)
	require.NoError(t, err)
	for broken, says := range map[string]string{
		"": "it has no place",
		strings.Replace(string(page), "sharding: moves", "sharding: motions", 1):                   `the place "motions" is unknown`,
		string(page) + "<!-- sharding: moves -->\n<!-- /sharding -->\n":                            `the place "moves" is unknown, is there twice`,
		strings.Replace(string(page), "<!-- /sharding -->\n", "", -1):                              "has no end",
		strings.Replace(string(page), "<!-- sharding: how -->\n", "", 1):                           `it has no place "how"`,
		"<!-- sharding: how -->\n<!-- /sharding -->\n<!-- sharding: moves -->\n<!-- /sharding -->": "has no end",
	} {
		_, err := r.Update(broken)
		require.ErrorContains(t, err, says)
	}
	dir := t.TempDir()
	require.Error(t, Write(r, filepath.Join(dir, "result"), filepath.Join(dir, "none")))
	assert.NoFileExists(t, filepath.Join(dir, "result"), "nothing is written without a page")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page"), page, 0o600))
	require.NoError(t, Write(r, filepath.Join(dir, "result"), filepath.Join(dir, "page")))
	again, err := Read(filepath.Join(dir, "result"))
	require.NoError(t, err)
	assert.Equal(t, r, again)
	_, err = Read(filepath.Join(dir, "page"))
	require.ErrorContains(t, err, "page: invalid character")
}

func TestLoadIsStated(t *testing.T) {
	t.Parallel()
	r := Result{Lease: 15 * time.Second}
	assert.Contains(t, r.how(), "LeaseDuration 15s. Nothing else was running.")
	r.Load = 4.2
	assert.Contains(t, r.how(), "beside other load (4.2 processes")
}

func TestFiguresAreReadable(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0": number(0), "0.012": number(0.0123), "3.2": number(3.2), "25.6": number(25.6), "640": number(640), "2,560,000": number(2_560_000),
		"999 B": size(999), "1.7 kB": size(1700), "937 kB": size(936_900), "2.4 GB": size(2.4e9), "5,000 GB": strings.Replace(size(5e12), "5000", "5,000", 1),
		"12.5 ms": seconds(0.0125), "425 ms": seconds(0.425), "18.0 s": seconds(18), "67.0 µs": micros(67e-6),
	} {
		assert.Equal(t, want, got)
	}
	assert.Equal(t, Latency{}, LatencyOf(nil))
	var all []time.Duration
	for i := range 200 {
		all = append(all, time.Duration(200-i)*time.Second)
	}
	assert.Equal(t, Latency{200, 101, 199, 200}, LatencyOf(all))
	assert.False(t, math.IsNaN(LatencyOf(all[:1]).P99))
}

func TestTrafficAddsUp(t *testing.T) {
	t.Parallel()
	one := Traffic{Lists: 1, Watches: 2, ListBytes: 3, WatchBytes: 4, LeaseBytes: 5, SessionWrites: 6, RecordWrites: 7, Delivered: 8, Dropped: 9}
	two := Traffic{Lists: 2, Watches: 4, ListBytes: 6, WatchBytes: 8, LeaseBytes: 10, SessionWrites: 12, RecordWrites: 14, Delivered: 16, Dropped: 18}
	assert.Equal(t, two, one.Plus(one))
	assert.Equal(t, one, two.Less(one))
}
