package rows

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// newOurReceiving returns our informer, which calls received when its reflector has
// received an event.
func newOurReceiving(f *feed, received func()) shared {
	lw := reflector.FromFuncs[*corev1.Pod](f.List, f.Watch)
	inf := must(informer.New(lw, informer.Options[*corev1.Pod]{
		Reflector: reflector.Options{Metrics: receipts(received)},
	}))
	return ourInformer{inf, running()}
}

// receipts is called for each event that a reflector receives.
type receipts func()

func (r receipts) Received(watch.EventType)                       { r() }
func (receipts) Listed(time.Duration, int, reflector.ErrorClass)  {}
func (receipts) Watched(time.Duration, int, reflector.ErrorClass) {}
func (receipts) Quarantined(reflector.ErrorClass)                 {}
func (receipts) StateChanged(reflector.State, reflector.State)    {}
