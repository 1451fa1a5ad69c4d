package reflector

import "time"

// phase is what Run does next.
type phase string

const (
	phaseSync  phase = "read the collection" // LIST or WatchList
	phaseWatch phase = "watch"               // from the last resourceVersion
	phaseCheck phase = "ask for the version" // whether the server knows it
)

// maxRewatches is how many watches in a row may fail without getting further
// in the history before the collection is read again, in case the trouble is
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
	// noProgress says that this watch and those before it have got no further for
	// minutes.
	noProgress bool
	// advanced says that the watch has got further in the history, or has run
	// for a healthy period.
	advanced bool
	// timely says that the server ended the watch in an orderly way at the time
	// agreed.
	timely bool
}

// cut says that the connection ended, or the server ended the watch: nothing is
// known to be wrong with what the watch was asked for.
func (e *ending) cut() bool {
	return e.op == OpStream && (e.class == ClassNetwork || e.class == ClassClosed || e.class == ClassIdle)
}

// failed returns the ending of a phase that failed with err.
func failed(op Op, err error) ending {
	return ending{op: op, class: Classify(err), err: err}
}

// phaseAfter is the outcome table: what follows which ending.
func (r *Reflector[T]) phaseAfter(end ending) phase {
	switch {
	case end.op == OpList || end.op == OpWatchList:
		return phaseSync
	case !r.pos.resumable():
		// Without a resumable version a watch replays existing objects as ADDED
		// and never reports deletions.
		return phaseSync
	case end.class == ClassQuarantine, r.pos.lost:
		return phaseSync
	case end.orderly:
		return r.resume()
	}
	switch end.class {
	case ClassRefused, ClassThrottled:
		return phaseWatch
	case ClassNetwork, ClassTLS, ClassTimeout, ClassIdle, ClassClosed, ClassSink:
	case ClassServer:
		// The answer 5xx to a request concerns the server that answered. In
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
	// Counted here and not where watches begin: only those that failed without a word
	// about the version.
	if r.rewatches++; r.rewatches > maxRewatches {
		r.rewatches = 0
		return phaseSync
	}
	return r.resume()
}

// resume is what comes before a watch is resumed.
func (r *Reflector[T]) resume() phase {
	// A source that can be asked beside the watch is asked there, without a delay for
	// the watch.
	if r.pos.doubt && checkerOf(r.lw) == nil && r.allowance.wait(time.Now(), burst/2+1) == 0 {
		return phaseCheck
	}
	return phaseWatch
}
