package rows

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// idleHandlerRow is what a handler keeps that is synced and has nothing to do.
func idleHandlerRow() bench.Row {
	row := bench.Row{
		Area: "informer", Work: "idle handler",
		Does:    "1,000 handlers join an informer of one pod, and are synced; heap, stacks and goroutines of one.",
		Measure: bench.LiveHeap, Repeat: 1000, Quick: true,
		Want: bench.Target{Ratio: 1, Figure: bench.AtMost(1024), Goroutines: bench.AtMost(0)},
	}
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject {
		f := newFeed()
		f.fill(pods(1, 1))
		inf := newOurInformer(f).(ourInformer)
		inf.Start()
		return keep(func() *informer.Registration {
			r := must(inf.inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{}, informer.HandlerOptions{}))
			<-r.Synced()
			return r
		})
	}}
	row.Theirs = bench.Side{Who: clientGo, Setup: func() bench.Subject {
		f := newFeed()
		f.fill(pods(1, 1))
		inf := newClientGoInformer(f).(clientGoInformer)
		inf.Start()
		return keep(func() cache.ResourceEventHandlerRegistration {
			r := must(inf.inf.AddEventHandler(cache.ResourceEventHandlerFuncs{}))
			<-r.HasSyncedChecker().Done()
			return r
		})
	}}
	return row
}

// idleInformerRow is what an informer keeps besides its objects.
func idleInformerRow() bench.Row {
	row := bench.Row{
		Area: "informer", Work: "idle informer",
		Does: "10,000 informers, each with a source of its own that holds one pod, are synced and have one handler each; " +
			"heap, stacks and goroutines of one, source and pod included.",
		Measure: bench.LiveHeap, Repeat: 10_000,
		Want: bench.Target{Ratio: 1, Figure: bench.AtMost(15_000), Goroutines: bench.AtMost(2)},
	}
	run := func(create func(*feed) shared) func() bench.Subject {
		return func() bench.Subject {
			return limited(row.Work, func() bench.Subject {
				return keep(func() shared {
					f := &feed{}
					f.fill(pods(1, 1))
					inf := create(f)
					inf.Start()
					inf.AddHandler(func() {})
					return inf
				})
			})
		}
	}
	// A program has one context for all of its informers. client-go's run until a channel
	// is closed that all of them share as well.
	program := running()
	row.Ours = bench.Side{Who: informerkit, Setup: run(func(f *feed) shared { return ourInformer{ourInformerOf(f), program} })}
	row.Theirs = bench.Side{Who: clientGo, Setup: run(newClientGoInformer)}
	return row
}
