package rows

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// lateHandlerRow is what others feel of a handler that joins late: while it does,
// one event after the other is sent as soon as the one before has been delivered.
func lateHandlerRow() bench.Row {
	return compareInformers(bench.Row{
		Work:    "late handler on 100k objects: longest hold-up",
		Does:    "A handler joins an informer of 100k pods. Meanwhile events are sent, one when the other has reached an earlier handler; the longest time that one takes.",
		Measure: bench.Latency, Repeat: 1, Quick: true,
		Want: bench.Target{Ratio: 100},
	}, func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(big, 20)))
		inf.Start()
		delivered := make(chan struct{}, 1)
		inf.AddHandler(func() { delivered <- struct{}{} })
		var longest time.Duration
		var remove func()
		probe := func() {
			start := time.Now()
			f.send(watch.Modified, u.take())
			<-delivered
			longest = max(longest, time.Since(start))
		}
		return bench.Subject{
			Before: func() { probe() },
			Run: func(int) {
				longest = 0
				joined := make(chan func())
				go func() { joined <- inf.AddHandler(func() {}) }()
				for {
					probe()
					select {
					case remove = <-joined:
						return
					default:
					}
				}
			},
			Value: func() float64 { return float64(longest) },
			After: func() { remove() },
		}
	})
}
