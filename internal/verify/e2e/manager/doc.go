// Package manager runs a program that nobody here wrote, Kubernetes' kube-controller-manager,
// on the informers of this library and on client-go's, and compares.
//
//	           ┌─ etcd ── kube-apiserver ─┐  20,000 pods of 200 ReplicaSets
//	script ───▶│                          │◀── kube-controller-manager, INFORMERKIT=off
//	           └──────────────────────────┘    or, in the next run, without it
//
// Both sides are one binary, which the command informer/clientgo/cmd/adopt builds from the
// module of Kubernetes without a change. The environment selects the informers.
//
// A run starts the program, waits until it has nothing more to do, reads its heap after a
// garbage collection, and then plays the script in namespaces of its own: create workloads
// of all kinds, scale them while the API server is killed and started again, roll out a
// new image, delete with each propagation, and delete the namespaces. A step ends when the
// storage has not changed for some time; how long it took is the time of the last change.
//
// What is compared: all objects of these namespaces before they are deleted, without what
// is random (names that the server makes, UIDs, times, addresses); events by reason; and
// requests, memory, processor time and goroutines. The API server's audit log has the
// requests, by user agent.
package manager
