package indexer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// failing runs an index that misbehaves for the pod "bad", before and after
// others are stored, and expects that only this index misses only that pod.
func failing[K comparable](t *testing.T, good K, bad func() ([]K, error)) (reason error) {
	var log bytes.Buffer
	x := NewIndex("picky", func(p *pod) ([]K, error) {
		if p.Name == "bad" {
			return bad()
		}
		return []K{good}, nil
	})
	app := LabelIndex[*pod]("app")
	ix, err := New(Options[*pod]{
		Indexes: []IndexDefinition[*pod]{x, app},
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	s := set(t, ix, newPod("a", "1", "app", "w"), newPod("a", "bad", "app", "w"), newPod("a", "2", "app", "w"))
	require.Equal(t, 3, s.Len())
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.Len(t, by(t, s, app, "w"), 3)
	require.Contains(t, log.String(), "a/bad")

	bads, err := s.IndexFailures("picky")
	require.NoError(t, err)
	n := 0
	for k, err := range bads {
		require.Equal(t, key("a", "bad"), k)
		reason = err
		n++
	}
	require.Equal(t, 1, n)

	// An update keeps it out, a delete clears the record.
	s = set(t, ix, newPod("a", "bad", "app", "v"))
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.Equal(t, []string{"a/bad"}, by(t, s, app, "v"))
	b := ix.Batch()
	b.Delete(key("a", "bad"))
	s = b.Commit()
	bads, err = s.IndexFailures("picky")
	require.NoError(t, err)
	for k, err := range bads {
		t.Error("a deleted object still fails:", k, err)
	}
	require.Equal(t, []string{"a/1", "a/2"}, by(t, s, x, good))
	require.NotContains(t, log.String(), "changed after it was stored", "it was not")
	return reason
}

// Promise indexer/7
func TestFailingIndexFunctionIsolatesTheObject(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, failing(t, "v", func() ([]string, error) { return nil, errUnwilling }), errUnwilling)
	require.ErrorIs(t, failing(t, "v", func() ([]string, error) { return []string{"v"}, errUnwilling }), errUnwilling)
	require.ErrorContains(t, failing(t, "v", func() ([]string, error) { panic("boom") }), "boom")
	require.ErrorContains(t, failing(t, "v", func() ([]string, error) { panic(errors.New("boom")) }), "boom")
	require.ErrorContains(t, failing(t, 1.5, func() ([]float64, error) { return []float64{math.NaN()}, nil }), "equal itself")
	require.ErrorContains(t, failing[any](t, 1, func() ([]any, error) { return []any{[]int{1}}, nil }), "panicked")
	require.ErrorContains(t, failing[any](t, 1, func() ([]any, error) { return []any{1, []int{1}}, nil }), "panicked")
	require.ErrorContains(t, failing(t, -1, func() ([]int, error) { return make([]int, defaultMaxIndexValues+1), nil }), "MaxIndexValues")
}

func TestObjectIsIndexedAgainOnceItsFunctionSucceeds(t *testing.T) {
	t.Parallel()
	x := ports()
	ix := newIndexer(t, x)
	bad := withPorts(newPod("a", "1"), 80)
	bad.Annotations = map[string]string{"index": "panic"}
	s := set(t, ix, bad)
	require.Empty(t, by(t, s, x, 80))
	s = set(t, ix, withPorts(newPod("a", "1"), 80))
	require.Equal(t, []string{"a/1"}, by(t, s, x, 80))
	s = set(t, ix, bad)
	require.Empty(t, by(t, s, x, 80))
	require.Empty(t, values(t, s, x))
}

// The record of a failure is that of an object, whatever is done to its name.
func TestFailureOfARenamedObjectIsForgottenWithIt(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"index first": false, "index last": true} {
		x := ports()
		ix := newIndexer(t)
		if !late {
			require.NoError(t, ix.AddIndex(x))
		}
		var pods []*pod
		for i := range 20 {
			p := newPod("a", fmt.Sprint(i))
			p.Annotations = map[string]string{"index": "error"}
			pods = append(pods, p)
		}
		set(t, ix, pods...)
		for _, p := range pods {
			p.Name = "renamed" // a mutation
		}
		if late {
			require.NoError(t, ix.AddIndex(x))
		}
		require.Equal(t, 20, failures(t, ix.Snapshot(), x.Name()), name)
		b := ix.Batch()
		for i := range 20 {
			_, existed := b.Delete(key("a", fmt.Sprint(i)))
			require.True(t, existed)
		}
		require.Zero(t, failures(t, b.Commit(), x.Name()), name)
	}
}

func failures(t *testing.T, s *Snapshot[*pod], index string) (n int) {
	seq, err := s.IndexFailures(index)
	require.NoError(t, err)
	for _, err := range seq {
		require.Error(t, err)
		n++
	}
	return n
}

// lockedLog is a log that fails the test if it is called while a writer holds the lock, and counts its lines.
type lockedLog struct {
	slog.Handler
	t     *testing.T
	ix    **Indexer[*pod]
	lines *int
}

func (l lockedLog) Enabled(context.Context, slog.Level) bool { return true }
func (l lockedLog) WithAttrs([]slog.Attr) slog.Handler       { return l }

func (l lockedLog) Handle(_ context.Context, r slog.Record) error {
	*l.lines++
	if ix := *l.ix; ix != nil {
		if !ix.writer.TryLock() {
			l.t.Errorf("logged with the writer lock held: %s", r.Message)
			return nil
		}
		ix.writer.Unlock()
	}
	return nil
}

// However many objects a function fails for, one line a minute reports it, and no writer waits for the log.
func TestFailuresAreLoggedOnceAMinuteWithoutTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ix *Indexer[*pod]
		var lines int
		bad := func(name string) *Index[*pod, string] {
			return NewIndex(name, func(*pod) ([]string, error) { panic("boom") })
		}
		made, err := New(Options[*pod]{
			Indexes: []IndexDefinition[*pod]{bad("x"), bad("y")}, Logger: slog.New(lockedLog{t: t, ix: &ix, lines: &lines}),
			Mutations: MutationOptions{SampleEvery: 1, OnMutation: func(Mutation) { ix.Batch().Discard() }},
		})
		require.NoError(t, err)
		ix = made
		write := func(n int) {
			pods := numbered(n)
			set(t, ix, pods...)
			for _, p := range pods[n-2:] {
				p.Spec.Hostname = "x" // a mutation
			}
		}
		write(1000)
		require.Equal(t, 2, lines, "one for each index")
		require.Equal(t, 2, ix.CheckMutations())
		require.Equal(t, 4, lines, "one for each mutation")
		for range 10 {
			write(1000)
			ix.CheckMutations()
		}
		require.Equal(t, 24, lines, "within the minute")
		time.Sleep(time.Minute)
		ix.Batch().Discard()
		require.Equal(t, 26, lines)
		time.Sleep(time.Minute)
		ix.Batch().Commit()
		require.Equal(t, 26, lines, "nothing has failed since")
		require.NoError(t, ix.AddIndex(bad("z")))
		require.Equal(t, 27, lines)
	})
}

func TestACopyThatPanicsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ix, err := New(Options[*uncopyable]{Mutations: MutationOptions{SampleEvery: 1}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	b := ix.Batch()
	for _, p := range numbered(100) {
		_, _, err := b.Set(&uncopyable{p})
		require.NoError(t, err)
	}
	b.Commit()
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.Contains(t, log.String(), "failures=100")
}
