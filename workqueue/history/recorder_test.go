package history_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue/history"
)

var web = history.Key{Namespace: "default", Name: "web"}

func whats(h history.History) (all []history.What) {
	for _, e := range h.Entries {
		all = append(all, e.What)
	}
	return all
}

// Promise history/1
func TestPromise1MemoryIsBounded(t *testing.T) {
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	r := history.New(history.Options{})
	part := &history.Part{Name: "q"}
	for i := range 3 * history.DefaultEntries {
		key := history.Key{Namespace: "default", Name: strings.Clone("a-name-of-some-length")}
		if i%2 == 0 { // that of the entry is the only reference to the name
			key.Name = fmt.Sprint("pod-", i)
		}
		r.Note(time.Now(), &history.Record{What: history.Added, Key: key, Part: part})
	}
	took := inUse() - before
	assert.Less(t, took-min(took, uint64(history.DefaultEntries*32)), uint64(8_000_000), "without the texts of the keys")
	assert.Greater(t, took, uint64(5_000_000), "the recorder is still there")
	h := r.Of("default/a-name-of-some-length")
	assert.Equal(t, history.DefaultEntries, h.Kept)
	assert.True(t, h.Overwritten)
	assert.LessOrEqual(t, len(h.Entries), history.DefaultEntries/16, "a ring has no more")
	assert.Greater(t, len(h.Entries), history.DefaultEntries/32, "it is most of what its ring has")
}

// Promise history/2
func TestPromise2NoteAllocatesNothing(t *testing.T) {
	r := history.New(history.Options{Entries: 64})
	part, cause := &history.Part{Name: "q"}, &history.Cause{Object: web}
	err := errors.New("no")
	keyOf := history.KeyFunc[struct{ Namespace, Name string }]()
	item := struct{ Namespace, Name string }{"default", "web"}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		record := history.Record{What: history.Added, Key: keyOf(item), Part: part}
		record.Set(cause)
		r.Note(time.Now(), &record)
		r.NoteError(time.Now(), &history.Record{What: history.Failed, Key: web, Part: part}, err)
	}))
}

// Promise history/3
func TestPromise3OfReturnsWhatWasNotedInOrderAndWhetherSomeIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := history.New(history.Options{Entries: 64}) // four in a ring
		began := time.Now()
		h := r.Of("default/web")
		assert.Empty(t, h.Entries)
		assert.False(t, h.Overwritten)
		assert.Equal(t, began, h.Since)
		assert.Equal(t, 64, h.Kept)

		part := &history.Part{Name: "q"}
		for i, w := range []history.What{history.Added, history.HandedOut, history.Failed, history.Retried} {
			time.Sleep(time.Second)
			record := history.Record{What: w, Key: web, Part: part, Class: uint16(i)}
			if w == history.Failed {
				r.NoteError(time.Now(), &record, errors.New("no quota"))
				continue
			}
			r.Note(time.Now(), &record)
		}
		h = r.Of("default/web")
		require.Equal(t, []history.What{history.Added, history.HandedOut, history.Failed, history.Retried}, whats(h))
		assert.False(t, h.Overwritten)
		assert.Equal(t, began.Add(time.Second), h.Entries[0].Time)
		assert.Same(t, part, h.Entries[0].Part)
		assert.EqualValues(t, 1, h.Entries[1].Class)
		assert.EqualError(t, h.Entries[2].Err, "no quota")
		assert.Zero(t, h.Entries[2].Old)

		r.Note(time.Now(), &history.Record{What: history.Due, Key: web})
		h = r.Of("default/web")
		assert.Equal(t, []history.What{history.HandedOut, history.Failed, history.Retried, history.Due}, whats(h))
		assert.True(t, h.Overwritten)
		assert.Equal(t, began.Add(2*time.Second), h.Since)
		assert.Empty(t, r.Of("default/other").Entries)
	})
}

// Promise history/4
func TestPromise4EntriesDoNotKeepObjectsAlive(t *testing.T) {
	r := history.New(history.Options{})
	gone := make(chan struct{})
	func() {
		object := &struct {
			key  history.Key
			data [1 << 16]byte
		}{key: web}
		runtime.AddCleanup(object, func(c chan struct{}) { close(c) }, gone)
		r.Note(time.Now(), &history.Record{What: history.Received, Key: object.key, New: 7})
	}()
	for {
		runtime.GC()
		select {
		case <-gone:
			require.Len(t, r.Of("default/web").Entries, 1)
			return
		default:
			runtime.Gosched()
		}
	}
}

func TestOldErrorsAreLostAndNotMistaken(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	r.NoteError(time.Now(), &history.Record{What: history.Failed, Key: web}, errors.New("first"))
	for i := range 255 {
		r.NoteError(time.Now(), &history.Record{What: history.Dropped, Key: history.Key{Name: fmt.Sprint(i)}}, errors.New("another"))
	}
	assert.EqualError(t, r.Of("default/web").Entries[0].Err, "first")
	r.NoteError(time.Now(), &history.Record{What: history.Failed, Key: web}, errors.New("last"))
	h := r.Of("default/web")
	assert.True(t, h.Entries[0].ErrLost)
	assert.NoError(t, h.Entries[0].Err)
	assert.EqualError(t, h.Entries[1].Err, "last")
	assert.False(t, h.Entries[1].ErrLost)
}

func TestNotesOfManyGoroutinesAreAllKept(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				r.Note(time.Now(), &history.Record{What: history.Added, Key: history.Key{Name: fmt.Sprint(g)}, Attempt: uint16(i)})
				if i%50 == 0 {
					r.Of(fmt.Sprint(g))
				}
			}
		})
	}
	all.Wait()
	for g := range 8 {
		h := r.Of(fmt.Sprint(g))
		require.Len(t, h.Entries, 200)
		for i, e := range h.Entries {
			require.EqualValues(t, i, e.Attempt)
		}
	}
}

func BenchmarkNote(b *testing.B) {
	r := history.New(history.Options{})
	part, began := &history.Part{Name: "q"}, time.Now()
	b.Run("time known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Note(began, &history.Record{What: history.Added, Key: web, Part: part})
		}
	})
	b.Run("clock alone", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
	b.Run("one goroutine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Note(time.Now(), &history.Record{What: history.Added, Key: web, Part: part})
		}
	})
	b.Run("all cores", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			key := history.Key{Namespace: "default", Name: fmt.Sprint(time.Now().UnixNano())}
			for pb.Next() {
				r.Note(time.Now(), &history.Record{What: history.Added, Key: key, Part: part})
			}
		})
	})
}

func BenchmarkOf(b *testing.B) {
	r := history.New(history.Options{})
	for i := range 2 * history.DefaultEntries {
		r.Note(time.Now(), &history.Record{What: history.Added, Key: history.Key{Namespace: "default", Name: fmt.Sprint(i)}})
	}
	for b.Loop() {
		r.Of("default/web")
	}
}
