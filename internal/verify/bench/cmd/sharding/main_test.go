package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The server is this program in another role, so the test binary is one too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-server" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A small group, on both kinds of server: each figure that the page needs is there.
func TestSmallGroup(t *testing.T) {
	o := options{objects: 300, replicas: 3, parts: 6, rate: 100, seconds: 1, lease: 3 * time.Second, gate: "both", owned: 40}
	for _, filter := range []bool{true, false} {
		run, err := scale(t.Context(), o, filter)
		require.NoError(t, err)
		assert.Equal(t, map[bool]string{true: "server", false: "client"}[filter], run.FilteredBy)
		assert.Positive(t, run.Start.Lists)
		assert.Positive(t, run.Start.ListBytes)
		assert.Positive(t, run.Steady.Changes)
		assert.Positive(t, run.Steady.WatchBytes)
		assert.Positive(t, run.Steady.Delivered)
		assert.Positive(t, run.Latency.Count)
		assert.Positive(t, run.Heap)
		assert.Equal(t, filter, run.Steady.Dropped == 0)
		assert.Less(t, run.MostObjects, o.objects)
		require.Len(t, run.Moves, 3)
		for _, m := range run.Moves {
			assert.Positive(t, m.Parts, m.Kind)
			assert.Positive(t, m.RecordWrites, m.Kind)
			assert.Positive(t, m.ListBytes, m.Kind)
		}
	}
	all, err := owned(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, all, 2*len(ways))
	for _, one := range all {
		assert.Positive(t, one.OwnersHeld, one.Way)
		assert.Positive(t, one.ListBytes, one.Way)
		if one.Way != ways[0].name {
			assert.Zero(t, one.Apart, one.Way)
			assert.Equal(t, one.OwnersHeld, one.ChildrenHeld, one.Way)
		}
	}
}

func TestOptionsThatMeasureNothing(t *testing.T) {
	good := options{objects: 1, replicas: 2, parts: 2, rate: 1, seconds: 1, gate: "both"}
	for says, change := range map[string]func(o *options){
		"as many parts as replicas": func(o *options) { o.parts = 1 },
		`-gate is "maybe"`:          func(o *options) { o.gate = "maybe" },
		"the page compares the two": func(o *options) { o.gate, o.update = "on", true },
	} {
		o := good
		change(&o)
		require.ErrorContains(t, o.check(), says)
	}
	good.gate, good.update, good.from = "on", true, results
	require.NoError(t, good.check(), "a result that was saved")
}
