package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long, in the fake time of a bubble, a call may wait.
const patience = time.Second

var errBatch = errors.New("cannot apply this")

// history is one sequence of operations, made on a real queue and on the model
// of it, that compares every outcome. The sequence is encoded in bytes, so that
// both a seeded source and a fuzzer can write it.
type history struct {
	t        *testing.T
	data     []byte
	queue    queue
	model    *model
	known    *store
	version  int
	last     Deltas[thing] // what was popped last, for AddIfNotPresent
	popDepth int
}

// newHistory reads from data which queue to build, and how it is read.
func newHistory(t *testing.T, data []byte) *history {
	h := &history{t: t, data: data}
	shape := h.byte()
	limit := unbounded
	if shape&1 != 0 {
		limit = 1 + int(shape>>4)%8
	}
	opts := Options[thing]{Limit: limit}
	if shape&4 != 0 {
		h.known = newStore()
		h.known.set(newThing("x/known", "0"), newThing("a", "0"))
		opts.KnownObjects = h.known
	}
	h.model = newModel(shape&2 != 0, h.known, limit)
	if h.model.isByObject {
		h.queue = byObject{New(opts)}
	} else {
		h.queue = inOrder{New(opts)}
	}
	return h
}

func (h *history) byte() byte {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return b
}

// object returns a new version of one of eight objects, in three namespaces.
func (h *history) object(b byte) thing {
	h.version++
	return newThing([]string{"a", "b", "x/a", "x/b", "x/c", "y/a", "y/b/c", "z"}[b%8], strconv.Itoa(h.version))
}

func (h *history) run() {
	for len(h.data) > 0 {
		h.step()
	}
	h.both("Close", func(f queue, _ context.Context) error { f.Close(); return nil })
	for h.model.Len() > 0 {
		h.pop(0)
	}
	h.pop(0)
}

// step makes the next operation.
func (h *history) step() {
	op, arg := h.byte(), h.byte()
	switch op % 16 {
	case 0, 1, 7:
		obj := h.object(arg)
		h.both("Add", func(f queue, ctx context.Context) error { return f.Add(ctx, obj) })
	case 2, 3, 4:
		obj := h.object(arg)
		h.both("Update", func(f queue, ctx context.Context) error { return f.Update(ctx, obj) })
	case 5, 6:
		obj := h.object(arg)
		h.both("Delete", func(f queue, ctx context.Context) error { return f.Delete(ctx, obj) })
	case 8:
		var objs []thing
		for i := range byte(8) {
			if arg&(1<<i) != 0 {
				objs = append(objs, h.object(i))
			}
		}
		h.both("Replace", func(f queue, ctx context.Context) error { return f.Replace(ctx, slices.Clone(objs), "list") })
	case 9:
		h.both("Bookmark", func(f queue, ctx context.Context) error { return f.Bookmark(ctx, strconv.Itoa(int(arg))) })
	case 10:
		h.both("Resync", func(f queue, ctx context.Context) error { return f.Resync(ctx) })
	case 11:
		deltas := slices.Clone(h.last)
		h.both("AddIfNotPresent", func(f queue, _ context.Context) error { return f.AddIfNotPresent(deltas) })
	case 12:
		h.garbage(arg)
	default:
		h.pop(arg)
	}
}

// garbage does a write that has to fail.
func (h *history) garbage(arg byte) {
	switch arg % 4 {
	case 0:
		h.both("Add(nil)", func(f queue, ctx context.Context) error { return f.Add(ctx, nil) })
	case 1:
		h.both("Delete(nameless)", func(f queue, ctx context.Context) error { return f.Delete(ctx, newThing("x/", "1")) })
	case 2:
		h.both("Replace with a nil object", func(f queue, ctx context.Context) error {
			return f.Replace(ctx, []thing{newThing("a", "bad"), nil}, "list")
		})
	case 3:
		h.both("ended context", func(f queue, _ context.Context) error {
			ended, cancel := context.WithCancel(h.t.Context())
			cancel()
			return f.Add(ended, newThing("a", "never"))
		})
	}
}

// both makes one operation on the queue and on the model, and compares what
// they return, how long they take, and the state afterwards.
func (h *history) both(name string, op func(f queue, ctx context.Context) error) {
	h.t.Helper()
	measure := func(f queue) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(h.t.Context(), patience)
		defer cancel()
		start := time.Now()
		err := op(f, ctx)
		return time.Since(start), err
	}
	wantTook, wantErr := measure(h.model)
	gotTook, gotErr := measure(h.queue)
	if wantErr == nil {
		require.NoError(h.t, gotErr, name)
	} else {
		require.ErrorIs(h.t, gotErr, wantErr, name)
	}
	require.Equal(h.t, wantTook, gotTook, "%s: time waited", name)
	h.compare(name)
}

func (h *history) compare(after string) {
	h.t.Helper()
	require.Equal(h.t, h.model.Len(), h.queue.Len(), "Len after %s", after)
	require.Equal(h.t, h.model.HasSynced(), h.queue.HasSynced(), "HasSynced after %s", after)
	for _, key := range append(h.model.keys(slices.Concat(h.model.inProcess, h.model.log)), keyNamed("none")) {
		want, wantOK := h.model.Known(key)
		got, gotOK := h.queue.Known(key)
		require.Equal(h.t, wantOK, gotOK, "Known %s after %s", key, after)
		require.True(h.t, !gotOK || want == got, "Known %s after %s", key, after)
	}
}

// pop pops from both, interleaved so that further operations are made while
// both are processing, and ends processing in one of three ways.
func (h *history) pop(arg byte) {
	h.t.Helper()
	if h.popDepth > 0 {
		h.both("Pop within Pop", func(f queue, ctx context.Context) error {
			return f.pop(ctx, func([]delta) error { return nil })
		})
		return
	}
	h.popDepth++
	defer func() { h.popDepth-- }()

	popOne := func(f queue, process func([]delta) error) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		ctx, cancel := context.WithTimeout(h.t.Context(), patience)
		defer cancel()
		return f.pop(ctx, process)
	}
	outcome, nested := arg%8, int(arg>>3)%4
	end := func() error {
		switch outcome {
		case 0:
			return errBatch
		case 1:
			panic("process")
		}
		return nil
	}
	var wantErr error
	gotErr := popOne(h.queue, func(got []delta) error {
		wantErr = popOne(h.model, func(want []delta) error {
			require.Equal(h.t, describe(want), describe(got), "popped")
			require.Equal(h.t, want, got, "popped")
			if h.model.isByObject && len(got) > 0 {
				h.last = deltasOf(slices.DeleteFunc(slices.Clone(got), func(d delta) bool { return d.Key != got[0].Key }))
			}
			h.compare("taking")
			for range nested {
				h.step()
			}
			if h.known != nil && outcome > 1 {
				_ = h.known.apply(got)
			}
			return end()
		})
		return end()
	})
	if wantErr == nil && gotErr != nil {
		// Nothing was delivered: then the model must have nothing either.
		wantErr = popOne(h.model, func(want []delta) error {
			h.t.Errorf("the model hands over %s, the queue says %v", describe(want), gotErr)
			return nil
		})
	}
	if wantErr == nil {
		require.NoError(h.t, gotErr, "Pop")
	} else {
		require.EqualError(h.t, gotErr, wantErr.Error(), "Pop")
	}
	h.compare("Pop")
}

func TestTheQueueBehavesLikeTheModelInRandomHistories(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	n := 3000
	if testing.Short() {
		n = 300
	}
	for range n {
		data := make([]byte, 2*rnd.IntN(80)+1)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		synctest.Test(t, func(t *testing.T) { newHistory(t, data).run() })
		if t.Failed() {
			t.Fatalf("history: %x", data)
		}
	}
}

func FuzzTheQueueBehavesLikeTheModel(f *testing.F) {
	for shape := range byte(8) {
		f.Add([]byte{shape | 0x20, 0, 0, 2, 1, 8, 7, 5, 0, 13, 0x1a, 2, 2, 11, 0, 10, 0, 9, 3, 13, 8, 0, 1, 14, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		synctest.Test(t, func(t *testing.T) { newHistory(t, data).run() })
	})
}
