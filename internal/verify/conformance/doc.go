// Package conformance states what a client may expect of the Kubernetes API, as
// a suite of tests that runs against any server.
//
// It exists so that the embedded server of informer/informertest is not judged
// by its own author's idea of Kubernetes: the expectations are those that a real
// kube-apiserver meets, and both run the same suite.
//
//	informertest.Server ──┐
//	                      ├── conformance.Run(t, config, options)
//	kube-apiserver ───────┘
//
// The suite speaks plain HTTP and looks at plain JSON, so that no client library
// smooths anything over. It covers:
//
//	create, get        names, generateName, metadata, dry run, refused bodies
//	update, patch      optimistic locking, generation, status, merge and JSON patch
//	delete             preconditions, finalizers, propagation, collections
//	list               order, selectors, pages, resourceVersion and its match
//	watch              events, selectors, bookmarks, initial events, errors in-stream
//	compaction         410 on lists, on pages and in watches (see Options.Compact)
//	discovery, CRDs    documents, custom resources
//	views              metadata only, protobuf, what cannot be served
//
// Where releases differ, the suite follows Kubernetes 1.36. It works in
// namespaces and with resources of its own, and removes them.
package conformance
