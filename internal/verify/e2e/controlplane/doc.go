// Package controlplane runs a real Kubernetes control plane for tests, without
// containers: etcd and kube-apiserver (and, if asked for, the
// kube-controller-manager), built from their Go modules and run as child
// processes on 127.0.0.1.
//
//	           ┌───────────── control plane ─────────────┐
//	test ──────▶ kube-apiserver ──gRPC──▶ etcd           │
//	 │  HTTPS  │   ▲                      ▲             │
//	 │         │   └─ controller-manager  │             │
//	 └─────────┼── Compact, StopAPIServer ┘             │
//	           └─────────────────────────────────────────┘
//
// A fake API server does what its author believes Kubernetes does. Tests against
// this one find out whether that is true.
//
// # Use
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{
//		FeatureGates: map[string]bool{"WatchList": false},
//	})
//	if err != nil { … }
//	defer cp.Stop()
//	client, err := kubernetes.NewForConfig(cp.Config())
//
// # Binaries
//
// [Build] makes the programs once, with go build from the modules etcd, etcd34
// and kubernetes in the folders beside this file, and keeps them in internal/verify/e2e/.bin
// under a name that holds their version and a digest of everything that pins
// them. These are modules of their own because they need other versions of the
// k8s.io modules than the library. From cold caches this takes about four minutes
// on two cores; what go build says goes to .bin/build.log as well.
//
// # Promises
//
//  1. Everything listens on 127.0.0.1 only.
//  2. When Start returns nil, the API server is ready and the namespace "default"
//     exists. When it returns an error, nothing runs, and the error holds the last
//     lines that the failed program has logged.
//  3. Stop ends the programs by their process handles, waits for them, and removes
//     their data. It may be called more than once.
//  4. If the test binary dies without Stop (a timeout, a panic, SIGKILL), Linux kills
//     the programs with it; the data folder that it leaves is removed by the next
//     Start on this work tree.
//  5. Builds by several processes at once do the work once: the first takes a file
//     lock, and a finished program appears under its name in one step.
//  6. The address and the credentials survive StopAPIServer and StartAPIServer, so a
//     client sees the restart as an outage and not as another cluster.
//
// # Cost
//
// Ready in about three seconds, 300 MB for etcd and kube-apiserver together.
// Unix only: file locks and signals are used.
package controlplane
