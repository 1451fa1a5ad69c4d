package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

// Reason is the class under which a reflector counts and reports a relist that an audit
// has asked for.
const Reason reflector.ErrorClass = "audit"

const (
	// settle is how long both sides of a difference must stay as they are. A watch
	// delivers a change within a second.
	settle = 10 * time.Second
	// steady is how long a watch must have been followed before the sink is compared.
	steady = 2 * time.Second
	// pageSize is the number of objects in a page, and pause the wait before the next
	// one; after a page that is nearly empty it is slowly, as such pages may never end.
	pageSize = 1000
	pause    = 100 * time.Millisecond
	slowly   = 10 * time.Second
	// stall is how long no byte of a page may arrive.
	stall = time.Minute
	// maxNamed is how many objects the error of a relist names.
	maxNamed = 5
)

// Audited is implemented by a sink whose contents can be read while its methods run. It
// must keep every object that it was given, and no other. That of an informer does.
type Audited interface {
	// Contents returns how to look up and how to iterate over what the sink has at
	// present. Both may be used on several goroutines at once, also while methods of the
	// Sink run, and go on returning objects of about the time of the call.
	Contents() (get func(types.NamespacedName) (metav1.Object, bool), all iter.Seq[metav1.Object])
}

type source = reflector.ListerWatcher[*metav1.PartialObjectMetadata]

// Every returns a [reflector.Options].Monitor that audits once per interval, give or take
// 5%. An hour is a good value. The source must be able to list metadata, as that of
// reflector.NewResource is, and the sink must be [Audited]; reflector.New reports if not.
func Every(interval time.Duration) func(reflector.Monitored) (func(context.Context), error) {
	return func(m reflector.Monitored) (func(context.Context), error) {
		if interval <= 0 {
			return nil, fmt.Errorf("audit: the interval is %v; it must be positive", interval)
		}
		sink, ok := m.Sink.(Audited)
		if !ok {
			return nil, fmt.Errorf("audit: the sink, a %T, does not implement Audited: there is nothing to compare with", m.Sink)
		}
		lister, ok := reflector.As[interface{ Metadata() (source, error) }](m.Source)
		if !ok {
			return nil, fmt.Errorf("audit: the source, a %T, cannot list metadata; use reflector.NewResource", m.Source)
		}
		metadata, err := lister.Metadata()
		if err != nil {
			return nil, err
		}
		a := &auditor{reflector: m, source: metadata, sink: sink, health: Health{Interval: interval}}
		m.Report(a.health)
		return a.run, nil
	}
}

// auditor audits one reflector. It belongs to the goroutine of run.
type auditor struct {
	reflector reflector.Monitored
	source    source
	sink      Audited
	health    Health
	// lasting are the differences for which the collection was read again, in vain. To
	// read it once more for the same would not help.
	lasting differences
}

// differences are objects of which the sink has not what the server has.
type differences map[types.NamespacedName]difference

// difference is what both sides have of an object.
type difference struct{ server, sink version }

// version is a version of an object; the zero value is none.
type version struct {
	uid types.UID
	rv  string
}

// versionOf returns the version of obj, if there is one.
func versionOf(obj metav1.Object, ok bool) version {
	if !ok {
		return version{}
	}
	return version{obj.GetUID(), obj.GetResourceVersion()}
}

// in returns the differences that are the same in both.
func (d differences) in(other differences) differences {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(key types.NamespacedName, diff difference) bool { return other[key] != diff })
	return out
}

// without returns the differences that are not the same in other.
func (d differences) without(other differences) differences {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(key types.NamespacedName, diff difference) bool { return other[key] == diff })
	return out
}

// run audits until ctx ends.
func (a *auditor) run(ctx context.Context) {
	for ctx.Err() == nil {
		// At random: all clients of a server that was restarted would audit at once.
		every := a.health.Interval
		sleep(ctx, every-every/20+time.Duration(rand.Int64N(int64(every)/10+1)))
		if err := a.audit(ctx); err != nil && ctx.Err() == nil {
			a.health.LastError, a.health.LastErrorTime = err, time.Now()
			a.reflector.Report(a.health)
			a.reflector.Logger.Warn("the audit of the cache failed, will retry", "error", err)
		}
	}
}

// audit compares, and has the collection read again if something is wrong.
func (a *auditor) audit(ctx context.Context) error {
	diff, n, err := a.look(ctx)
	if err != nil {
		return err
	}
	a.lasting = a.lasting.in(diff)
	found := diff.without(a.lasting)
	if len(found) > 0 {
		sleep(ctx, settle)
		if diff, n, err = a.look(ctx); err != nil {
			return err
		}
		a.lasting = a.lasting.in(diff)
		found = found.in(diff)
	}
	a.health.Last, a.health.Objects, a.health.Lasting = time.Now(), n, len(a.lasting)
	a.health.Audits++
	count(&a.health, found)
	a.reflector.Report(a.health)
	if len(found) > 0 {
		a.repair(ctx, found)
	}
	return nil
}

// repair has the collection read again, and waits for that.
func (a *auditor) repair(ctx context.Context, found differences) {
	var names []string
	for key := range found {
		names = append(names, strings.TrimPrefix(key.String(), "/"))
	}
	slices.Sort(names)
	err := fmt.Errorf("an audit found %d objects that differ from the server's, such as %s, and no event explains it; was etcd restored from a backup, or does the server resume watches without their events?",
		len(found), strings.Join(names[:min(len(names), maxNamed)], ", "))
	before := a.reflector.Health().LastSync
	for !a.reflector.Relist(Reason, err) && ctx.Err() == nil {
		sleep(ctx, time.Second) // no watch is open: one will be
	}
	for a.reflector.Health().LastSync.Equal(before) && ctx.Err() == nil {
		sleep(ctx, time.Second)
	}
	sleep(ctx, settle) // what was read is on its way to the sink
	get, _ := a.sink.Contents()
	for key, d := range found {
		if versionOf(get(key)) != d.sink {
			a.health.Repaired++
		}
	}
	if a.lasting == nil {
		a.lasting = differences{}
	}
	maps.Copy(a.lasting, found) // those that the next audit meets unchanged last
	a.reflector.Report(a.health)
}

// look returns what differs, and how many objects the server has. It compares while a
// watch is followed, and again if that has ended meanwhile.
func (a *auditor) look(ctx context.Context) (diff differences, n int, err error) {
	for ctx.Err() == nil {
		before := a.reflector.Health()
		if before.State != reflector.StateWatching || time.Since(before.Since) < steady {
			sleep(ctx, time.Second)
			continue
		}
		diff, n, err = a.compare(ctx, before.Quarantine)
		after := a.reflector.Health()
		if after.State == reflector.StateWatching && after.Since.Equal(before.Since) || err != nil {
			return diff, n, err
		}
		sleep(ctx, slowly)
	}
	return nil, 0, ctx.Err()
}

// compare lists the metadata and returns what differs from what the sink has at about
// that time.
func (a *auditor) compare(ctx context.Context, quarantine []*reflector.ObjectError) (diff differences, n int, err error) {
	diff = differences{}
	seen := map[types.NamespacedName]struct{}{}
	unnamed := false
	req := reflector.Request{ListOptions: metav1.ListOptions{Limit: pageSize}} // of the newest state, at one version
	for used := map[string]bool{}; ; {
		get, _ := a.sink.Contents()
		before := len(seen)
		req.Known = func(key types.NamespacedName, uid, rv []byte) any {
			if have, ok := get(key); ok && have.GetResourceVersion() == string(rv) && string(have.GetUID()) == string(uid) {
				return key
			}
			return nil
		}
		meta, err := a.page(ctx, req, func(ev reflector.WatchEvent[*metav1.PartialObjectMetadata]) error {
			var oe *reflector.ObjectError
			switch {
			case ev.Known != nil:
				seen[ev.Known.(types.NamespacedName)] = struct{}{} //nolint:forcetypeassert // as returned above
			case errors.As(ev.Err, &oe): // nothing is known to differ
				unnamed = unnamed || oe.Key.Name == ""
				seen[oe.Key] = struct{}{}
			case ev.Err != nil:
				return ev.Err
			default:
				key := types.NamespacedName{Namespace: ev.Object.Namespace, Name: ev.Object.Name}
				seen[key] = struct{}{}
				if d := (difference{versionOf(ev.Object, true), versionOf(get(key))}); d.server != d.sink {
					diff[key] = d
				}
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		if meta.Continue == "" {
			break
		}
		if used[meta.Continue] || len(seen) == before {
			return nil, 0, errors.New("the server answered with a page of metadata without new objects and with a continue token: it does not support limit and continue")
		}
		used[meta.Continue] = true
		req.ListOptions.Continue = meta.Continue
		if len(seen)-before < pageSize/2 {
			sleep(ctx, slowly)
		} else {
			sleep(ctx, pause)
		}
	}
	if _, all := a.sink.Contents(); !unnamed {
		for obj := range all {
			key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
			if _, ok := seen[key]; !ok {
				diff[key] = difference{sink: versionOf(obj, true)}
			}
		}
	}
	for _, oe := range quarantine { // known to differ, and read again anyway
		delete(diff, oe.Key)
	}
	return diff, len(seen), nil
}

// page lists one page. It fails if the server stalls.
func (a *auditor) page(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[*metav1.PartialObjectMetadata]) error) (metav1.ListMeta, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer silent.Stop()
	req.Arrived = func() { silent.Reset(stall) }
	meta, err := a.source.List(ctx, req, each)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return meta, err
}

var errStalled = errors.New("the server sent nothing for a minute")

// sleep returns after d or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
