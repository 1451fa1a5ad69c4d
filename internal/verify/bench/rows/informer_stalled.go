package rows

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// stalling is an informer of either side that a handler is added to which never
// returns, in the way that is the default there.
type stalling interface {
	shared
	// AddStalled adds a handler that does not return from its first update
	// before release.
	AddStalled(release <-chan struct{})
}

func (i ourInformer) AddStalled(release <-chan struct{}) {
	r := must(i.inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(_, _ *corev1.Pod) { <-release },
	}, informer.HandlerOptions{}))
	<-r.Synced()
}

func (i clientGoInformer) AddStalled(release <-chan struct{}) { i.AddHandler(func() { <-release }) }

// stalledHandlerRow is the memory that a handler that never returns keeps in use.
// Here our handler has the default options, which are meant for this.
func stalledHandlerRow() bench.Row {
	const objects, updates = 10_000, 1_000_000
	return compareInformers(bench.Row{
		Work: "memory behind a stalled handler",
		Does: fmt.Sprintf("One handler does not return while %s updates of %s pods arrive, and another one receives all of them; "+
			"the heap that this takes, for one pod.", grouped(updates), grouped(objects)),
		Measure: bench.LiveHeap, Per: objects, Repeat: 1,
		Want: bench.Target{Ratio: 1},
	}, behindStalled(objects, updates))
}

func behindStalled(objects, updates int) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(objects, 1)))
		inf.Start()
		done, release := make(chan struct{}), make(chan struct{})
		var c counter
		inf.AddHandler(func() { c.count(done) })
		inf.(stalling).AddStalled(release)
		return bench.Subject{
			Run: func(int) {
				c.left = updates
				for range updates {
					f.send(watch.Modified, u.take())
				}
				<-done
			},
			After: func() { close(release) },
		}
	}
}
