// Package cachesuite runs controller-runtime's own tests of its cache on the cache of
// informer/controllerruntime, against a real kube-apiserver.
//
// Nothing of controller-runtime is copied into the repository. Its test files are those of
// the module cache, in the version of go.mod. Each run compiles them, by go test -overlay,
// as files of a folder that does not exist, with cache.New replaced by
// controllerruntime.New:
//
//	pkg/cache/cache_test.go, cache_suite_test.go, informer_cache_test.go   as they are, but for that
//	pkg/cache/defaulting_test.go, informer_cache_unit_test.go,
//	pkg/cache/internal                                                     not run: they test functions that are not exported
//
// The list of the tests that differ is checked from both sides: all others pass, and those
// listed fail.
package cachesuite
