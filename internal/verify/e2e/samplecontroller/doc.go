// Package samplecontroller is how k8s.io/sample-controller moves to this library without
// a change but in its imports: each package below takes the place of one of client-go.
//
//	main.go                     k8s.io/client-go/informers       samplecontroller/informers
//	controller.go               k8s.io/client-go/util/workqueue  samplecontroller/workqueue
//	pkg/generated/…/foo.go      k8s.io/client-go/tools/cache     samplecontroller/cache
//
// [Assemble] copies its source out of the module cache, these packages beside it, and
// changes those three lines. Nothing of it is in the repository.
package samplecontroller
