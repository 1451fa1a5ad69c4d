package informer

import "strings"

// resourceVersions are opaque by contract, and decimal numbers at every known API
// server, which grow with each write. They are compared within one resource only.
// Versions that are not numbers cannot be compared: then what is asked is taken to
// be so, as waiting for it could last for ever.

// atLeast reports whether the resourceVersion have is want or later. If one of
// them is not a number they cannot be compared, and the answer is yes, except for
// the empty version of a source that has not listed.
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

// compareVersions orders two resourceVersions if both are numbers, of any
// length.
// They are compared as text, as a version need not fit an integer: of two numbers
// without leading zeros, the longer one is greater.
func compareVersions(a, b string) (order int, comparable bool) {
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b), true
	}
	return strings.Compare(a, b), true
}

// isNumber reports whether s consists of decimal digits.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
