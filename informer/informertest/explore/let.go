package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// let lets one request through, with what the schedule has for it.
func (r *run) let(rq *request) {
	r.mu.Lock()
	now := time.Now()
	refused := rq.Resource == "leases" && now.Before(rq.process.leases)
	if rq.Verb == "list" || rq.Verb == "watch" {
		refused = refused || slices.ContainsFunc(r.gaps, func(g gap) bool { return g.resource == rq.Resource })
	}
	lagging := slices.IndexFunc(r.lags, func(l lag) bool { return l.resource == rq.Resource })
	var l lag
	if lagging >= 0 {
		l = r.lags[lagging]
	}
	r.mu.Unlock()
	switch {
	case refused:
		rq.done <- answer{err: errRefused}
	case rq.writes():
		r.write(rq)
	case rq.Verb == "watch" && l.refuse && rq.http.URL.Query().Get("sendInitialEvents") == "true":
		rq.done <- answer{response: statusResponse(rq.http, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")}
	case rq.Verb == "watch":
		r.watch(rq)
	default:
		if query := rq.http.URL.Query(); lagging >= 0 && rq.Verb == "list" {
			if stale, ok := l.staleQuery(query); ok {
				if rec := r.serve(rq.forServer(stale)); rec.code == http.StatusOK {
					r.read(rq, rec, fmt.Sprintf(" as of version %d", l.at))
					return
				}
			}
		}
		r.read(rq, r.serve(rq.forServer(nil)), "")
	}
}

// serve lets the server answer.
func (r *run) serve(hr *http.Request) *recorder {
	rec := &recorder{header: http.Header{}}
	r.server.ServeHTTP(rec, hr)
	return rec
}

// read answers a request that changes nothing.
func (r *run) read(rq *request, rec *recorder, note string) {
	r.mu.Lock()
	r.logged(rq, "", rec.code)
	rq.process.view.answer(rq, rec)
	if rq.Verb == "get" && rq.Resource != "" && !rq.housekeeping() {
		r.rules.readBy(r, rq)
	}
	if r.detail && rq.Verb == "list" || note != "" {
		kind := eventSeen
		if note != "" {
			kind = eventFault // the effect of one
		}
		r.note(event{who: rq.process.name, kind: kind, text: fmt.Sprintf("lists %s%s → %d", rq.Resource, note, rec.code)})
	}
	r.mu.Unlock()
	rq.done <- answer{response: rec.respond(rq.http)}
}

// logged notes a request for the comparison of two runs.
func (r *run) logged(rq *request, name string, code int) {
	if len(r.log) < maxLog {
		r.log = append(r.log, rq.order()+name+" "+strconv.Itoa(code))
	}
}

// maxLog bounds what of a run is compared.
const maxLog = 5000

// watch opens a watch.
func (r *run) watch(rq *request) {
	s, resp := r.open(rq, nil)
	r.mu.Lock()
	r.logged(rq, "", resp.StatusCode)
	if s != nil {
		r.opened++
		s.number = r.opened
		r.streams = append(r.streams, s)
		rq.process.view.watches(rq)
	}
	r.mu.Unlock()
	rq.done <- answer{response: resp}
}

// write carries out a write, with the faults of its place.
func (r *run) write(rq *request) {
	counts := !rq.housekeeping() && (r.opts.Ignore == nil || !r.opts.Ignore(rq.Request))
	var due []fault
	r.mu.Lock()
	if counts && !r.stopping {
		r.writesN++
		due = r.dueLocked('w', r.writesN)
	}
	r.mu.Unlock()
	for _, f := range due {
		if gone := r.before(rq, f); gone {
			return
		}
	}
	if code, refused := r.refuses(rq, counts); refused {
		r.mu.Lock()
		r.logged(rq, "", code.StatusCode)
		r.note(event{who: rq.process.name, kind: eventWrite, text: fmt.Sprintf("%s → refused with %d", rq.String(), code.StatusCode), write: r.writesN})
		r.mu.Unlock()
		rq.done <- answer{response: code}
		return
	}
	r.carryOut(rq, due, counts)
}

// String is the request as a trace shows it.
func (rq *request) String() string {
	return Write{Verb: rq.Verb, Resource: rq.gvr(), Subresource: rq.Subresource, Namespace: rq.Namespace, Name: rq.Name}.String()
}

// before does what a fault does before the write, and reports whether the request is gone.
func (r *run) before(rq *request, f fault) (gone bool) {
	p := rq.process
	r.mu.Lock()
	defer r.mu.Unlock()
	say := func(format string, args ...any) {
		r.note(event{who: "fault", kind: eventFault, text: f.String() + ": " + fmt.Sprintf(format, args...)})
	}
	switch f.kind {
	case crashBefore:
		say("%s crashes before it can %v", p.name, rq)
		r.killLocked(p)
		return true
	case stopBefore:
		say("the context of %s ends before it can %v", p.name, rq)
		r.stopLocked(p)
		r.waiting = append(r.waiting, rq)
		r.mu.Unlock()
		synctest.Wait() // a client that gives up withdraws the request
		r.mu.Lock()
		still := slices.Contains(r.waiting, rq)
		r.waiting = slices.DeleteFunc(r.waiting, func(x *request) bool { return x == rq })
		return !still
	case lagging:
		say("events of %s are held back for %v, from before %v", f.resource, disturbance, rq)
		r.lags = append(r.lags, lag{resource: f.resource, at: r.version(), until: time.Now().Add(disturbance)})
	case leaseCut:
		say("%s cannot reach its lease for %v", p.name, disturbance)
		p.leases = time.Now().Add(disturbance)
	case partition:
		say("%s cannot reach the server for %v", p.name, disturbance)
		p.everything = time.Now().Add(disturbance)
		r.waiting = append(r.waiting, rq)
		return true
	case internal, unavailable, tooMany:
		say("%d writes are refused", f.count())
		r.refusals = append(r.refusals, refusal{kind: f.kind, left: f.count()})
	case denied, overQuota:
		say("%s of %s is refused for %v", rq.Verb, rq.Resource, disturbance)
		r.refusals = append(r.refusals, refusal{kind: f.kind, until: time.Now().Add(disturbance), verb: rq.Verb, resource: rq.Resource})
	case earlyStep:
		r.mu.Unlock()
		for range f.count() {
			if r.step == nil || r.step.do == nil {
				break
			}
			r.mu.Lock()
			say("users act before %s can %v", p.name, rq)
			r.mu.Unlock()
			r.userStep()
		}
		r.mu.Lock()
	case conflicting:
		r.mu.Unlock()
		r.touch(rq, f)
		r.mu.Lock()
	case replaced:
		r.mu.Unlock()
		r.replace(rq, f)
		r.mu.Lock()
	}
	return false
}

// touch lets another writer change the object of a write just before it.
func (r *run) touch(rq *request, f fault) {
	if rq.Name == "" {
		return
	}
	err := r.server.Modify(rq.gvr(), rq.Namespace, rq.Name, func(obj *unstructured.Unstructured) {
		notes := obj.GetAnnotations()
		if notes == nil {
			notes = map[string]string{}
		}
		notes["explore/touched"] = strconv.Itoa(r.writesN)
		obj.SetAnnotations(notes)
	})
	if err == nil {
		r.changed("fault", fmt.Sprintf("%v: another writer annotates %s %s", f, rq.Resource, objectName(rq.Namespace, rq.Name)))
	}
}

// replace lets users delete the object of a write and create it again, if it is theirs.
func (r *run) replace(rq *request, f fault) {
	if rq.Name == "" {
		return
	}
	obj, err := r.server.Get(rq.gvr(), rq.Namespace, rq.Name)
	if err != nil || r.rules.creators[string(obj.GetUID())] != "" || obj.GetDeletionTimestamp() != nil {
		return
	}
	if err := r.server.Delete(rq.gvr(), rq.Namespace, rq.Name); err != nil {
		return
	}
	d := &deleted{fault: f, resource: rq.gvr(), last: obj}
	if _, err := r.server.Get(rq.gvr(), rq.Namespace, rq.Name); err == nil {
		r.deleted = append(r.deleted, d)
		r.changed("fault", fmt.Sprintf("%v: users delete %v, which is marked until it may go", f, d))
		return
	}
	r.createAgain(d, "users delete "+d.String()+" and create it again")
}

// deleted is an object that users have deleted, and create again when it is gone: finalizers, or pods that end, hold it.
type deleted struct {
	fault    fault
	resource schema.GroupVersionResource
	last     *unstructured.Unstructured // as it was before it went
}

func (d *deleted) String() string {
	return d.resource.Resource + " " + objectName(d.last.GetNamespace(), d.last.GetName())
}

// recreate creates one deleted object that is gone now, and reports whether there was one.
func (r *run) recreate() bool {
	for i, d := range r.deleted {
		switch now, err := r.server.Get(d.resource, d.last.GetNamespace(), d.last.GetName()); {
		case err == nil && now.GetUID() == d.last.GetUID():
			d.last = now
			continue
		case isGone(err):
			r.createAgain(d, "users create "+d.String()+" again")
		}
		r.deleted = slices.Delete(r.deleted, i, i+1) // if it exists, another writer has created it
		return true
	}
	return false
}

// createAgain creates an object that has been deleted.
func (r *run) createAgain(d *deleted, text string) {
	fresh := d.last.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "finalizers", "ownerReferences"} {
		unstructured.RemoveNestedField(fresh.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(fresh.Object, "status")
	if err := r.server.Create(fresh); err != nil {
		r.mistake = fmt.Errorf("explore: %v: %w", d.fault, err)
		return
	}
	r.changed("fault", fmt.Sprintf("%v: %s", d.fault, text))
}

// refuses answers a write that is refused.
func (r *run) refuses(rq *request, counts bool) (*http.Response, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.refusals, func(x refusal) bool { return x.verb == "" || x.verb == rq.Verb && x.resource == rq.Resource })
	if !counts || i < 0 {
		return nil, false
	}
	kind := r.refusals[i].kind
	if r.refusals[i].left > 0 {
		if r.refusals[i].left--; r.refusals[i].left == 0 {
			r.refusals = slices.Delete(r.refusals, i, i+1)
		}
	}
	r.lastWork = time.Now()
	gr := schema.GroupResource{Group: rq.Group, Resource: rq.Resource}
	var err error
	switch kind {
	case tooMany:
		err = apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", 1)
	case internal:
		err = apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	case unavailable:
		err = apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	case denied:
		err = apierrors.NewForbidden(gr, rq.Name, errors.New(`admission webhook "explore" denied the request`))
	case overQuota:
		err = apierrors.NewForbidden(gr, rq.Name, errors.New("exceeded quota: explore"))
	}
	status := err.(apierrors.APIStatus).Status()
	return respondStatus(rq.http, status), true
}

func statusResponse(hr *http.Request, code int32, reason metav1.StatusReason, message string) *http.Response {
	return respondStatus(hr, metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
}

func respondStatus(hr *http.Request, status metav1.Status) *http.Response {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status always has a JSON form
	}
	rec := &recorder{header: http.Header{"Content-Type": {"application/json"}}, code: int(status.Code)}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		rec.header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	_, _ = rec.body.Write(body) // a buffer takes everything
	return rec.respond(hr)
}

// carryOut lets the server carry out a write, looks at what it did, and answers.
func (r *run) carryOut(rq *request, due []fault, counts bool) {
	w := Write{By: rq.process.name, Verb: rq.Verb, Resource: rq.gvr(), Subresource: rq.Subresource, Namespace: rq.Namespace, Name: rq.Name}
	if w.Name != "" {
		w.Before, _ = r.server.Get(w.Resource, w.Namespace, w.Name) // nil if there is none
	}
	version := r.server.ResourceVersion()
	rec := r.serve(rq.forServer(nil))
	w.Code = rec.code
	if w.Verb == "create" && w.Subresource == "" && rec.code < 300 {
		w.Namespace, w.Name = nameIn(rec.body.Bytes())
	}
	if w.Name != "" {
		w.After, _ = r.server.Get(w.Resource, w.Namespace, w.Name)
	}
	effective := r.server.ResourceVersion() != version

	r.mu.Lock()
	if r.detail && counts {
		r.noteWrite(w, rq.missing)
	}
	r.logged(rq, w.Name, rec.code)
	r.rules.wrote(r, rq, w, counts, effective)
	if counts {
		r.writes = append(r.writes, w)
		if effective {
			r.lastWork = time.Now()
		}
	}
	a := answer{response: rec.respond(rq.http)}
	for _, f := range due {
		say := func(format string, args ...any) {
			r.note(event{who: "fault", kind: eventFault, text: f.String() + ": " + fmt.Sprintf(format, args...)})
		}
		switch f.kind {
		case lostAnswer:
			say("%s gets no answer to this write: its connection breaks", rq.process.name)
			a = answer{err: errReset}
		case timeoutAfter:
			say("%s gets 504 for this write", rq.process.name)
			a = answer{response: statusResponse(rq.http, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "request did not complete within the allotted timeout")}
		case crashAfter:
			say("%s crashes before it gets the answer", rq.process.name)
			r.killLocked(rq.process)
		case staleRestart:
			say("%s crashes; its next life gets %s from a cache %d changes behind, for %v", rq.process.name, f.resource, f.count(), disturbance)
			if at := r.past(f.resource, f.count()); at > 0 {
				r.lags = append(r.lags, lag{resource: f.resource, at: at, until: time.Now().Add(disturbance), refuse: true})
			}
			r.killLocked(rq.process)
		}
	}
	if a.err == nil && a.response.StatusCode == rec.code {
		rq.process.view.answer(rq, rec)
	}
	r.mu.Unlock()
	rq.done <- a
	if effective && counts {
		r.always()
	}
}

// past is the version before the last n changes of a resource that any process has seen.
func (r *run) past(resource string, n int) uint64 {
	all := r.versions[resource]
	if len(all) == 0 {
		return 0
	}
	return all[max(len(all)-n, 0)] - 1
}

// isGone reports whether an error says that an object does not exist.
func isGone(err error) bool { return apierrors.IsNotFound(err) }
