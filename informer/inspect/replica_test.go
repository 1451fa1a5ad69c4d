package inspect_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// The first line of the page, for each way in which a replica may be in trouble.
func TestPageSaysWhyAReplicaDoesNotWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
		member := stubReplica{
			Name: "shop", Parts: 4, Identity: "pod-1", Session: "pod-1-00000001", State: health.ReplicaMember, Sessions: 1, Quota: 2,
			LastRenewal: ago(time.Second), Deadline: ago(-9 * time.Second),
		}
		with := func(change func(s *stubReplica)) stubReplica {
			s := member
			change(&s)
			return s
		}
		watching := informer.Health{Sources: []informer.SourceHealth{{Reflector: reflector.Health{State: reflector.StateWatching, Synced: true}}}}
		for name, c := range map[string]struct {
			replica                            stubReplica
			severity, kind, sentence, says, do string
		}{
			"not started": {
				stubReplica{Name: "shop", Identity: "pod-1", State: health.ReplicaNew},
				"error", "not-started", "Replica pod-1 of group shop has not been started.", "", "Call Run",
			},
			"joining": {
				stubReplica{Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Leases: watching},
				"note", "no-session", "Replica pod-1 of group shop is joining its group.", "", "Wait",
			},
			"without rights": {
				stubReplica{
					Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Leases: watching,
					LastError: apierrors.NewForbidden(leases, "x", errors.New("no rights")), LastErrorTime: ago(0),
				},
				"error", "no-session", "Replica pod-1 of group shop is joining its group: requests fail.", "no rights", "Add the verbs get, list, watch, create, update and delete on leases",
			},
			"without a namespace": {
				stubReplica{
					Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Leases: watching,
					LastError: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), LastErrorTime: ago(0),
				},
				"error", "no-session", "Replica pod-1 of group shop is joining its group: requests fail.", `"shop" not found`, "Create the namespace of the Leases",
			},
			"with wrong credentials": {
				stubReplica{
					Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Leases: watching,
					LastError: apierrors.NewUnauthorized("who are you?"), LastErrorTime: ago(0),
				},
				"error", "no-session", "Replica pod-1 of group shop is joining its group: requests fail.", "who are you?", "Renew the credentials",
			},
			"with a session that was lost": {
				stubReplica{Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Sessions: 1, Leases: watching},
				"warning", "no-session", "Replica pod-1 of group shop has lost its session, and has no part until it has another.", "", "None, if it does not last",
			},
			"without a watch": {
				stubReplica{
					Name: "shop", Identity: "pod-1", State: health.ReplicaJoining, Sessions: 1,
					Leases: informer.Health{Sources: []informer.SourceHealth{{Reflector: reflector.Health{
						State: reflector.StateDegraded, LastError: errors.New("dial tcp: refused"), LastErrorClass: reflector.ClassRefused,
					}}}},
				},
				"error", "no-session", "Replica pod-1 of group shop has lost its session, and has no part until it has another: it cannot watch the Leases, because nothing listens at the server's address (connection refused).",
				"dial tcp: refused", "Check that the API server is running",
			},
			"without a renewal": {
				with(func(s *stubReplica) {
					s.LastRenewal, s.Deadline = ago(6*time.Second), ago(-4*time.Second)
					s.LastError, s.LastErrorTime = apierrors.NewInternalError(errors.New("etcd is away")), ago(time.Second)
				}),
				"warning", "no-renewal", "Replica pod-1 of group shop has not renewed its session for 6s, and stops all work in 4s.", "etcd is away", "look at the API server",
			},
			"after the deadline": {
				with(func(s *stubReplica) { s.LastRenewal, s.Deadline = ago(11*time.Second), ago(time.Second) }),
				"error", "no-renewal", "Replica pod-1 of group shop has not renewed its session for 11s: it works on nothing any more.", "", "load of this process",
			},
			"with work that fails": {
				with(func(s *stubReplica) {
					s.Held = []health.Part{{Part: 1, Working: true}, {Part: 3}}
					s.LastError, s.LastErrorTime = errors.New("no queue"), ago(3*time.Second)
				}),
				"error", "part-idle", "Replica pod-1 of group shop has part 3, and does not work on it: Work has returned.", "no queue", "Work is called again",
			},
			"with work that does not end": {
				with(func(s *stubReplica) {
					s.Held = []health.Part{{Part: 1, Working: true, Draining: true, Since: ago(10 * time.Second)}, {Part: 2, Working: true, Draining: true, Since: ago(10 * time.Second)}}
				}),
				"warning", "handover", "Replica pod-1 of group shop has been handing over part 1 for 10s: Work has not returned.", "", "Let Work return",
			},
			"of a group with free parts": {
				with(func(s *stubReplica) { s.Free = 3 }),
				"note", "unowned", "3 parts are without an owner in group shop.", "", "None, if it does not last",
			},
			"of a group without a leader": {
				with(func(s *stubReplica) { s.Parts, s.Free = 1, 1 }),
				"note", "unowned", "Group shop has no leader.", "", "None, if it does not last",
			},
			"leaving": {
				with(func(s *stubReplica) { s.State, s.Held = health.ReplicaLeaving, make([]health.Part, 1) }),
				"note", "leaving", "Replica pod-1 of group shop is leaving, and has 1 part to hand over.", "", "None",
			},
			"stopped": {
				with(func(s *stubReplica) { s.State = health.ReplicaStopped }),
				"note", "stopped", "Replica pod-1 of group shop has stopped: it takes no part any more.", "", "None",
			},
		} {
			h := newHandler(t, inspect.Replica(c.replica))
			all := jsonOf(t, h).Problems
			if !assert.Len(t, all, 1, name) {
				continue
			}
			p := all[0]
			assert.Equal(t, []string{c.severity, c.kind, "replica pod-1", c.sentence}, []string{p.Severity, p.Kind, p.Part, p.Sentence}, name)
			assert.Contains(t, p.Detail, c.says, name)
			assert.Contains(t, p.Remedy, c.do, name)
			assert.Contains(t, textOf(t, h), c.sentence+"\n", name)
		}
		for name, healthy := range map[string]stubReplica{
			"a moment before a renewal": with(func(s *stubReplica) { s.LastRenewal, s.Deadline = ago(5*time.Second), ago(-5*time.Second) }),
			"a part that begins":        with(func(s *stubReplica) { s.Held = []health.Part{{Part: 3}} }),
			"an error of long ago": with(func(s *stubReplica) {
				s.Held, s.LastError, s.LastErrorTime = []health.Part{{Part: 3}}, errors.New("no queue"), ago(time.Minute)
			}),
			"a short hand-over": with(func(s *stubReplica) {
				s.Held = []health.Part{{Part: 1, Working: true, Draining: true, Since: ago(9 * time.Second)}}
			}),
		} {
			assert.Empty(t, jsonOf(t, newHandler(t, inspect.Replica(healthy))).Problems, name)
		}
	})
}

// A real replica that may not read Leases, and then may.
func TestPageSaysWhoLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		permit := server.Inject(informertest.Fault{Resource: "leases", Times: -1, Effect: informertest.Refuse(apierrors.NewForbidden(leases, "", errors.New(`User "shop" cannot list resource "leases"`)))})
		r, err := sharding.New(server.Config(), sharding.Options{
			Name: "shop", Namespace: "default", Identity: "pod-1", Parts: 1, Logger: slog.New(slog.DiscardHandler),
			Work: func(ctx context.Context, _ *sharding.Part) error { <-ctx.Done(); return nil },
		})
		require.NoError(t, err)
		h := newHandler(t, inspect.Replica(r))
		assert.Equal(t, "not-started", jsonOf(t, h).Problems[0].Kind)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p := jsonOf(t, h).Problems[0]
		assert.Equal(t, "Replica pod-1 of group shop is joining its group: it cannot watch the Leases, because the server does not permit this user to list and watch (403 Forbidden).", p.Sentence)
		assert.Contains(t, p.Detail, `User "shop" cannot list resource "leases"`)

		permit()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Contains(t, textOf(t, h), "All is well: replica pod-1 of group shop leads.\n")
		assert.Contains(t, textOf(t, h), "replica pod-1 of group shop: leads\n")
		assert.Contains(t, page(t, h), "All is well: replica pod-1 of group shop leads.")
		stop()
		require.NoError(t, <-ended)
		assert.Equal(t, "Replica pod-1 of group shop has stopped: it takes no part any more.", jsonOf(t, h).Problems[0].Sentence)
		server.Close()
	})
}
