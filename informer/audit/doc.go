// Package audit compares what a reflector, or an informer, has with the metadata on the
// server, and has the collection read again if the two differ for lack of an event.
//
// A watch delivers what changes after a resourceVersion. It cannot say that this version
// belongs to another history: that of an etcd that was restored from a backup and has
// reached the version again, or of an aggregated API server that accepts any version and
// resumes nothing. The cache then stays wrong without any error.
//
//	opts := reflector.Options{Monitor: audit.Every(time.Hour)}
//
//	      every interval                  10 s later
//	watch ───▶ list metadata ── differs? ──▶ list metadata ── differs still? ──▶ Relist
//	             │ equal                       │ no: it was on its way
//	             ▼                             ▼
//	           done                          done
//
// While the pages are read the collection goes on changing, so most differences are
// changes on their way to the sink, or newer than the list. No version is compared by its
// number: after a restore the newer version is the wrong one. A difference counts if both
// sides still have the same two versions when it is looked at again. What an audit cannot
// see is an object whose UID and version are equal in both histories and whose contents
// are not, if nothing else differs.
//
// An audit lists metadata in pages of 1000, in protobuf if the server has it, with a wait
// of 0.1s between them, 10s after one that is nearly empty; what is equal is not decoded.
// Quarantined objects are left out: they are read again anyway.
//
// # Promises
//
//  1. An object that differs from the server's, for lack of an event, is repaired by the
//     next audit. A change that is on its way does not count; a difference that a relist
//     does not remove causes one relist only.
//  2. An audit that fails disturbs nothing, and is reported in [Health]; the next one
//     follows an interval later.
package audit
