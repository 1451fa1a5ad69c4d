// Package inspect shows what informers, their handlers, queues and replicas are doing
// right now, as a page in a browser, as text in a terminal, or as JSON.
//
// A controller does nothing: why? The first line of the page is the worst problem, and
// what to do about it; further problems follow. Below is a card for each informer, queue
// and replica. At each request the handler reads their present state:
//
//	informer.Health ────────────▶ ┌─────────┐        curl localhost:6060/debug/informers
//	Factory.Health (those it has) │ Handler │ ◀────▶ a browser
//	Queue.Inspect ──────────────▶ │         │        ?format=json | jq
//	Replica.Health ─────────────▶ └─────────┘
//
// The page works without JavaScript; with it, the page refreshes itself every two
// seconds. The README of the package has the fields of the JSON, what counts as a
// problem, and the cost.
//
// In a terminal, watch curl -s localhost:6060/debug/informers?format=text follows it.
//
// Why was this object not reconciled? With the parameter key, as in ?key=default/web, the
// page is about one key: what each cache and each queue has of it, what happened to it,
// and why it is not processed. The history needs a history.Recorder in [Options].History,
// in the informers and in the queues; README.md has what it says.
//
// # Use
//
//	page, err := inspect.New(inspect.Options{Show: []inspect.Source{
//		inspect.Factory(factory), // or inspect.Informer(pods), one by one
//		inspect.Queue(queue),
//		inspect.Replica(replica), // of package sharding: its parts, or the leader
//	}})
//	...
//	mux.Handle("/debug/informers", page)
//	go http.ListenAndServe("127.0.0.1:6060", mux)
//
// There is no authentication. The page shows names of objects and errors of servers, so
// serve it only where the profiles of net/http/pprof may be served as well.
//
// # Promises
//
//  1. An answer shows the state at the moment of the request. The informers of a factory are
//     those that it has then. [Handler.Add], and the function that it returns to
//     remove what was added, have their effect on the next answer; both may be called
//     at any time, from any goroutine.
//  2. A slow reader of the page blocks nothing: no lock is held while the answer
//     is written.
//  3. What is in objects is not shown. Shown are names, keys, numbers, times, and
//     error texts; but not those of decoding and transforming, of the sink
//     and of unknown sources, any of which may quote an object. Errors and panics of
//     the program's own functions are shown, unless [Options].HideErrors is set; of an
//     object that the server finds invalid, only the fields are named. An item of a queue
//     that does not consist of strings, numbers and booleans alone is shown as its
//     type.
//  4. A queue of any length is locked for about the same time, which depends on
//     [Options].MaxItems, and its card has a bounded size. The number of items left
//     out is shown.
//  5. Names may contain anything: they are escaped, so that none becomes markup of the
//     page, syntax of the JSON or a control sequence of a terminal.
//  6. Requests change nothing. Methods other than GET and HEAD are answered with
//     405, parameters that are not known with 400 and the reason. No answer may be
//     stored by a cache. The page loads nothing from elsewhere, may not be framed, and
//     its policy permits no style and no script but its own.
//  7. Nothing is global: importing the package registers nothing anywhere.
//  8. What is shown of a key is bounded, whatever is recorded: the last 200 entries, texts
//     cut off. A key is looked up in a time that does not depend on the length of a
//     queue. Names of labels and annotations are shown, and the rest of an object
//     only with [Options].ShowObjects; the data of a Secret never.
//  9. A reason against a key is named by its cause: the predicate that dropped an event,
//     the namespace that is not read, the selector, the error that keeps an informer
//     from syncing, the handler that is behind or panicked, a history that may have been
//     overwritten. What is not known is said not to be known.
//  10. A request whose Host is not a loopback one, nor in [Options].Hosts, is answered
//     with 403: other sites cannot read the page through a browser. A page that others
//     than this machine can reach says so, unless Hosts is set.
//
// # Reading order
//
// inspect.go (requests), host.go (which hosts are served), source.go and report.go (what is
// read), problems.go (what is wrong), card.go, cardqueue.go and replica.go (what people read),
// page.go with page.html, page.css and page.js, text.go, format.go (the JSON). For one
// key: lookup.go, explain.go, whynot.go, sentence.go, explaincard.go with explain.html.
package inspect
