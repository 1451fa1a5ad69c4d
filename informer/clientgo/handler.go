package clientgo

import (
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
)

// eventHandler passes events to a handler of client-go. It has no state, so one value
// can serve any number of registrations.
type eventHandler[T informer.Object] struct {
	next upstream.ResourceEventHandler
}

// OnEvent implements [informer.Handler]. A deletion whose final state is not known is a
// tombstone with the last state that is. client-go's handlers know a tombstone as
// cache.DeletedFinalStateUnknown, by value, and switch on that type.
func (h eventHandler[T]) OnEvent(e informer.Event[T]) {
	switch e.Type {
	case informer.Added:
		h.next.OnAdd(e.New, e.Origin == informer.InitialList)
	case informer.Updated:
		h.next.OnUpdate(e.Old, e.New)
	case informer.Deleted:
		if e.FinalStateUnknown {
			h.next.OnDelete(upstream.DeletedFinalStateUnknown{Key: indexer.FormatKey(e.Key), Obj: e.Object()})
			return
		}
		h.next.OnDelete(e.Object())
	}
}
