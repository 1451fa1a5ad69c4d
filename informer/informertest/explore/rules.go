package explore

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The rules, by the names that findings have for them. README.md has the table.
const (
	ruleAlways      = "always"
	ruleEventually  = "eventually"
	ruleSteps       = "never-quiet"
	ruleWriteLoop   = "write-loop"
	ruleHotLoop     = "hot-loop"
	ruleSilent      = "fails-for-ever"
	rulePanic       = "panic"
	ruleStart       = "start"
	ruleGrace       = "grace"
	ruleLeak        = "leak"
	ruleOrphan      = "orphan"
	ruleDeadOwner   = "dead-owner"
	rulePutBack     = "put-back"
	ruleWrongObject = "wrong-object"
	ruleLeadership  = "leadership"
)

// Bounds of the rules about repetition: how often one request may be repeated while
// nothing else changes.
const (
	mostWrites   = 40
	mostReads    = 500
	mostFailures = 12
	// mostForDead is how often something may be created for an owner that is gone. Once is a race
	// that a controller cannot win.
	mostForDead = 5
)

// rules watches the writes of the controller for what is wrong whatever the subject is
// for. Guarded by run.mu.
type rules struct {
	creators map[string]string // the process that created an object, by UID
	created  []creation
	own      map[string]bool // the versions that the controller has written
	// Repeated requests, since something else than the controller changed something.
	writes, reads map[string]int
	failures      map[string]attempt
	bursts        map[string]burst
	// spoke is set when the controller reported something in an event or a status.
	spoke bool
	// holders are the replicas that hold leases; seen are all leases.
	holders map[objectKey]string
	before  map[objectKey][]string
	forDead map[string]attempt // creations for owners that are gone, by UID of the owner
	// usual is how many ownerless objects the run without faults left, by resource.
	usual map[string]int
	left  map[string]int
}

// burst counts equal writes that follow each other quickly, also while faults last.
type burst struct {
	since  time.Time
	writes int
}

// burstTime is for how long they are counted.
const burstTime = 5 * time.Second

// attempt counts failures of one write, since the first one, or creations for one owner, since the latest one.
type attempt struct {
	since time.Time
	times int
}

// creation is an object that the controller has created.
type creation struct {
	gvr             schema.GroupVersionResource
	namespace, name string
	uid             string
}

func newRules() rules {
	ru := rules{creators: map[string]string{}, own: map[string]bool{}, holders: map[objectKey]string{}, before: map[objectKey][]string{}, forDead: map[string]attempt{}, left: map[string]int{}}
	ru.reset()
	return ru
}

// reset begins the counts from scratch: something has changed that is not the controller's.
func (ru *rules) reset() {
	ru.writes, ru.reads, ru.failures, ru.spoke = map[string]int{}, map[string]int{}, map[string]attempt{}, false
	ru.bursts = map[string]burst{}
}

// calmLocked reports whether users and faults have ended, so that the controller should come to rest.
func (r *run) calmLocked() bool {
	return r.actOver && r.step == nil && !r.disturbedLocked() && !r.stopping
}

// String is the object as a trace shows it.
func (k objectKey) String() string { return k.resource + " " + objectName(k.namespace, k.name) }

// readBy looks at a get.
func (ru *rules) readBy(r *run, rq *request) {
	if !r.calmLocked() {
		return
	}
	key := rq.process.name + rq.key().String()
	if ru.reads[key]++; ru.reads[key] > mostReads {
		r.failLocked(ruleHotLoop, fmt.Sprintf("%s has read %v %d times although nothing changes", rq.process.name, rq.key(), ru.reads[key]))
	}
}

// wrote looks at a write.
func (ru *rules) wrote(r *run, rq *request, w Write, counts, effective bool) {
	if rq.Resource == "leases" {
		ru.lease(rq, w)
		return
	}
	if rq.Resource == "events" || w.Subresource == "status" && effective {
		ru.spoke = true
	}
	if !counts {
		return
	}
	ok := w.Code < http.StatusMultipleChoices
	if ok {
		ru.leadership(r, rq, w)
		ru.putBack(r, rq, w)
		ru.wrongObject(r, rq, w)
	}
	if w.After != nil && effective {
		ru.own[w.After.GetResourceVersion()] = true
	}
	if ok && w.Verb == "create" && w.After != nil && w.Subresource == "" {
		uid := string(w.After.GetUID())
		ru.creators[uid] = w.By
		ru.created = append(ru.created, creation{w.Resource, w.Namespace, w.Name, uid})
		ru.deadOwner(r, rq, w)
	}
	ru.repeated(r, w, ok)
}

// repeated counts equal writes.
func (ru *rules) repeated(r *run, w Write, ok bool) {
	key := w.String()
	b := ru.bursts[key]
	if time.Since(b.since) > burstTime {
		b = burst{since: time.Now()}
	}
	if b.writes++; b.writes >= mostWrites {
		r.failLocked(ruleWriteLoop, fmt.Sprintf("%s has made the write %v %d times within %v, and nothing else changes", w.By, w, b.writes, burstTime))
	}
	ru.bursts[key] = b
	if !r.calmLocked() {
		return
	}
	if ok {
		delete(ru.failures, key)
		if ru.writes[key]++; ru.writes[key] >= mostWrites {
			r.failLocked(ruleWriteLoop, fmt.Sprintf("%s has made the write %v %d times although nothing else changes", w.By, w, ru.writes[key]))
		}
		return
	}
	f := ru.failures[key]
	if f.times++; f.times == 1 {
		f.since = time.Now()
	}
	ru.failures[key] = f
	// A cache may need a minute to come back when its watch can be opened again.
	if f.times >= mostFailures && time.Since(f.since) >= calmTime && !ru.spoke {
		r.failLocked(ruleSilent, fmt.Sprintf("%s has failed %d times in a row (%v → %d), with no event and no status that says so", w.By, f.times, w, w.Code))
	}
}

// lease notes who holds a lease.
func (ru *rules) lease(rq *request, w Write) {
	if w.Code >= http.StatusMultipleChoices || w.After == nil {
		return
	}
	holder, _, _ := unstructured.NestedString(w.After.Object, "spec", "holderIdentity")
	key := objectKey{"leases", w.Namespace, w.Name}
	if holder == "" {
		ru.holders[key] = ""
		return
	}
	ru.holders[key] = rq.process.name
	if !slices.Contains(ru.before[key], rq.process.name) {
		ru.before[key] = append(ru.before[key], rq.process.name)
	}
}

// leadership finds writes of a process that has lost the one lease there is.
func (ru *rules) leadership(r *run, rq *request, w Write) {
	if len(ru.holders) != 1 {
		return
	}
	for key, holder := range ru.holders {
		me := rq.process.name
		if holder != "" && holder != me && slices.Contains(ru.before[key], me) {
			r.failLocked(ruleLeadership, fmt.Sprintf("%s has made the write %v after %s had taken over lease %s", me, w, holder, objectName(key.namespace, key.name)))
		}
	}
}

// wrongObject finds deletions of an object that has taken the name of the one that the
// process knows.
func (ru *rules) wrongObject(r *run, rq *request, w Write) {
	if w.Verb != "delete" || w.Before == nil || w.Subresource != "" {
		return
	}
	uid := string(w.Before.GetUID())
	known := rq.process.view.uids[rq.key()]
	if len(known) > 0 && !slices.Contains(known, uid) && ru.creators[uid] != w.By {
		r.failLocked(ruleWrongObject, fmt.Sprintf("%s has deleted %v, which it has never seen: it knows an earlier object of that name (no UID precondition)", w.By, rq.key()))
	}
}

// deadOwner finds creations for an owner that is gone, one after another: the garbage collector
// deletes each of them, and that starts the next reconcile.
func (ru *rules) deadOwner(r *run, rq *request, w Write) {
	ref := metav1.GetControllerOf(w.After)
	if ref == nil {
		return
	}
	owner, gone := rq.process.view.ownerGone(r, w.Namespace, ref)
	if !gone {
		return
	}
	a := ru.forDead[string(ref.UID)]
	if time.Since(a.since) < othersTime/2 { // part of the same reconcile
		return
	}
	a.since, a.times = time.Now(), a.times+1
	ru.forDead[string(ref.UID)] = a
	if a.times >= mostForDead {
		r.failLocked(ruleDeadOwner, fmt.Sprintf("%s has created %s %d times for %v, which is gone: the garbage collector deletes them, and it creates them again (ask the server, not the cache, before creating)",
			w.By, w.Resource.Resource, a.times, owner))
	}
}

// putBack finds values that a process writes over a newer one of another writer, which it
// has not seen.
func (ru *rules) putBack(r *run, rq *request, w Write) {
	if w.Verb != "update" && w.Verb != "patch" || w.Before == nil || w.After == nil || ru.own[w.Before.GetResourceVersion()] ||
		strings.HasPrefix(rq.http.Header.Get("Content-Type"), "application/apply-patch") {
		return
	}
	seen := rq.process.view.objects[rq.key()]
	version, err := strconv.ParseUint(w.Before.GetResourceVersion(), 10, 64)
	if err != nil || seen.version >= version {
		return
	}
	old := seen.decoded()
	if old == nil || old.GetUID() != w.Before.GetUID() {
		return
	}
	had, has, now := leaves(old), leaves(w.Before), leaves(w.After)
	for _, path := range slices.Sorted(maps.Keys(union(had, has))) {
		if !same(had[path], has[path]) && same(had[path], now[path]) {
			r.failLocked(rulePutBack, fmt.Sprintf("%s has put %s of %v back to %s; another writer had set it to %s, which %s has not seen",
				w.By, path, rq.key(), valueText(had[path]), valueText(has[path]), w.By))
			return
		}
	}
}

// final looks at what is left when all is over.
func (ru *rules) final(r *run) {
	if err := r.server.CollectGarbage(); err != nil {
		r.mistake = err
		return
	}
	example := map[string]string{}
	for _, c := range ru.created {
		obj, err := r.server.Get(c.gvr, c.namespace, c.name)
		if err != nil || string(obj.GetUID()) != c.uid || len(obj.GetOwnerReferences()) > 0 {
			continue
		}
		ru.left[c.gvr.Resource]++
		example[c.gvr.Resource] = objectName(c.namespace, c.name)
	}
	if ru.usual == nil {
		return // the run without faults
	}
	for _, resource := range slices.Sorted(maps.Keys(ru.left)) {
		if n := ru.left[resource]; n > ru.usual[resource] {
			r.failLocked(ruleOrphan, fmt.Sprintf("%d %s of the controller that nothing owns are left, such as %s; without faults there are %d", n, resource, example[resource], ru.usual[resource]))
		}
	}
}

// leaves are the values of an object by their paths. Lists count as values. What the
// server keeps itself is left out.
func leaves(obj *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch path {
		case ".metadata.resourceVersion", ".metadata.generation", ".metadata.managedFields", ".kind", ".apiVersion":
			return
		}
		if m, ok := v.(map[string]any); ok {
			for k, v := range m {
				walk(path+"."+k, v)
			}
			return
		}
		out[path] = v
	}
	walk("", obj.Object)
	return out
}

func union(a, b map[string]any) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// same compares two values of JSON: numbers may have been read as different Go types.
func same(a, b any) bool {
	return reflect.DeepEqual(a, b) || valueText(a) == valueText(b)
}
