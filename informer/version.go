package informer

import "strings"

// reach notes that the changes of s are applied up to rv. An API server sends
// the events of a watch in the order of their versions. A source that does not,
// or a deletion that could not be read and has the version before it, must not
// take the cache back: else the version of a snapshot would depend on where its
// batch happened to end.
func (a *applier[T]) reach(s *source[T], rv string) {
	if rv == "" || rv == s.rv {
		return
	}
	order, comparable := compareVersions(rv, s.rv)
	switch {
	case comparable && order < 0:
		return
	case !comparable && s.rv != "":
		// Each step counts, as what the batch adopts in the end depends on it.
		a.batch.SetResourceVersion(a.inf.resourceVersion())
	}
	s.rv = rv
}

// resourceVersion returns how far the cache as a whole has got: the least
// version among those of its sources. It is called with applying held.
func (inf *Informer[T]) resourceVersion() string {
	if len(inf.sources) == 0 {
		return ""
	}
	rv := inf.sources[0].rv
	for _, s := range inf.sources[1:] {
		if !atLeast(s.rv, rv) {
			rv = s.rv
		}
	}
	return rv
}

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

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
