package informer

import "k8s.io/apimachinery/pkg/util/resourceversion"

// resourceVersions are opaque by contract, and decimal numbers at every known API
// server, which grow with each write. They are compared within one resource only.
// Versions that are not numbers cannot be compared: a wait for one ends when the object was seen
// in that very version.

// reached reports whether the resourceVersion have is want, or known to be later.
func reached(have, want string) bool {
	order, comparable := compareVersions(have, want)
	return have == want || want == "" || comparable && order >= 0
}

// atLeast reports whether the resourceVersion have is not known to be earlier than want, for
// the version of the cache.
func atLeast(have, want string) bool {
	if have == want || !isNumber(want) {
		return true
	}
	if have == "" {
		return false
	}
	order, comparable := compareVersions(have, want)
	return !comparable || order >= 0
}

// compareVersions orders two resourceVersions if both are numbers, of any length.
func compareVersions(a, b string) (order int, comparable bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// isNumber reports whether a resourceVersion can be compared.
func isNumber(version string) bool {
	_, comparable := compareVersions(version, version)
	return comparable
}
