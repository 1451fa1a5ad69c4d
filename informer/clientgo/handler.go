package clientgo

import (
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer"
)

// eventHandler passes events to a handler of client-go.
type eventHandler[T informer.Object] struct {
	next     upstream.ResourceEventHandler
	logger   klog.Logger // for panics
	panicked bool        // in the last call
}

// OnEvent implements [informer.Handler]. A deletion whose final state is not known is a
// tombstone with the last state that is. client-go's handlers know a tombstone as
// cache.DeletedFinalStateUnknown, by value, and switch on that type. A panic is for the
// process's panic handlers, and ends it unless utilruntime.ReallyCrash says otherwise. Then
// the next call comes a second later, as with client-go, lest a handler panic in a loop.
func (h *eventHandler[T]) OnEvent(e informer.Event[T]) {
	if h.panicked {
		time.Sleep(time.Second)
	}
	h.panicked = true
	defer utilruntime.HandleCrashWithLogger(h.logger)
	h.pass(e)
	h.panicked = false
}

// pass calls the handler.
func (h *eventHandler[T]) pass(e informer.Event[T]) {
	switch e.Type {
	case informer.Added:
		h.next.OnAdd(unbox(e.New), e.Origin == informer.InitialList)
	case informer.Updated:
		if b, ok := any(e.New).(*boxed); ok && b.unversioned && e.Origin == informer.Relist && e.Old.GetResourceVersion() == b.GetResourceVersion() {
			return // stored, but no news, as in client-go
		}
		h.next.OnUpdate(unbox(e.Old), unbox(e.New))
	case informer.Deleted:
		if e.FinalStateUnknown {
			h.next.OnDelete(upstream.DeletedFinalStateUnknown{Key: formatKey(e.Key), Obj: unbox(e.Object())})
			return
		}
		h.next.OnDelete(unbox(e.Object()))
	}
}
