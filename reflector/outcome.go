package reflector

import (
	"context"
	"io"
	"time"
)

// phase is what Run does next.
type phase string

const (
	phaseSync  phase = "read the collection" // LIST or WatchList
	phaseWatch phase = "watch"               // from the last resourceVersion
	phaseProbe phase = "probe"               // whether the server knows it
)

// maxRewatches is how many watches in a row may fail without getting further
// in the history before the collection is read anew, in case the trouble is
// with the resourceVersion. Refusals to connect, and requests to slow down, say
// nothing about it, and a list would only add to the load.
const maxRewatches = 3

// probeAfter is for how long watches must have got no further for their
// resourceVersion to be doubted. Where anything is ever written, bookmarks move
// it about once a minute.
const probeAfter = 3 * time.Minute

// ending says how a phase ended. The zero value is success.
type ending struct {
	op    Op
	class ErrorClass
	err   error
	// orderly says that there is no failure: the server ended a watch that
	// ran for a healthy period, or the client did.
	orderly bool
	// mute says that this watch and those before it have got no further for
	// minutes.
	mute bool
	// advanced says that the phase has got further in the history.
	advanced bool
}

func failed(op Op, err error) ending {
	return ending{op: op, class: Classify(err), err: err}
}

// phaseAfter is the outcome table: what follows which ending.
func (r *Reflector[T]) phaseAfter(end ending) phase {
	switch {
	case end.op == OpList || end.op == OpWatchList:
		return phaseSync
	case !r.pos.resumable():
		// A watch from nowhere repeats what exists and keeps quiet about what
		// is gone.
		return phaseSync
	case end.class == ClassQuarantine:
		return phaseSync
	case end.orderly:
		return r.resume(end)
	}
	switch end.class {
	case ClassRefused, ClassThrottled:
		return phaseWatch
	case ClassNetwork, ClassTLS, ClassTimeout, ClassIdle, ClassClosed, ClassSink:
	case ClassServer:
		// The answer 5xx to a request is the trouble of whoever answered. In
		// a stream it concerns this watch: an object that can no longer be
		// read, for one, which only a list gets rid of.
		if end.op == OpStream {
			return phaseSync
		}
	case ClassDecode:
		// Broken bytes may be whole the next time; an unknown event stays one.
		if end.op != OpStream || isUnknownEvent(end.err) {
			return phaseSync
		}
	default:
		return phaseSync
	}
	if r.rewatches++; r.rewatches > maxRewatches {
		r.rewatches = 0
		return phaseSync
	}
	return r.resume(end)
}

// resume is what comes before a watch that goes on.
func (r *Reflector[T]) resume(end ending) phase {
	if end.mute {
		// Servers are silent about a watch from the future.
		return phaseProbe
	}
	return phaseWatch
}

// probe asks whether the server knows the resourceVersion to resume from, and
// returns what to do next. A server that was restored from a backup does not,
// and says so to a list only.
func (r *Reflector[T]) probe(ctx context.Context) phase {
	// Some sources know no limit. One object is answer enough.
	_, err := r.page(ctx, r.pos.probe(), func(T, error) error { return io.EOF })
	r.moved = time.Now()
	if r.pos.note(err) {
		r.log.Warn("the server does not know the resourceVersion of the watch", "resourceVersion", r.pos.rv, "err", err)
		r.pos.lost = true
		return phaseSync
	}
	return phaseWatch
}
