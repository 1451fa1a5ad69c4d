// Package history keeps the last things that happened to each key of a controller: an
// event received, delivered to a handler or dropped by a predicate; a key added to a
// queue, handed out, failed, delayed, parked. It answers "why was this object not
// reconciled?" after the fact, as the flight recorder of package runtime/trace does for
// goroutines.
//
//	informer ──received, delivered, dropped──▶ ┌──────────┐
//	                                           │ Recorder │ ──Of(key)──▶ informer/inspect
//	queue ──added, handed out, finished, … ──▶ └──────────┘
//
// One [Recorder] is given to the informers and queues of a program:
//
//	recorder := history.New(history.Options{})
//	factory, err := informer.NewFactory(cfg, informer.FactoryOptions{History: recorder})
//	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{
//		Name: "web", Observe: history.Queue[types.NamespacedName](recorder, "web"),
//	})
//	page, err := inspect.New(inspect.Options{History: recorder, Show: …})
//
// and GET …?key=default/web of the page shows what happened to that key, in sentences.
//
// It is of use without Kubernetes: besides the standard library it imports package workqueue only.
// [Recorder.Failures] and [Recorder.Throughput] say how a queue does as a whole.
//
// # Keys
//
// A key is looked up by its text. Queues have items of any comparable type, and
// [KeyFunc] says which key an item has: a struct of a Namespace and a Name, also one in
// an embedded field (types.NamespacedName, reconcile.Request), is the key "namespace/name"
// or "name"; a string is the key of the same text; so are numbers and booleans. Items of
// other types, which might print what they refer to, are not recorded.
//
// # Promises
//
//  1. The memory is bounded: 120 bytes per entry, all of it reserved by [New], plus the
//     texts of the keys, and the last 256 errors, of each queue as well. The default is 65,536 entries in less
//     than 8 MB. The oldest make room for new ones.
//  2. [Recorder.Note] allocates nothing, blocks on nothing but another Note or Of of one
//     of 16 parts of the recorder, and calls no other code.
//  3. [Recorder.Of] returns what was noted for the key, in the order in which it was
//     noted, and whether older entries may have been overwritten.
//  4. Entries do not keep objects alive: they have names, numbers and versions. Errors are
//     kept as they are, and may keep what they refer to.
//
// # Reading order
//
// key.go (whose history), record.go (what is noted), recorder.go (where), queue.go (by a queue),
// failing.go (what fails in it, and how many are done), name.go (what functions are called).
package history
