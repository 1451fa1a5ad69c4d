package rows

import (
	corev1 "k8s.io/api/core/v1"
)

// leastInformer is the peer that shows how far the limit of a latency is: one goroutine
// that waits for the watch, writes the store and calls the handler. So an event is handed
// over to no other goroutine, and there is nothing that an informer is for: a handler that
// is slow holds up the store, and reading the watch.
const leastInformer = "one goroutine for watch, store and handler"

// least has the same store as our informer, so the same readers find the same in it.
type least struct {
	oursAsStore

	events   *feed
	received func() // nil: nobody asks
}

func newLeast(f *feed) shared { return newLeastReceiving(f, nil) }

// newLeastReceiving returns one that calls received when it has received an event.
func newLeastReceiving(f *feed, received func()) shared {
	return &least{newOurStore(nil).(oursAsStore), f, received}
}

// Start fills the store, from a list as that of the others.
func (l *least) Start() {
	initial := make([]*corev1.Pod, len(l.events.initial))
	for i, p := range l.events.initial {
		c := *p
		initial[i] = &c
	}
	l.WriteAll(initial)
}

// AddHandler starts the goroutine. There can be one: a second would take events from it.
func (l *least) AddHandler(onUpdate func()) (remove func()) {
	go func() {
		for e := range l.events.events {
			if l.received != nil {
				l.received()
			}
			l.Write(e.Object.(*corev1.Pod))
			onUpdate()
		}
	}()
	return func() { close(l.events.events) }
}
