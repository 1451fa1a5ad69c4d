// Package explored runs controllers that nobody here wrote through [explore], from the module proxy: the replica set,
// job, stateful set and deployment controllers of Kubernetes, and the sample controller.
//
// Each test has the expectations of one controller and its known findings. It fails if a known finding is not found
// any more, so that a version of Kubernetes that fixes it is noticed, and if a search finds another one. README.md
// describes the findings.
//
//	go test ./...                                          60 schedules for each search
//	go test -timeout 2h . -explore.schedules=2000          the long form
//	go test -run '^TestJob$' -explore.schedule=stale@w10:pods .   one schedule, with its trace
//
// The sample controller cannot be imported, as it is a package main. samplecontroller has its test, which
// TestSampleController compiles with the controller's file in the module cache.
//
// [explore]: https://pkg.go.dev/github.com/informerkit/informerkit/informer/informertest/explore
package explored
