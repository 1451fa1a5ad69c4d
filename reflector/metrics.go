package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Metrics records the measurements of one reflector: one value for each, which is
// what labels are for. The methods are called from the goroutine of [Reflector.Run]
// and must not block.
//
// Packages informer and workqueue have a Metrics of the same form, each with what its
// own type measures; package informer/prometheus implements all three.
type Metrics interface {
	// Listed is called after each attempt to read the collection as a whole,
	// with LIST or WatchList; class is ClassNone if it succeeded, and then
	// objects is the size of the collection.
	Listed(took time.Duration, objects int, class ErrorClass)
	// Watched is called when a watch has ended, or could not be started; class
	// says why.
	Watched(took time.Duration, events int, class ErrorClass)
	// Received is called for each event of a watch.
	Received(typ watch.EventType)
	// Quarantined is called for each object that cannot be decoded or
	// transformed.
	Quarantined(class ErrorClass)
	// StateChanged is called at every change of state.
	StateChanged(from, to State)
}

type noMetrics struct{}

func (noMetrics) Listed(time.Duration, int, ErrorClass)  {}
func (noMetrics) Watched(time.Duration, int, ErrorClass) {}
func (noMetrics) Received(watch.EventType)               {}
func (noMetrics) Quarantined(ErrorClass)                 {}
func (noMetrics) StateChanged(State, State)              {}
