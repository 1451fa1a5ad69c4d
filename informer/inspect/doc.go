// Package inspect shows what informers, their handlers, and queues are doing
// right now, as a page in a browser, as text in a terminal, or as JSON.
//
// # The problem
//
// A controller does nothing: why? Metrics say that something is wrong with one of
// its parts; what helps then is to look at that part. Which informer is not synced,
// and what did the server answer? Which handler lags behind, and since when? What
// is in the queue, for how long, and which keys are the workers processing? Each
// part can report that about itself. This package asks them at each request and
// renders the answer:
//
//	informer.Health ────────────▶ ┌─────────┐        curl localhost:6060/debug/informers
//	Factory.Health (those it has) │ Handler │ ◀────▶ a browser
//	Queue.InspectUpTo ──────────▶ └─────────┘        ?format=json | jq
//
// # Use
//
//	page, err := inspect.New(inspect.Options{Show: []inspect.Source{
//		inspect.Factory(factory), // or inspect.Informer(pods), one by one
//		inspect.Queue(queue),
//	}})
//	...
//	mux.Handle("/debug/informers", page)
//	go http.ListenAndServe("127.0.0.1:6060", mux)
//
// There is no authentication. The page shows the names of objects, and what servers
// answer; so serve it where the profiles of net/http/pprof may be served as well,
// and not to the world.
//
// # Promises
//
//  1. An answer is of the moment of the request. The informers of a factory are
//     those that it has then, and what [Handler.Add] adds, or its result removes,
//     at any time, from any goroutine, is there or gone in the next answer.
//  2. A slow reader of the page blocks nothing: no lock is held while the answer
//     is written.
//  3. What is in objects is not shown. Shown are names, keys, numbers, times, and
//     error texts, but not those of decoding and transforming, nor those of the
//     classes sink and other, any of which may quote an object. An item of a queue
//     that does not consist of strings, numbers and booleans alone is shown as its
//     type.
//  4. A queue of any length is locked for about the same time, which depends on
//     [Options].MaxItems. The number of items left out is shown.
//  5. Names may be anything: they do not become a part of the page, of the JSON or
//     of a terminal's control sequences.
//  6. Requests change nothing. Methods other than GET and HEAD are answered with
//     405, parameters that are not known with 400 and the reason. No answer may be
//     stored by a cache.
//  7. Nothing is global: importing the package registers nothing anywhere.
//
// # The JSON
//
// It is asked for with format=json in the query, or with an Accept header that
// prefers application/json to text/html. Names that end in Seconds are numbers of
// seconds, with a fraction. Times are in RFC 3339, in UTC; one that is not known,
// or never was, is left out. Lists are there even if they are empty. Further
// fields may be added.
//
//	{
//	  "time": "2026-01-02T15:04:05.6Z",
//	  "informers": [{                      ordered by name
//	    "name": "pods",
//	    "synced": true,                    the first list is in the cache …
//	    "syncedAfterSeconds": 0.12,        … and took so long
//	    "stopped": false,                  nothing will change any more
//	    "objects": 1200,
//	    "resourceVersion": "4711",
//	    "events": 5310,                    entries in the event log, ever
//	    "memory": {                        if the source can say it; see informer.MemoryUsage
//	      "tableBytes": 2335000,           of the cache itself, exact
//	      "indexBytes": {"node": 560000},  of each index, exact
//	      "objectBytes": 153000000,        estimated, without the pool's parts
//	      "objectBytesUnshared": 430000000,
//	      "poolBytes": 31000000            all of the informer's InternPool
//	    },
//	    "sources": [{                      one, or one per namespace
//	      "namespace": "",
//	      "state": "Degraded",             a reflector.State, …
//	      "since": "…",                    … since then
//	      "synced": true, "lastSync": "…", "lastEvent": "…", "resourceVersion": "4711",
//	      "queued": 0,                     changes that wait to be applied
//	      "consecutiveFailures": 3, "degradedSince": "…", "nextAttempt": "…",
//	      "lastError": {"class": "refused", "message": "…", "time": "…"},   left out if there was none
//	      "lists": 1, "watchLists": 1, "watches": 7,                        requests
//	      "reconnects": {"closed": 6},                                      ends of watches, by class
//	      "quarantined": 0,                                                 objects, ever
//	      "quarantine": [{"item": "default/web", "class": "decode"}]        and now
//	    }],
//	    "handlers": [{                     ordered by name
//	      "name": "enqueue", "synced": true,
//	      "lag": 0, "lagSeconds": 0,       events that wait, and for how long the oldest has
//	      "catchingUp": false, "delivered": 5310, "overflows": 0, "panics": 0
//	    }]
//	  }],
//	  "queues": [{                         ordered by name
//	    "name": "pods", "shuttingDown": false,
//	    "queued": 25, "again": 0, "delayed": 0, "parked": 0, "running": 1,
//	    "added": 5336, "retried": 4, "dropped": 0, "parkTimeouts": 0, "shutdownLosses": 0,
//	    "longestQueuedSeconds": 0.2,       of the items shown
//	    "longestRunningSeconds": 0.1, "unfinishedWorkSeconds": 0.1,
//	    "priorityClasses": [{"maxWaitSeconds": 0, "queued": 25, "groups": 0}],
//	    "queuedItems": {"shown": […], "leftOut": 5},     those that come first
//	    "runningItems": {"shown": [{                     those that have been running for longest
//	      "item": "default/web", "priorityClass": 0, "group": "…", "retries": 2, "again": false,
//	      "queuedSince": "…", "runningSince": "…", "delayedUntil": "…",
//	      "parkedUntil": "…"
//	    }], "leftOut": 0},
//	    "delayedItems": {"shown": [], "leftOut": 0},     those that come first
//	    "parkedItems": {"shown": [], "leftOut": 0}      those that come first
//	  }]
//	}
//
// # Failures
//
//   - An informer cannot reach its server, or was never started: it is shown as
//     not synced, with the state of its reflector and the last error.
//   - An informer has stopped: it is shown as stopped, with what its cache holds,
//     until it is removed here or, if it is a factory's, released.
//   - A queue is shut down: it is shown as that, with what is still in it.
//   - A queue has a million items: the first ones are shown, the rest is counted.
//   - A queue keeps no times (see workqueue.Options.Times): it is not known for how
//     long its items have been waiting or running, and "-" or 0 is shown; in the
//     JSON the times are left out.
//   - Something nil is to be shown: [New] and [Handler.Add] say so.
//   - The String method of an item panics: the text of the item says so.
//
// # Cost
//
// Nothing between requests. A request calls Health for each informer, which
// takes the lock of the informer and, while it has that, those of its reflectors and
// of their queues of changes in turn, for as long as it takes to copy some numbers
// and a list of handlers. It locks each queue while MaxItems items of each kind are
// copied, with the default for about twenty microseconds. Readers of a cache are not
// blocked.
package inspect
