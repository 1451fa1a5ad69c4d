package bench

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
)

// TestHotPathsAllocateNoMoreThanTheyDid is the gate against regressions that no
// machine is too noisy for: what each operation allocates, counted.
func TestHotPathsAllocateNoMoreThanTheyDid(t *testing.T) {
	k := key{Namespace: "team-00", Name: "web"}
	q := ourQueue()
	take := func() {
		got, _ := q.Get()
		q.Done(got)
	}
	prioritized := newOurPrioritized(nil)
	next := 0

	ps := pods(10_000, 10)
	s := newOurStore(true).(oursAsStore)
	s.WriteAll(ps)
	u := updatesOf(ps)
	ks := keysOf(ps)
	batch := make([]*corev1.Pod, 100)

	batched, classic := newOursInOrder(nil).(oursInOrder), oursByObject{newOursInOrder(nil).(oursInOrder)}

	for _, path := range []struct {
		name string
		most float64
		run  func()
	}{
		{"queue: add, get, done", 0, func() { q.Add(k); take() }},
		{"queue: delay, supersede, get, done", 0, func() { q.AddAfter(k, time.Hour); q.Add(k); take() }},
		{"queue: rate limit, supersede, get, forget, done", 2, func() {
			q.AddRateLimited(k)
			q.Add(k)
			got, _ := q.Get()
			q.Forget(got)
			q.Done(got)
		}},
		{"queue: add with a priority, get, done", 0, func() {
			prioritized.AddClass(k, next%3)
			got, _ := prioritized.Get()
			prioritized.Done(got)
			next++
		}},
		{"store: get", 0, func() { s.Get(ks[next%len(ks)]); next++ }},
		{"store: list 10k", 0, func() { s.All() }},
		{"store: list a namespace", 7, func() { s.InNamespace("team-00") }},
		{"store: list by index", 3, func() { s.OnNode("node-7") }},
		{"store: snapshot", 0, func() { s.Snapshot() }},
		{"store: single write, two indexes", 6, func() { s.Write(u.take()) }},
		{"store: batch of 100 writes, two indexes", 230, func() {
			for i := range batch {
				batch[i] = u.take()
			}
			s.WriteAll(batch)
		}},
		// Leaves of 32 keys are more pieces than leaves of 128, and 0.7 kB for an object rather than 1.3.
		{"store: 10k pods added to an empty store, 100 at a time", 42_300, func() {
			s := newOurStore(false)
			for some := range slices.Chunk(ps, 100) {
				s.WriteAll(some)
			}
		}},
		{"store: diff of nothing", 2, func() {
			for range indexer.Diff(s.Snapshot(), s.Snapshot()) {
				t.Error("a snapshot differs from itself")
			}
		}},
		{"queue of changes: update, pop", 0, func() { batched.Update(ps[0]); batched.Pop() }},
		{"queue of changes: replace, pop", 1, func() { check(batched.Replace(batched.ctx, ps, "1")); batched.Pop() }},
		{"queue of changes, classic: update, pop", 4, func() { classic.Update(ps[0]); classic.Pop() }},
		{"queue of changes, classic: ten updates of 100 objects, pop", 415, func() {
			for i := range 1000 {
				classic.Update(ps[i%100])
			}
			drain(classic, 1000)
		}},
	} {
		path.run() // what is allocated once does not count
		got := testing.AllocsPerRun(200, path.run)
		t.Logf("%-50s %v", path.name, got)
		assert.LessOrEqual(t, got, path.most, path.name)
	}
}

// oursByObject is our queue, read by object.
type oursByObject struct{ oursInOrder }

func (f oursByObject) Pop() (n int) {
	check(f.DeltaFIFO.Pop(f.ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
		for _, deltas := range batch.ByObject() {
			n += len(deltas)
		}
		return nil
	}))
	return n
}
