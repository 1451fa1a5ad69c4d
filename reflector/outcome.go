package reflector

import (
	"errors"
	"time"
)

// phase is what Run does next.
type phase string

const (
	phaseSync  phase = "read the collection" // LIST or WatchList
	phaseWatch phase = "watch"               // from the last resourceVersion
)

// What a reflector was doing when it failed; see [Failure].
const (
	opList      = "list"
	opWatchList = "watchlist"
	opWatch     = "watch"
	opStream    = "stream"
)

// maxRewatches is how many watches in a row may fail without getting further
// in the history before the collection is read again, in case the trouble is
// with the resourceVersion. Refusals to connect, and requests to slow down, say
// nothing about it, and a list would only add to the load.
const maxRewatches = 3

// maxExpired is how many watches in a row may be refused because of the version of a list before
// the collection is read without a version, which a server answers from etcd.
const maxExpired = 3

// probeAfter is for how long watches must have got no further for their
// resourceVersion to be doubted. Where anything is ever written, bookmarks move
// it about once a minute.
const probeAfter = 3 * time.Minute

// ending says how a phase ended. The zero value is success.
type ending struct {
	op    string
	class ErrorClass
	err   error
	// orderly says that there is no failure: the watch was not brief, and the server or
	// the client ended it.
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

// failed returns the ending of a phase that failed with err.
func failed(op string, err error) ending {
	return ending{op: op, class: Classify(err), err: err}
}

// cut says that the connection ended, or the server ended the watch: nothing is
// known to be wrong with what the watch was asked for.
func (e *ending) cut() bool {
	return e.op == opStream && (e.class == classNetwork || e.class == classClosed || e.class == classIdle)
}

// endOfWatch says how a watch has ended that has been followed.
func (r *Reflector[T]) endOfWatch(live *liveStream[T], err error) ending {
	end := failed(opStream, err)
	// What has got further may resume at once; what has not, may be stuck at its
	// version.
	end.advanced = live.moved.Load()
	end.noProgress = time.Since(r.moved) >= probeAfter
	// A watch on a quiet collection brings nothing for minutes, and is healthy. Something
	// may end each after some seconds: a proxy, or a client's timeout. That is no failure
	// unless it happens at once, but it is reported.
	ran := time.Since(live.followed)
	r.status.heal()
	end.advanced = end.advanced || ran >= r.opts.Backoff.Healthy
	switch {
	case ran >= brief:
		end.orderly = end.cut()
		end.timely = end.class == classClosed && time.Since(live.started) >= live.agreed-time.Second || end.class == classIdle
		r.allowance.refund()
		if end.class == classNetwork {
			r.noteError(end)
			r.warn("cut", "the connection of a watch broke; it is resumed", "error", err)
		}
	case end.class == classClosed:
		end.err = errShortWatch
	}
	end.orderly = end.orderly || end.class == classQuarantine
	var relist *relistError
	if errors.As(err, &relist) {
		end.orderly = true
		r.pos.lost, r.pos.rewritten = true, r.pos.rewritten || relist.rewritten
		r.noteError(end)
		r.warn("relist "+string(end.class), "the collection is read again, as events may have been missed", "error", err)
	}
	r.opts.Metrics.Watched(time.Since(live.started), live.events, end.class)
	return end
}

// phaseAfter is the outcome table: what follows which ending.
func (r *Reflector[T]) phaseAfter(end ending) phase {
	switch {
	case end.op == opList || end.op == opWatchList:
		return phaseSync
	case !r.pos.resumable():
		// Without a resumable version a watch replays existing objects as ADDED
		// and never reports deletions.
		return phaseSync
	case end.class == classQuarantine, r.pos.lost:
		return phaseSync
	case end.orderly:
		return phaseWatch
	}
	switch end.class {
	case ClassRefused, classThrottled:
		return phaseWatch
	case classNetwork, classTLS, classTimeout, classIdle, classClosed, classSink:
	case ClassServer:
		// The answer 5xx to a request concerns the server that answered. In
		// a stream it concerns this watch: an object that can no longer be
		// read, for one, which only a list gets rid of.
		if end.op == opStream {
			return phaseSync
		}
	case ClassDecode:
		// Broken bytes may be whole the next time; an unknown event stays one.
		var unknown *foundError
		if end.op != opStream || errors.As(end.err, &unknown) {
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
	return phaseWatch
}
