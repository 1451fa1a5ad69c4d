package rows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

var bothInformers = map[string]func() shared{informerkit: newOurInformer, clientGo: newClientGoInformer}

// Both sides of an informer row must deliver the same events to the same handlers,
// or their figures are not comparable.
func TestInformersAgree(t *testing.T) {
	t.Parallel()
	const objects, handlers, events = 200, 3, 500
	for who, create := range bothInformers {
		ps := pods(objects, 1)
		u := updatesOf(ps)
		inf := create()
		inf.Start(ps)
		received := make(chan struct{}, 2*handlers*events)
		for range handlers {
			inf.AddHandler(func() { received <- struct{}{} })
		}
		inf.AddIdle()
		require.Equal(t, objects, inf.InNamespace(namespace(0)), who)
		for range events {
			inf.Update(u.take())
		}
		for range handlers * events {
			<-received
		}
		require.Empty(t, received, who)
	}
}

// What the rows run must come to an end with few objects too, and measure
// something.
func TestInformerWorkMeasures(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(shared) bench.Subject{
		"behind a stalled one":   behindStalled(100, 5000),
		"while a handler joins":  holdUp(1000),
		"deliver to two of them": deliver(100, 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for who, create := range bothInformers {
				s := limited(work(create()))
				if s.Before != nil {
					s.Before()
				}
				s.Run(1)
				if s.Value != nil {
					require.Positive(t, s.Value(), who)
				}
				if s.After != nil {
					s.After()
				}
			}
		})
	}
}
