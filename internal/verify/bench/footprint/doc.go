// Package footprint keeps the library small to depend on. Two programs do the same
// work, ours on this library and clientgo on client-go: they watch pods, cache
// them and reconcile their keys. The test compares what each adds to a program
// (packages, modules, bytes of the binary), and fails if ours grows.
//
// packages.txt lists the packages that come from other modules. After a change that
// is meant to be, write it again and read the difference:
//
//	go -C internal/verify/bench test ./footprint -update
package footprint
