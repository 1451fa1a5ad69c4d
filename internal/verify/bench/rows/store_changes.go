package rows

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// changed is how many objects differ between the two states that are compared.
const changed = 1000

func changeRows() []bench.Row {
	return []bench.Row{{
		Area: "store", Work: "what has changed, 1% of 100k",
		Does: "1,000 differing pods of 100k are found: by the diff of two snapshots, against listing the store and looking each up " +
			"in the list before, as one has to do with client-go. A unit is a difference.",
		Per:    changed,
		Ours:   bench.Side{Who: informerkit, Setup: ourDiff(big)},
		Theirs: bench.Side{Who: clientGo, Setup: clientGoDiff},
	}}
}

func ourDiff(size int) func() bench.Subject {
	return func() bench.Subject {
		ps := pods(size, 20)
		s := newOurStore(nil).(oursAsStore)
		s.WriteAll(ps)
		before := s.Snapshot()
		s.WriteAll(updatesOf(ps).states[:changed])
		after := s.Snapshot()
		return times(func() {
			n := 0
			for c := range indexer.Diff(before, after) {
				if c.Old != c.New {
					n++
				}
			}
			expect(n, changed)
		})
	}
}

func clientGoDiff() bench.Subject {
	ps := pods(big, 20)
	s := newClientGoStore(nil).(clientGoAsStore)
	s.WriteAll(ps)
	before := make(map[string]*corev1.Pod, len(ps))
	for _, obj := range s.List() {
		p := obj.(*corev1.Pod)
		before[must(cache.MetaNamespaceKeyFunc(p))] = p
	}
	s.WriteAll(updatesOf(ps).states[:changed])
	return times(func() {
		n := 0
		for _, obj := range s.List() {
			p := obj.(*corev1.Pod)
			if before[must(cache.MetaNamespaceKeyFunc(p))] != p {
				n++
			}
		}
		expect(n, changed)
	})
}
