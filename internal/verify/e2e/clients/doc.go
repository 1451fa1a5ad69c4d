// Package clients drives an API server through the clients that controllers use:
// client-go's typed clientset, dynamic and metadata clients, informers and event
// recorders, and controller-runtime's client and manager.
//
//	informertest.Server ──┐
//	                      ├── clients.Run(t, config)
//	kube-apiserver ───────┘
//
// The suite runs alike on both: what a client sees of the embedded server is what
// it sees of the real one. The scenarios whose requests come in one order are also
// recorded on both and compared answer by answer (see [Record]).
package clients
