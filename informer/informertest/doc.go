// Package informertest runs a Kubernetes API server inside a test, the way
// net/http/httptest runs a web server.
//
// # The problem
//
// A controller talks to an API server through lists and watches, and most of
// what goes wrong, goes wrong there: a watch that resumes from a compacted
// version, a conflict, a finalizer, a list in pages, a bookmark that never comes.
// A fake clientset has none of that. A real API server has all of it, but takes
// seconds to start, runs on the wall clock, and fails only when it happens to.
//
// This server speaks the real protocol to any client, lives in the process, and
// fails when the test wants it to:
//
//	your client ── HTTP ──▶ routes ──▶ faults ──▶ store
//	(rest.Config)                        │        (objects, one counter of
//	     ▲                               │         versions, the history)
//	     └────── JSON, protobuf ─────────┴──── lists, watches ──┘
//	                                               ▲
//	your test ── Create, Modify, Compact, Inject ──┘
//
// # Use
//
//	func TestController(t *testing.T) {
//		server := informertest.Start(t, informertest.Options{})
//		client := kubernetes.NewForConfigOrDie(server.Config())
//		...
//		server.Compact()                  // watches that resume get 410
//		server.Inject(informertest.Fault{ // the next two lists are refused
//			Verb: "list", Times: 2,
//			Effect: informertest.Refuse(apierrors.NewTooManyRequests("busy", 1)),
//		})
//	}
//
// The server reads the built-in kinds by a description of their Go types and imports none of
// them, so that the test is compiled fast. For protobuf give it the types: [Options].Scheme.
//
// With [Options].InMemory connections are made in memory. Such a server works
// inside a testing/synctest bubble: an hour of watching and its sixty bookmarks
// take no time at all. Create and close it, and its clients, in the bubble.
//
// # Promises
//
//  1. What this server answers, a kube-apiserver 1.36 answers too: one suite of
//     conformance tests passes on both, and both answer recorded requests of real
//     clients alike. README.md of this package lists the known differences.
//  2. All writes have one order. Each has a version of its own, taken from one
//     counter. The resourceVersions of objects, lists, events and bookmarks are such
//     versions.
//  3. A list shows the state at its version, and so do all its pages.
//  4. A watch from a version shows each later change exactly once, in order, or
//     ends with 410. A bookmark's version says that everything up to it was sent.
//  5. A write that changes nothing gets no new version and causes no event.
//  6. Equal seeds and equal requests give equal UIDs and names. Time comes from
//     package time only.
//  7. A watch costs a position in the history: no buffer, and no goroutine but that
//     of its HTTP request. A slow client delays no other one; one that falls behind
//     the history gets 410.
//  8. When Close returns, nothing of the server runs any more.
//
// # Errors
//
// Requests are answered with the metav1.Status of a real API server, in the
// stream of a watch as an ERROR event. Methods of [Server] return the same errors,
// which apierrors.IsNotFound and the like recognise, and errors that begin with
// "informertest:" for mistakes in the test, such as a kind that is not served.
//
// README.md has what is served, filled in and left out, the faults, how to test a
// controller, and what everything costs.
package informertest
