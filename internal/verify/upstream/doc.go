// Package upstream runs client-go's own tests on the adapters of informer/clientgo.
//
// Nothing of client-go is copied into the repository. Its test files are those of the
// module cache, in the version of go.mod. Each run copies them into a temporary
// folder, as go build replaces no files of the module cache, and changes the
// implementation there:
//
//	k8s.io/client-go/util/workqueue        what the test compiles
//	  *_test.go                            as they are
//	  metrics.go, default_rate_limiters.go as they are
//	  queue.go, delaying_queue.go, …       removed
//	  declared_queue.go                    testdata/workqueue/queue.go.txt: declarations and constructors
//	  adapter_*.go                         the files of informer/clientgo, in this package
//
// Of tools/cache most files stay. Three types get other names, so that ours have theirs:
// the storage behind stores and indexers, the DeltaFIFO, and the shared informer.
//
// Each package under test has a list of the tests that differ, with the reason. It is
// checked from both sides: all others pass, and those listed fail or do not compile. A
// test that begins to pass has to leave the list, and one that client-go adds is run.
//
// The command programs, below, runs the tests of programs that use client-go.
package upstream
