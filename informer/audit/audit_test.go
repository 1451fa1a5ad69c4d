package audit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

const hour = time.Hour

// audits are the options of the tests.
var audits = reflector.Options{Monitor: audit.Every(hour)}

// healthOf returns what the audits of a reflector have found.
func healthOf(h reflector.Health) audit.Health {
	found, _ := audit.HealthOf(&h)
	return found
}

// overtake restores a server from a backup and lets its history reach the version that
// clients have: of what happened meanwhile they get nothing.
func overtake(t *testing.T, server *informertest.Server, meanwhile func()) {
	t.Helper()
	remembered, err := strconv.Atoi(server.ResourceVersion())
	require.NoError(t, err)
	require.NoError(t, server.Pause())
	meanwhile()
	require.NoError(t, server.RestartWithNewHistory())
	for {
		now, err := strconv.Atoi(server.ResourceVersion())
		require.NoError(t, err)
		if now > remembered+5 {
			break
		}
		require.NoError(t, server.Modify(scripted.ConfigMaps, "default", "busy", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"at": fmt.Sprint(now)})
		}))
	}
	require.NoError(t, server.Resume())
}

func createConfigMaps(t *testing.T, server *informertest.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
	}
}

// contents are the ConfigMaps of a server, as recorder.holds writes them.
func contents(t *testing.T, server *informertest.Server) string {
	t.Helper()
	objs, err := server.List(scripted.ConfigMaps, "", nil)
	require.NoError(t, err)
	var out []string
	for _, o := range objs {
		out = append(out, o.GetName()+"@"+o.GetResourceVersion())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Promise audit/1
func TestARestoredServerWhoseHistoryHasOvertakenIsNoticedByAnAudit(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, ""} {
		for _, opts := range []reflector.Options{{}, audits} {
			t.Run(fmt.Sprintf("%s audits %v", mode, opts.Monitor != nil), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					server := informertest.Start(t, informertest.Options{InMemory: true})
					createConfigMaps(t, server, "busy", "deleted", "kept", "modified")
					for i := range 30 {
						createConfigMaps(t, server, fmt.Sprint("o", i))
					}
					lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{})
					require.NoError(t, err)
					sink := newRecorder()
					opts.Sync = mode
					// Without Known the reflector does not look for itself.
					r := run(t, lw, struct {
						reflector.Sink[*corev1.ConfigMap]
						audit.Audited
					}{sink, sink}, opts)
					after(time.Minute)
					require.Equal(t, contents(t, server), sink.holds())
					overtake(t, server, func() {
						require.NoError(t, server.Delete(scripted.ConfigMaps, "default", "deleted"))
						require.NoError(t, server.Modify(scripted.ConfigMaps, "default", "modified", func(u *unstructured.Unstructured) {
							u.SetLabels(map[string]string{"modified": "yes"})
						}))
						createConfigMaps(t, server, "created")
					})
					after(hour + 5*time.Minute)
					h := r.Health()
					if opts.Monitor == nil {
						require.NotEqual(t, contents(t, server), sink.holds(), "without an audit nothing is noticed")
						require.Nil(t, h.Monitor)
						return
					}
					require.Equal(t, contents(t, server), sink.holds())
					require.Equal(t, 1, healthOf(h).Audits)
					require.Equal(t, 1, healthOf(h).Missing)
					require.Equal(t, 1, healthOf(h).Extra)
					require.Positive(t, healthOf(h).Stale)
					require.Equal(t, healthOf(h).Found(), healthOf(h).Repaired)
					require.Zero(t, healthOf(h).Lasting)
					require.Equal(t, audit.Reason, h.LastErrorClass)
					require.Zero(t, h.ConsecutiveFailures)
					require.Equal(t, 1, h.Reconnects[audit.Reason])
					found := healthOf(h).Found()
					after(3 * hour)
					h = r.Health()
					require.GreaterOrEqual(t, healthOf(h).Audits, 3)
					require.Equal(t, found, healthOf(h).Found())
					require.NoError(t, healthOf(h).LastError)
				})
			})
		}
	}
}

// Changes that are on their way, or newer than the pages of the audit, are no reason.
func TestAnAuditOfABusyServerFindsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		for i := range 40 {
			createConfigMaps(t, server, fmt.Sprint("o", i))
		}
		lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		slow := reflector.Transform(lw, func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if o.Labels["slow"] != "" {
				time.Sleep(time.Second)
			}
			return o, nil
		})
		sink := newRecorder()
		r := run(t, slow, sink, reflector.Options{Monitor: audit.Every(time.Minute)})
		after(time.Second)
		lists := server.Count("watch", "configmaps")
		for i := range 20 * 60 {
			name := fmt.Sprint("o", i%40)
			switch i % 3 {
			case 0:
				require.NoError(t, server.Modify(scripted.ConfigMaps, "default", name, func(u *unstructured.Unstructured) {
					u.SetLabels(map[string]string{"slow": "yes", "i": fmt.Sprint(i)})
				}))
			case 1:
				require.NoError(t, server.Delete(scripted.ConfigMaps, "default", name))
				createConfigMaps(t, server, name)
			}
			after(time.Second)
		}
		after(time.Minute)
		h := r.Health()
		require.GreaterOrEqual(t, healthOf(h).Audits, 14)
		require.Equal(t, 40, healthOf(h).Objects)
		require.Zero(t, healthOf(h).Found(), "%+v", healthOf(h))
		require.NoError(t, healthOf(h).LastError)
		require.Equal(t, contents(t, server), sink.holds())
		// The watches are those that end in time.
		require.LessOrEqual(t, server.Count("watch", "configmaps")-lists, 5)
	})
}

// A server that accepts any version and sends only what happens from then on.
func TestAServerThatResumesNothingIsNoticedByAnAudit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var now atomic.Pointer[[]string]
		now.Store(&[]string{scripted.ConfigMap("a", "5"), scripted.ConfigMap("b", "7")})
		s := &scripted.Server{
			List:  func(w httpWriter, _ *httpRequest, _ int) { scripted.WriteList(w, "10", "", *now.Load()...) },
			Watch: scripted.Quiet,
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Monitor: audit.Every(hour)})
		after(time.Minute)
		old := sink.objects()
		// Of c nothing was ever sent, and a was replaced by another state of the same
		// version, as it happens with two histories.
		other := strings.Replace(scripted.ConfigMap("a", "5"), `"data":{`, `"data":{"other":"history",`, 1)
		now.Store(&[]string{other, scripted.ConfigMap("b", "7"), scripted.ConfigMap("c", "9")})
		after(hour + 5*time.Minute)
		require.Equal(t, "a@5 b@7 c@9", sink.holds())
		require.Equal(t, "history", sink.objects()[types.NamespacedName{Namespace: "ns", Name: "a"}].Data["other"], "from %v", old)
		require.Equal(t, 1, healthOf(r.Health()).Missing)
		require.Equal(t, 1, healthOf(r.Health()).Repaired)
	})
}

// An audit costs what it must: metadata, in pages, with a wait between them.
func TestAnAuditListsMetadataInPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true, PaginateFromCache: true})
		for i := range 2500 {
			createConfigMaps(t, server, fmt.Sprint("o", i))
		}
		cfg := server.Config()
		type page struct {
			at                      time.Time
			accept, limit, resource string
		}
		var mu sync.Mutex
		var pages []page
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if accept := req.Header.Get("Accept"); strings.Contains(accept, "PartialObjectMetadataList") {
					q := req.URL.Query()
					mu.Lock()
					pages = append(pages, page{time.Now(), accept, q.Get("limit"), q.Get("resourceVersion") + q.Get("labelSelector")})
					mu.Unlock()
				}
				return rt.RoundTrip(req)
			})
		})
		lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{LabelSelector: "!none"})
		require.NoError(t, err)
		sink := newRecorder()
		r := run(t, lw, sink, audits)
		after(hour + 5*time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, pages, 3)
		for i, p := range pages {
			require.True(t, strings.HasPrefix(p.accept, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList"), p.accept)
			require.Equal(t, "1000 !none", p.limit+" "+p.resource)
			if i > 0 {
				require.GreaterOrEqual(t, p.at.Sub(pages[i-1].at), 100*time.Millisecond)
			}
		}
		require.Equal(t, 2500, healthOf(r.Health()).Objects)
		require.Equal(t, 1, healthOf(r.Health()).Audits)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A sink that does not keep what it gets is not given everything every hour.
func TestADifferenceThatLastsIsReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "5"), scripted.ConfigMap("b", "7")), Watch: scripted.Quiet}
		sink := newRecorder()
		sink.hidden = "b"
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Monitor: audit.Every(hour)})
		after(10 * hour)
		h := healthOf(r.Health())
		require.GreaterOrEqual(t, h.Audits, 9)
		require.Equal(t, 1, h.Found())
		require.Equal(t, 2, sink.replaces)
	})
}

// What is quarantined differs, and is read again for that reason.
func TestAuditsLeaveTheQuarantineAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		bad := `{"metadata":{"name":"b","namespace":"ns","uid":"u","resourceVersion":"7"},"data":7}`
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "5"), bad), Watch: scripted.Quiet}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Monitor: audit.Every(hour)})
		after(5 * hour)
		require.GreaterOrEqual(t, healthOf(r.Health()).Audits, 4)
		require.Zero(t, healthOf(r.Health()).Found())
	})
}

// An audit that cannot compare says so, and disturbs nothing.
//
// Promise audit/2
func TestAFailedAuditIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: func(w httpWriter, req *httpRequest, n int) {
				if strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") {
					scripted.Fails(406, "NotAcceptable")(w, req, n)
					return
				}
				scripted.WriteList(w, "10", "", scripted.ConfigMap("a", "5"))
			},
			Watch: scripted.Quiet,
		}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{Sync: reflector.SyncList, Monitor: audit.Every(hour)})
		after(hour + 5*time.Minute)
		h := r.Health()
		require.ErrorContains(t, healthOf(h).LastError, "NotAcceptable")
		require.False(t, healthOf(h).LastErrorTime.IsZero())
		require.Zero(t, healthOf(h).Audits)
		require.Zero(t, h.ConsecutiveFailures)
		require.Equal(t, reflector.StateWatching, h.State)
	})
}

// A server that stops to answer in the middle of an audit does not hold it up for ever.
func TestAnAuditThatStallsEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: func(w httpWriter, req *httpRequest, _ int) {
				if strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadata") {
					scripted.Hang(req)
					return
				}
				scripted.WriteList(w, "10", "", scripted.ConfigMap("a", "5"))
			},
			Watch: func(w httpWriter, req *httpRequest, _ int) { // a watch of the time agreed
				scripted.Begin(w)
				for scripted.Linger(req, time.Minute) {
					scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", false))
				}
			},
		}
		sink := newRecorder()
		opts := reflector.Options{Sync: reflector.SyncList, Monitor: audit.Every(time.Minute)}
		opts.Timeouts.Watch = hour
		r := run(t, sourceOf(t, s), sink, opts)
		after(10 * time.Minute)
		require.Error(t, healthOf(r.Health()).LastError)
		require.GreaterOrEqual(t, len(s.Requests()), 4)
	})
}

func TestAuditsThatAreImpossibleAreRefused(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	lw := sourceOf(t, s)
	sink := newRecorder()
	_, err := reflector.New(lw, sink, reflector.Options{Monitor: audit.Every(-time.Second)})
	require.ErrorContains(t, err, "the interval is -1s")
	_, err = reflector.New[*corev1.ConfigMap](lw, plainSink{newRecorder()}, audits)
	require.ErrorContains(t, err, "does not implement Audited")
	funcs := reflector.FromFuncs[*corev1.ConfigMap](
		func(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
			return nil, errors.New("not asked")
		},
		func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, errors.New("not asked")
		})
	_, err = reflector.New(funcs, sink, audits)
	require.ErrorContains(t, err, "cannot list metadata")
	asItIs := func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) { return o, nil }
	_, err = reflector.New(reflector.Transform(funcs, asItIs), sink, audits)
	require.ErrorContains(t, err, "cannot list metadata")
	// A transform changes nothing about that.
	_, err = reflector.New(reflector.Transform(lw, asItIs), sink, audits)
	require.NoError(t, err)
}
