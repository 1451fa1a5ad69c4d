package reflector

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxQuarantine bounds how many quarantined objects Health names.
	maxQuarantine = 100
	// minQuarantine is the shortest first wait before a relist: a bad object that is
	// in every watch must not keep the server busy.
	minQuarantine = time.Second
	// maxRetryShift bounds how often the wait before a relist doubles.
	maxRetryShift = 6
	// maxNamed is how many objects of a list the summary in the log names.
	maxNamed = 5
)

// quarantine plans the relist that makes up for lost events.
type quarantine struct {
	due   time.Time // when to relist; zero if no event is lost
	shift int32     // how often the wait has doubled
	named bool      // Health names objects
}

// lose notes that an event could not be delivered.
func (r *Reflector[T]) lose() {
	if q := &r.quarantine; q.due.IsZero() {
		first := max(r.opts.Timeouts.QuarantineRetry, minQuarantine)
		q.due = time.Now().Add(min(first, math.MaxInt64>>q.shift) << q.shift)
	}
}

// report logs and counts an object of an event that could not be decoded or
// transformed.
func (r *Reflector[T]) report(oe *ObjectError) {
	r.warn("quarantine "+string(oe.Class), "an object cannot be read and is in quarantine",
		"object", oe.Key, "resourceVersion", oe.ResourceVersion, "position", oe.Position, "error", oe.Err)
	r.hold(oe)
}

// hold puts an object into the quarantine.
func (r *Reflector[T]) hold(oe *ObjectError) {
	r.quarantine.named = true
	r.status.update(func(h *Health) {
		h.Quarantined++
		h.Quarantine = slices.DeleteFunc(h.Quarantine, func(o *ObjectError) bool {
			return oe.Key.Name != "" && o.Key == oe.Key
		})
		if len(h.Quarantine) < maxQuarantine {
			h.Quarantine = append(h.Quarantine, oe)
		}
	})
	r.opts.Metrics.Quarantined(oe.Class)
	if r.opts.OnQuarantine != nil {
		r.opts.OnQuarantine(oe)
	}
}

// release takes an object out of the quarantine after good news of it.
func (r *Reflector[T]) release(key types.NamespacedName) {
	if !r.quarantine.named { // as nearly always
		return
	}
	r.status.update(func(h *Health) {
		h.Quarantine = slices.DeleteFunc(h.Quarantine, func(o *ObjectError) bool { return o.Key == key })
		r.quarantine.named = len(h.Quarantine) > 0
	})
}

// requarantine replaces the quarantine by the objects that a reading of the collection has
// found unreadable. It makes up for every loss so far.
func (r *Reflector[T]) requarantine(bad []*ObjectError) {
	q := &r.quarantine
	if q.due.IsZero() {
		q.shift = 0
	} else {
		q.shift = min(q.shift+1, maxRetryShift)
	}
	q.due = time.Time{}
	if q.named {
		q.named = false
		r.status.update(func(h *Health) { h.Quarantine = nil })
	}
	if len(bad) == 0 {
		return
	}
	for _, oe := range bad {
		r.hold(oe)
	}
	classes, first := summary(bad)
	r.warn("quarantine list", "objects of a list cannot be read and are in quarantine",
		"quarantined", len(bad), "classes", classes, "first", first, "error", bad[0].Err)
}

// summary says in short which objects of a list are unreadable: how many of each
// class, and the names of the first ones.
func summary(bad []*ObjectError) (classes, first string) {
	var names, counts []string
	count := map[ErrorClass]int{}
	for _, oe := range bad {
		if count[oe.Class]++; len(names) < maxNamed {
			names = append(names, oe.name())
		}
	}
	for _, class := range slices.Sorted(maps.Keys(count)) {
		counts = append(counts, fmt.Sprintf("%s %d", class, count[class]))
	}
	return strings.Join(counts, ", "), strings.Join(names, ", ")
}
