package rows

// wokenGoroutine is the peer that shows how far the limit of a latency is: the time that a
// goroutine takes to wake up beside the same readers, without an informer in between.
const wokenGoroutine = "goroutine woken by a channel"

// woken delivers the events of a feed to a handler, and does nothing else with them. Its
// objects stay as they were in the first list.
type woken struct {
	ourInformer

	events *feed
}

func newWokenGoroutine(f *feed) shared { return &woken{events: f} }

// Start fills the cache from a feed without events.
func (w *woken) Start() {
	silent := newFeed()
	silent.fill(w.events.initial)
	w.ourInformer = newOurInformer(silent).(ourInformer)
	w.ourInformer.Start()
}

// AddHandler starts the goroutine. There can be one: a second would take events from it.
func (w *woken) AddHandler(onUpdate func()) (remove func()) {
	go func() {
		for range w.events.events {
			onUpdate()
		}
	}()
	return func() { close(w.events.events) }
}
