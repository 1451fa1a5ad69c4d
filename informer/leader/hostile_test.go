package leader_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
)

const aLease = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1",`

// hostile are answers by which no replica may lead.
var hostile = map[string]informertest.Effect{
	"no rights":            informertest.Refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "lock", errors.New("no role"))),
	"no credentials":       informertest.Respond(401, "text/plain", "who are you"),
	"404 of a gateway":     informertest.Respond(404, "text/plain", "404 page not found"),
	"404, empty":           informertest.Respond(404, "", ""),
	"always a conflict":    informertest.Refuse(apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "lock", errors.New("changed"))),
	"invalid":              informertest.Refuse(apierrors.NewInvalid(schema.GroupKind{Kind: "Lease"}, "lock", nil)),
	"too busy, 1 s":        informertest.Refuse(apierrors.NewTooManyRequests("later", 1)),
	"too busy, an hour":    informertest.Refuse(apierrors.NewTooManyRequests("later", 3600)),
	"broken":               informertest.Respond(500, "text/html", "<h1>oops</h1>"),
	"unavailable":          informertest.Refuse(apierrors.NewServiceUnavailable("not yet")),
	"a redirect":           informertest.Respond(307, "text/plain", "elsewhere"),
	"a login page":         informertest.Respond(200, "text/html", "<html>log in</html>"),
	"no content":           informertest.Respond(204, "", ""),
	"an empty answer":      informertest.Respond(200, "application/json", ""),
	"half an answer":       informertest.Respond(200, "application/json", aLease+`"metadata":{"name":"lo`),
	"another kind":         informertest.Respond(200, "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"lock","namespace":"default"}}`),
	"a list":               informertest.Respond(200, "application/json", `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","items":[]}`),
	"nothing in it":        informertest.Respond(200, "application/json", aLease+`"metadata":{}}`),
	"another Lease":        informertest.Respond(200, "application/json", aLease+`"metadata":{"name":"other","namespace":"default","uid":"u","resourceVersion":"1"},"spec":{}}`),
	"another holder":       informertest.Respond(200, "application/json", aLease+`"metadata":{"name":"lock","namespace":"default","uid":"u","resourceVersion":"1"},"spec":{"holderIdentity":"another","leaseDurationSeconds":2147483647}}`),
	"a holder of a MB":     informertest.Respond(200, "application/json", aLease+`"metadata":{"name":"lock","namespace":"default","uid":"u","resourceVersion":"1"},"spec":{"holderIdentity":"`+strings.Repeat("x", 1<<20)+`","leaseDurationSeconds":15}}`),
	"an error of a MB":     informertest.Respond(500, "text/plain", strings.Repeat("x", 1<<20)),
	"an answer of 9 MB":    informertest.Respond(200, "application/json", aLease+`"metadata":{"name":"lock","namespace":"default","annotations":{"a":"`+strings.Repeat("x", 9<<20)+`"}}}`),
	"no answer":            informertest.Stall(),
	"a broken connection":  informertest.Drop(),
	"an answer that stops": informertest.CutBody(20),
}

// Whatever the server answers for ten minutes: no replica leads by it, and when it has gone one leads soon.
//
// Promise informer/leader/1
// Promise informer/leader/6
func TestPromise6NoAnswerEndsRunOrMakesALeader(t *testing.T) {
	for name, effect := range hostile {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				fault := informertest.Fault{Resource: "leases", Times: -1, Effect: effect}
				remove := w.server.Inject(fault)
				a, b := w.start("a"), w.start("b")
				time.Sleep(10 * time.Minute)
				assert.Nil(t, w.leader(), "candidates")
				remove()
				w.within(15*time.Second, "one leads", func() bool { return w.leader() != nil })
				time.Sleep(time.Minute)
				before := w.server.Count("", "leases")
				remove = w.server.Inject(fault)
				w.within(10*time.Second+time.Millisecond, "it stops", func() bool { return w.leader() == nil })
				time.Sleep(10 * time.Minute)
				assert.Nil(t, w.leader())
				assert.Less(t, w.server.Count("", "leases")-before, 2*600, "at most one request a second from each")
				assert.Less(t, len(w.logged()), 64<<10)
				remove()
				w.within(35*time.Second, "one leads again", func() bool { return w.leader() != nil })
				synctest.Wait()
				for _, r := range []*replica{a, b} {
					require.NoError(t, r.end())
				}
				assert.Empty(t, *w.lease().Spec.HolderIdentity, "released")
			})
		})
	}
}
