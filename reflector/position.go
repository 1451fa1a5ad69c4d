package reflector

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// defaultPage is the size of pages that the server reads from etcd.
const defaultPage = 500

// position holds the rules for resourceVersions and page sizes.
type position struct {
	// rv is the point up to which the sink has been told.
	rv string
	// lost says that the server does not know rv (any more, or yet), so that
	// the collection has to be read without one, from a quorum.
	lost bool
	// rewritten says that the server's history ends before rv: it is not the
	// one that rv belongs to, and its versions may be old numbers for new
	// states.
	rewritten bool
	// uncached says that the server has paged a list that a watch cache would
	// have answered in one piece, so there is none, and big answers hurt.
	uncached bool
}

// resumable says whether a watch can go on from rv. A server that gives no
// resourceVersion, or 0, names no point in the history.
func (p *position) resumable() bool { return p.rv != "" && p.rv != "0" }

// list returns the options for the first page of a list.
func (p *position) list(pageSize int64) metav1.ListOptions {
	var o metav1.ListOptions
	switch {
	case p.lost:
		o.ResourceVersion = ""
	case p.rv == "":
		o.ResourceVersion = "0" // whatever the watch cache has
	default:
		o.ResourceVersion = p.rv // or newer: never back in time
	}
	switch {
	case pageSize > 0:
		o.Limit = pageSize
	case p.uncached:
		o.Limit = defaultPage
	case o.ResourceVersion == "" || o.ResourceVersion == "0":
		o.Limit = defaultPage // ignored by a watch cache
	}
	return o
}

// watchList returns the options for a watch with initial events.
func (p *position) watchList() metav1.ListOptions {
	yes := true
	o := metav1.ListOptions{
		SendInitialEvents:    &yes,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	}
	if !p.lost {
		o.ResourceVersion = p.rv
	}
	return o
}

// watch returns the options for a watch that goes on.
func (p *position) watch() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: p.rv, AllowWatchBookmarks: true}
}

// probe returns the options for a list that costs next to nothing and fails if
// the server does not know rv.
func (p *position) probe() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: p.rv, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 1}
}

// note looks whether an error says that rv is not to be had.
func (p *position) note(err error) (lost bool) {
	switch Classify(err) {
	case ClassFuture:
		p.rewritten = true
		return true
	case ClassExpired:
		return true
	}
	return false
}

// synced notes that the collection has been read as of rv.
func (p *position) synced(rv string) { p.rv, p.lost, p.rewritten = rv, false, false }
