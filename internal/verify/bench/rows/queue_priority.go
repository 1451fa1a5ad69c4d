package rows

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/informerkit/informerkit/internal/verify/bench"
	ours "github.com/informerkit/informerkit/workqueue"
)

// prioritized is a queue with three classes of urgency, the most urgent first.
type prioritized interface {
	AddClass(k key, class int)
	Get() (key, bool)
	Done(key)
}

type ourPrioritized struct {
	*ours.Queue[key]
	ctx context.Context
}

func (q ourPrioritized) AddClass(k key, class int) { q.PriorityClass(class).Add(k) }

func (q ourPrioritized) Get() (key, bool) { return q.Queue.Get(q.ctx) }

func newOurPrioritized() prioritized {
	return ourPrioritized{ours.New(ours.Options[key]{MaxWait: []time.Duration{0, time.Second, time.Minute}}), running()}
}

type theirPrioritized struct {
	priorityqueue.PriorityQueue[key]
	priorities []int
}

func (q theirPrioritized) AddClass(k key, class int) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &q.priorities[class]}, k)
}

func (q theirPrioritized) Get() (key, bool) {
	k, _, shutdown := q.GetWithPriority()
	return k, !shutdown
}

func comparePriorities(row bench.Row, work func(prioritized) bench.Subject) bench.Row {
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject {
		return work(newOurPrioritized())
	}}
	row.Theirs = bench.Side{Who: controllerRuntime, Setup: func() bench.Subject {
		return work(theirPrioritized{priorityqueue.New[key](""), []int{100, 0, -100}})
	}}
	return row
}

// priorityRow is the life of a key of changing urgency.
func priorityRow() bench.Row {
	return comparePriorities(bench.Row{
		Area: "queue", Work: "priorities: add+get+done, one goroutine",
		Does: "One goroutine adds a key with one of three priorities, gets it and is done with it; 1,024 keys in turn.",
		Want: bench.Target{Ratio: 5, Allocs: bench.AtMost(0)},
	}, func(q prioritized) bench.Subject {
		ks := keys(1024)
		return bench.Subject{Run: func(n int) {
			for i := range n {
				q.AddClass(ks[i%len(ks)], i%3)
				k, _ := q.Get()
				q.Done(k)
			}
		}}
	})
}
