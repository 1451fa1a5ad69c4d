package reflector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// defaultPage is the size of pages that the server reads from etcd.
const defaultPage = 500

// position holds the rules for resourceVersions and page sizes.
type position struct {
	// rv is the point up to which the sink has everything.
	rv string
	// gap says that the collection was read as of no version: what was deleted
	// before the watch began is not known, and rv no point to resume from.
	gap bool
	// lost says that the server does not know rv (any more, or yet), so that
	// the collection has to be read without one, which a server answers from etcd.
	lost bool
	// rewritten says that the server's history ends before rv: it is not the
	// one that rv belongs to, and its versions may be old numbers for new
	// states.
	rewritten bool
	// doubt says that the server may have lost rv: the last watch from it has
	// ended in a way that may have been a restart.
	doubt bool
	// uncached says that the server has paged a list that a watch cache would
	// have answered in one piece, so there is none, and big answers hurt.
	uncached bool
}

// resumable says whether a watch can go on from rv.
func (p *position) resumable() bool { return isVersion(p.rv) && !p.gap }

// isVersion says whether rv names a point in the history.
func isVersion(rv string) bool { return rv != "" && rv != "0" }

// advance notes that everything up to version has been delivered, and reports
// whether that is further than before. It never goes back: events out of order
// are delivered, but the newest of them is where to resume.
func (p *position) advance(version string) bool {
	if version == "" || version == p.rv {
		return false
	}
	// Versions that are no numbers have no order but that of their arrival.
	if order, err := resourceversion.CompareResourceVersion(version, p.rv); err == nil && order < 0 {
		return false
	}
	p.rv, p.doubt = version, false
	return true
}

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
	case !isVersion(o.ResourceVersion):
		o.Limit = defaultPage // ignored by a watch cache
	}
	if o.Limit > 0 && isVersion(o.ResourceVersion) {
		// With a limit and no match it would have to be that very version.
		o.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
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

// watch returns the options for a resumed watch.
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
	case classFuture:
		p.rewritten = true
		return true
	case ClassExpired:
		return true
	}
	return false
}

// refused says whether a list may have been rejected because of rv. A server
// rejects what is not one of its versions, such as one that was damaged on the way
// or comes from another kind of storage, and would always reject it.
func (p *position) refused(err error) bool {
	return isVersion(p.rv) && Classify(err) == classRejected
}

// removed notes that the resource does not exist any more. If it is created
// again, nothing of what was known of it holds.
func (p *position) removed() { *p = position{lost: true, uncached: p.uncached} }

// synced notes that the collection has been read as of rv.
func (p *position) synced(rv string) {
	*p = position{rv: rv, gap: !isVersion(rv), uncached: p.uncached}
}
