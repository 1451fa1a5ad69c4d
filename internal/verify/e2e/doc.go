// Package e2e runs the library against a real kube-apiserver and etcd.
//
//	go -C internal/verify/e2e test -timeout 45m ./...
//
// builds both, and the kube-controller-manager, from their Go modules the first time
// (about five minutes on two cores; follow it in .bin/build.log, or do it beforehand with
// go -C internal/verify/e2e run ./cmd/controlplane -build -controller-manager), starts them on 127.0.0.1, and
// leaves nothing behind but the built programs. Neither containers nor a cluster
// nor any download but that of Go modules is needed.
//
// What is found out here is whether the embedded API server of informertest, and
// with it every other test of the library, has the right idea of Kubernetes:
//
//   - conformance_test.go: the expectations that the embedded server meets are those
//     that the real one meets.
//   - clients_test.go: real clients (client-go's, controller-runtime's) find the same on
//     both servers; package clients runs them against the embedded one.
//   - differential_test.go: recorded on both servers, the requests of real clients are
//     answered with the same codes, reasons, kinds and objects.
//   - informer_test.go: an informer's cache ends up equal to the server's list.
//   - reflector_*_test.go: restarts, compaction, refused WatchLists, versions from the
//     future, no watch cache, 50,000 objects.
//   - examples_test.go: the examples do on a cluster what their READMEs say, and so do the
//     kubectl commands in them.
//   - propagation_test.go: a Job is deleted with its pods, unless its deletion was asked to orphan them.
//   - uninstall_test.go: a 404 deletes nothing; the watch before it does, and the list after it.
//   - manifests_test.go, rights_test.go, owners_test.go: the examples' manifests are valid, and grant what
//     the controllers use, and no more.
//   - difference_test.go: a change keeps what the program does not see.
//   - foo_test.go: the example foo leaves what k8s.io/sample-controller leaves, and so
//     does sample-controller on informer/clientgo, changed in three imports.
//   - replicaset_test.go: the example controller does its work, also beside the built-in
//     controller of the same name, and as a command.
//   - controlplane_test.go: the control plane of these tests keeps its own promises.
//
// The tests share one control plane with default settings and give themselves
// namespaces of their own in it. Those that restart it, compact its storage or need
// other settings start one of their own. Twice as many tests as there are processors run
// at a time, unless -parallel says how many: they wait more than they compute. Those that
// measure, or act on all namespaces of a shared control plane, run alone before them.
//
// COMPATIBILITY.md has the versions that were run, and how other releases of the API
// server are.
package e2e
