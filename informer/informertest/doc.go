// Package informertest runs a Kubernetes API server inside a test, the way
// net/http/httptest runs a web server.
//
// # The problem
//
// A controller talks to an API server through lists and watches, and most of
// what goes wrong does so in between: a watch that resumes from a forgotten
// version, a conflict, a finalizer, a list in pages, a bookmark that never comes.
// A fake clientset knows none of that. A real API server knows all of it, but
// takes seconds to start, runs on the wall clock, and fails only when it wants to.
//
// This server speaks the real protocol to any client, lives in the process, and
// does as it is told:
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
// With [Options].InMemory connections are made in memory. Such a server works
// inside a testing/synctest bubble: an hour of watching and its sixty bookmarks
// take no time at all, and synctest.Wait returns when client and server both
// have nothing left to do. Create and close it, and its clients, in the bubble.
//
// # What is served
//
// Discovery and OpenAPI; get, list, watch, create, update, patch (JSON patch, merge patch,
// strategic merge patch, server-side apply), delete and deletecollection;
// managedFields of all writes by clients; status, scale, eviction, binding,
// ephemeral containers, resize and token requests; reviews of access; all built-in
// kinds, any [Resource] you describe, and custom resources whose
// CustomResourceDefinition a client creates. Objects are read and shown as JSON
// or protobuf (built-in kinds, and those of [Options].Scheme), and shown as
// metadata only.
//
// # Promises
//
//  1. What this server answers, a kube-apiserver 1.36 answers too: one suite of
//     conformance tests passes on both. What is left out is listed below.
//  2. All writes have one order. Each has a version of its own, taken from one
//     counter; an object, a list, an event and a bookmark state such versions.
//  3. A list shows the state at its version, and so do all its pages.
//  4. A watch from a version shows each later change exactly once, in order, or
//     ends with 410. A bookmark's version says that everything up to it was sent.
//  5. A write that changes nothing has no version and raises no event.
//  6. Equal seeds and equal requests give equal UIDs and names. Time comes from
//     package time only.
//  7. A watch costs a cursor: no buffer, and no goroutine but that of its HTTP
//     request. A slow client holds up nobody and in the end gets 410.
//  8. When Close returns, nothing of the server runs any more.
//
// # Field managers
//
// A write by a client is noted in metadata.managedFields under the fieldManager of
// the request, or else the name that begins its User-Agent. Objects that the Go
// side creates have no managers, which costs nothing; its later writes to objects
// that have some are noted as "informertest". The first apply to an object without
// managers meets with the manager "before-first-apply", as on a real server: it
// conflicts where it changes a value, unless it is forced.
//
// # Bodies and defaults
//
// A body of a built-in kind is read into its Go type: fields of a wrong type are
// refused, unknown ones dropped with a warning or, with fieldValidation=Strict,
// refused. JSON, YAML and protobuf are alike. What a client leaves out is filled
// in, also for objects that the Go side creates:
//
//	pods, templates     restartPolicy, dnsPolicy, schedulerName, grace period, securityContext
//	containers          imagePullPolicy, termination message, port protocols, probes, requests from limits
//	volumes             modes, types and sources; volume claims: volumeMode, phase
//	Pod                 enableServiceLinks, priority and its policy, tolerations of lost nodes, phase, qosClass
//	workloads           replicas, strategies, history limits, deadlines; Job: selector, labels, counts, modes
//	Service             type, clusterIP(s), IP families, nodePort, targetPort, protocols, affinity, traffic policies
//	Secret              type, data from stringData
//	others              HorizontalPodAutoscaler: metrics, behavior; NetworkPolicy: policyTypes; RBAC: apiGroup;
//	                    classes of storage, priority, ingress; webhooks; limit ranges; endpoint ports; node taint
//
// Fields that a cluster sets for good (selectors, templates of jobs, the
// specification of pods, a claim's volume, ...) are immutable to clients; the Go
// side may change them, and may store what no client could: a Pod whose spec is a
// string shows what a client of JSON does with one object that it cannot decode.
// In protobuf it cannot be written, and fails the request, as on a real server.
//
// # What is left out
//
// Requests and answers:
//
//   - Requests that need a running container (exec, attach, logs, port forwarding,
//     proxies) are answered with 501.
//   - autoscaling/v1, and the collection of bindings: a pod's own subresource binds it.
//   - Answers in YAML, and OpenAPI in protobuf. CustomResourceDefinitions, APIServices
//     and custom resources in protobuf.
//   - In tables, for kinds that are rarely printed (jobs, nodes, ingresses, roles and
//     others), columns other than name and time of creation; descriptions of columns;
//     JSON paths of printer columns that are more than names joined by dots.
//   - In OpenAPI, more than the metadata of CustomResourceDefinitions.
//   - Authentication and authorization. Reviews of access are answered, see
//     [Options].ReviewAccess.
//
// What is stored:
//
//   - Built-in kinds are checked for the types of their fields, for their metadata and
//     for what is immutable, and no further. They have the fields of the release whose
//     Go types are compiled in, not of the one that /version states.
//   - Custom resources are stored as sent, whatever their schema says, and converted
//     between versions by their apiVersion alone.
//   - Server-side apply takes a list in a custom resource, a CustomResourceDefinition or
//     an APIService as a whole, as these have no Go types here.
//   - Writes by way of events.k8s.io are noted in managedFields as writes of v1.
//   - An object may be as large as a body, 3 MiB; etcd takes half of that.
//
// What a cluster does by itself:
//
//   - No controller runs, but CustomResourceDefinitions are established, and namespaces
//     emptied and removed, at once, where a real server takes a moment.
//   - Nothing collects garbage: a finalizer for foreground or orphan deletion stays until
//     a test removes it, and no kind orphans its dependents unless it is asked to.
//   - Pods are deleted at once, whatever their grace period.
//   - Of the admission plugins there are those for namespaces, priorities and
//     tolerations, so volumes get no finalizer that protects them.
//
// # Faults
//
// [Server.Inject] makes chosen requests go wrong in one of these ways:
//
//	the request          Refuse, Respond, Drop, Delay, Stall
//	the body of a list   CutBody, TruncateBody
//	the end of a watch   EndWatch, BreakWatch, BreakWatchInside, TruncateWatch, StallWatch, FailWatch
//	its events           GarbleWatch, ReplaceEvent, DuplicateEvents, ReorderEvents, SwallowBookmarks
//
// Others concern the server as a whole: [Server.Compact],
// [Server.BreakConnections], [Server.Pause] and [Server.Resume],
// [Server.Restart], [Server.RestartWithNewHistory]. [Server.InjectChaos] picks
// faults at random, from a seed, and only such as a client must survive:
//
//	stop := server.InjectChaos(informertest.Chaos{Seed: seed, Rate: 0.3})
//	...                       // write to the server, let the client follow
//	stop()
//	...                       // now the client must come to see the true state
//
// # Errors
//
// Requests are answered with the metav1.Status of a real API server, in the
// stream of a watch as an ERROR event. The Go side returns the same errors, fit
// for k8s.io/apimachinery/pkg/api/errors, and errors that begin with
// "informertest:" for its own mistakes, such as a kind that is not served.
//
// # Cost
//
// A stored object is one JSON text; lists and watches send it without decoding.
// The first write by a client in a process reads the schema of the built-in kinds,
// for a tenth of a second; most of what later ones cost goes into managedFields.
// [Options].HistoryLength bounds the history of each resource. The first list
// after a write sorts the collection; the pages after it, and lists with no write
// in between, do not.
package informertest
