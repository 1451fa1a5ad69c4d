// Package conformance states what a client may expect of the Kubernetes API, as
// requests with the answers of a real kube-apiserver, which any server can be
// compared with.
//
// It exists so that the embedded server of informer/informertest is not judged
// by its author's idea of Kubernetes: both servers run the same suite.
//
//	informertest.Server ──┐
//	                      ├── conformance.Run(t, config, options)
//	kube-apiserver ───────┘
//
// The requests are plain HTTP and the answers plain JSON, so that no client
// library smooths anything over. What no recorded answer can state, such as
// times and protobuf, is tested by a few Go functions. Where releases differ,
// the suite follows Kubernetes 1.36. Each scenario works in a separate namespace
// and removes what it creates.
//
// # Files
//
// The files testdata/*.requests contain scenarios ("## title"), which consist of
// steps. An empty line ends a step:
//
//	PATCH:merge /api/v1/namespaces/$NS/configmaps/a?fieldManager=me
//	Accept: application/json
//	{"data":{"k":"v"}}
//	= 200
//	! 299 - "a warning"
//	{"metadata":{"name":"a","resourceVersion":"$rv2","…":"…"},"…":"…"}
//
// The first line is a method and a path; the content type may be a short name
// (merge, json, strategic, apply or yaml). Headers and the body follow; a body
// that is not a plain text is "quoted" and a Go string. "= " starts the expected
// answer: its code (with the media type if that names a view), its warnings and
// its body. Other steps are:
//
//	WATCH name path   opens a watch
//	EVENT name        reads its next event; the answer starts with its type
//	END name          reads the rest until the server closes the stream
//	COMPACT           makes the server forget all versions before the current one
//	WAIT duration     waits
//	~step             is repeated until the answer is as expected
//
// $NS is the namespace. Other symbols stand for a value that the server chooses
// when it first occurs, and for the same value afterwards, also in requests:
// $uid1, $next1 (continue), $token1, $ip1, $port1, $value1. Each new version
// $rv1, $rv2 of an object is later than all before, those of lists ($list1) and
// bookmarks ($mark1) are not earlier; $rv1+1000000 is a later version. $time1 is
// the current time. "…" matches any value, and any text within a text; as a member
// it allows other members, and a list that ends with it has these members in any
// order. Besides, an object must be shown with the same content wherever it is
// shown with the same version.
//
// A step without an answer fails and shows that of the server. To add a scenario,
// write its requests, run the tests of the real server (TestConformance in
// internal/verify/e2e), and state of each answer what a client may rely on.
package conformance
