package reflector

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/informerkit/informerkit/internal/object"
)

// A server that was restored from a backup may have been written to until its history has
// reached the versions that clients remember. It knows the version of a resumed watch then, but
// what happened before that version is not what the sink has: objects are missing, and others
// are ghosts. So after a broken connection the server is also asked for a few objects by name:
//
//	broken, resumed ──1–2 s──▶ ask for an object ── as in the sink ──▶ ask for the next one
//	                             │ differs
//	                             ▼
//	          an event about it? ──▶ it was on its way
//	          an event past the answer, or none for lasting, and it still differs? ──▶ relist
//
// The events of a watch come in the order of their versions. So once the watch is past the
// version of the answer, a difference without an event is a proof, however busy the server is.
const (
	// lasting is how long a difference must last where no event gets past the answer.
	lasting = 10 * time.Second
	// reserve is how many requests of the allowance are left for watches by the first look
	// and by the second one at the same object. All others leave more than half.
	reserve = 2
	// maxLooks is how many requests are made per watch, or one more.
	maxLooks = 8
)

// contents is implemented by a [Known] sink whose objects can be iterated over.
type contents interface {
	// Contents returns how to look up and how to iterate over what the sink has at present, or
	// had a moment ago.
	Contents() (get func(types.NamespacedName) (metav1.Object, bool), all iter.Seq[metav1.Object])
}

// objectVersion is a version of an object; the zero value is none.
type objectVersion struct {
	uid types.UID
	rv  string
}

// sample is an object that the sink had when a watch began.
type sample struct {
	key   types.NamespacedName
	band  int
	held  objectVersion
	moved atomic.Bool // an event about it has been delivered since
}

// bands are the parts of a collection, by the ranks of its versions, that one object each is
// asked for of: the two newest ones, which a backup is most likely not to have, one of the next
// dozen, and one of all others. Several are drawn, as those that are written all the time are
// no use.
var bands = []struct{ low, high, draws int }{{0, 1, 1}, {1, 2, 1}, {2, 14, 4}, {14, math.MaxInt, 10}}

// numbered is an object by the number that is its version.
type numbered struct {
	key types.NamespacedName
	n   uint64
}

// sortNewestFirst is no method, so that a program compiles it once, and not with each of its packages.
func sortNewestFirst(objs []numbered) {
	slices.SortFunc(objs, func(a, b numbered) int { return cmp.Compare(b.n, a.n) })
}

// samples draws objects that the sink has. It is called while no method of the sink runs.
func (r *Reflector[T]) samples() (out []*sample) {
	all, ok := r.sink.(contents)
	known, isKnown := r.sink.(Known[T])
	quarantine := r.Health().Quarantine
	if !ok || !isKnown || len(quarantine) >= maxQuarantine {
		return nil
	}
	var objs []numbered
	_, each := all.Contents()
	for obj := range each {
		n, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
		objs = append(objs, numbered{types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, n})
	}
	sortNewestFirst(objs)
	for i, band := range bands {
		for range band.draws {
			if band.low >= len(objs) {
				break
			}
			key := objs[band.low+rand.IntN(min(band.high, len(objs))-band.low)].key
			// What is quarantined differs, and is read again anyway.
			if obj, ok := known.Known(key); ok && !object.IsNil(obj) && !slices.ContainsFunc(quarantine, func(oe *ObjectError) bool { return oe.Key == key }) {
				out = append(out, &sample{key: key, band: i, held: objectVersion{obj.GetUID(), obj.GetResourceVersion()}})
			}
		}
	}
	return out
}

// spotCheck asks for the samples of a watch that began at version rv. It returns an error if
// one differs for lack of an event, and whether it got to the end.
func (r *Reflector[T]) spotCheck(ctx context.Context, live *liveStream[T], rv string) (complete bool, err error) {
	source, ok := As[interface {
		Metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error)
	}](r.lw)
	if !ok {
		return true, nil
	}
	metadata, err := source.Metadata()
	if err != nil {
		return true, nil //nolint:nilerror // it cannot be asked
	}
	l := &look[T]{r: r, live: live, metadata: metadata, rv: rv}
	asked, left := -1, reserve+1
	for _, s := range live.samples {
		if s.band == asked || s.moved.Load() || l.asks >= maxLooks {
			continue
		}
		if l.asks > 0 {
			left = burst/2 + 1
			sleep(ctx, checkAfter/2+time.Duration(rand.Int64N(int64(checkAfter))))
		}
		differs, ok := l.differs(ctx, s, left)
		if !ok {
			return false, nil
		}
		if !s.moved.Load() { // else another one of the band is asked for
			asked = s.band
		}
		if differs {
			return false, fmt.Errorf("the server's %s is not the one that the watch has led to, and no event explains it; was etcd restored from a backup?", s.key)
		}
	}
	return true, nil
}

// look asks for single objects.
type look[T Object] struct {
	r        *Reflector[T]
	live     *liveStream[T]
	metadata ListerWatcher[*metav1.PartialObjectMetadata]
	rv       string
	asks     int
}

// differs reports whether the server has another version of an object than the sink, for lack
// of an event. It is not ok if that is not known.
func (l *look[T]) differs(ctx context.Context, s *sample, left int) (differs, ok bool) {
	if s.moved.Load() {
		return false, true
	}
	first, at, err := l.ask(ctx, s.key, left)
	if err != nil {
		return false, false
	}
	if first == s.held {
		return false, true
	}
	// An answer from before the watch began says nothing.
	if order, err := resourceversion.CompareResourceVersion(at, l.rv); err == nil && order < 0 {
		return false, false
	}
	for begun := time.Now(); time.Since(begun) < lasting || l.live.idle.Load().isHeld(); {
		sleep(ctx, time.Second)
		if ctx.Err() != nil || s.moved.Load() {
			return false, ctx.Err() == nil
		}
		order, err := resourceversion.CompareResourceVersion(l.r.status.read().ResourceVersion, at)
		if err == nil && order >= 0 {
			return !s.moved.Load(), true
		}
	}
	again, _, err := l.ask(ctx, s.key, reserve+1)
	moved := s.moved.Load()
	return err == nil && again == first && !moved, err == nil && (again == first || moved)
}

// ask lists the metadata of the objects of one name, of which there is one or none, at the
// version that the watch began at, or a newer one.
func (l *look[T]) ask(ctx context.Context, key types.NamespacedName, left int) (found objectVersion, at string, err error) {
	if !l.r.afford(ctx, left, new(atomic.Bool)) {
		return found, "", ctx.Err()
	}
	l.asks++
	l.r.status.update(func(h *Health) { h.Lists++ })
	named := fields.OneTermEqualSelector("metadata.name", key.Name)
	if key.Namespace != "" && l.r.namespace == "" {
		named = fields.AndSelectors(fields.OneTermEqualSelector("metadata.namespace", key.Namespace), named)
	}
	req := Request{ListOptions: metav1.ListOptions{
		FieldSelector: named.String(), ResourceVersion: l.rv, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}}
	err = l.r.single(ctx, func(ctx context.Context) error {
		meta, err := l.metadata.List(ctx, req, func(ev WatchEvent[*metav1.PartialObjectMetadata]) error {
			if ev.Err == nil && object.KeyOf(ev.Object) == key {
				found = objectVersion{ev.Object.UID, ev.Object.ResourceVersion}
			}
			return ev.Err
		})
		at = meta.ResourceVersion
		return err
	})
	return found, at, err
}
