package leader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCut = errors.New("the connection is cut")

// world is an API server and the replicas of one program, in a bubble.
type world struct {
	t      *testing.T
	server *informertest.Server

	mu      sync.Mutex
	leading []*replica // those whose Lead runs and whose term is held
	overlap bool
	log     strings.Builder
}

// replica is one of them.
type replica struct {
	*leader.Elector
	w      *world
	cut    atomic.Bool  // requests fail
	blind  atomic.Bool  // requests work, their answers are lost
	silent atomic.Bool  // requests hang
	stuck  atomic.Bool  // requests hang, without a look at their context
	terms  atomic.Int32 // calls of Lead
	linger atomic.Int64 // how long Lead takes to return, in nanoseconds
	stop   context.CancelFunc
	ended  chan error
	cause  error // guarded by w.mu: for which the context of Lead ended
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: informertest.Start(t, informertest.Options{InMemory: true})}
		test(t, w)
		assert.False(t, w.overlap, "two led at once")
	})
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// RoundTrip of a replica's connection.
type transport struct {
	http.RoundTripper
	r *replica
}

func (c transport) RoundTrip(q *http.Request) (*http.Response, error) {
	for c.r.stuck.Load() {
		time.Sleep(50 * time.Millisecond)
	}
	if c.r.silent.Load() {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	if c.r.cut.Load() {
		return nil, errCut
	}
	answer, err := c.RoundTripper.RoundTrip(q)
	if err == nil && c.r.blind.Load() && q.Method != http.MethodGet {
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return nil, errCut
	}
	return answer, err
}

func (w *world) start(name string, change ...func(o *leader.Options)) *replica {
	r := &replica{w: w, ended: make(chan error, 1)}
	cfg := rest.CopyConfig(w.server.Config())
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return transport{rt, r} })
	opts := leader.Options{Name: "lock", Namespace: "default", Identity: name, Lead: r.lead, Logger: slog.New(slog.NewTextHandler(w, nil))}
	for _, f := range change {
		f(&opts)
	}
	var err error
	r.Elector, err = leader.New(cfg, opts)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	r.stop = cancel
	go func() { r.ended <- r.Run(ctx) }()
	return r
}

// lead works until its context has ended, and notes whether it is alone.
func (r *replica) lead(ctx context.Context, term *leader.Term) error {
	r.terms.Add(1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.w.enter(r, term.Held())
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	r.w.mu.Lock()
	r.cause = context.Cause(ctx)
	r.w.mu.Unlock()
	wait := time.After(time.Duration(r.linger.Load()))
	for {
		r.w.enter(r, term.Held() && r.linger.Load() > 0)
		select {
		case <-tick.C:
			continue
		case <-wait:
		}
		r.w.enter(r, false)
		return nil
	}
}

func (w *world) enter(r *replica, leads bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var others []*replica
	for _, other := range w.leading {
		if other != r {
			others = append(others, other)
		}
	}
	w.leading = others
	if leads {
		w.overlap = w.overlap || len(others) > 0
		w.leading = append(others, r)
	}
}

// leader returns who leads, nil for none.
func (w *world) leader() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.leading) == 0 {
		return nil
	}
	return w.leading[0]
}

// within waits until ok holds, and returns for how long that was.
func (w *world) within(d time.Duration, what string, ok func() bool) time.Duration {
	w.t.Helper()
	begin := time.Now()
	for !ok() {
		require.Less(w.t, time.Since(begin), d, "%s\n%s", what, w.logged())
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begin)
}

func (r *replica) end() error {
	r.stop()
	return <-r.ended
}

func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	c, err := client.New[*coordinationv1.Lease](w.server.Config(), coordinationv1.SchemeGroupVersion.WithResource("leases"), client.Options{})
	require.NoError(w.t, err)
	l, err := c.Get(w.t.Context(), client.KeyOf(&metav1.ObjectMeta{Namespace: "default", Name: "lock"}))
	require.NoError(w.t, err)
	return l
}

// Promise informer/leader/1
func TestPromise1ALeaderThatIsCutOffStopsBeforeAnotherBegins(t *testing.T) {
	for name, fault := range map[string]func(r *replica) *atomic.Bool{
		"cut":    func(r *replica) *atomic.Bool { return &r.cut },
		"silent": func(r *replica) *atomic.Bool { return &r.silent },
		"stuck":  func(r *replica) *atomic.Bool { return &r.stuck },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a := w.start("a")
				w.within(time.Second, "a leads", func() bool { return w.leader() == a })
				b := w.start("b")
				time.Sleep(time.Minute)
				fault(a).Store(true)
				begin := time.Now()
				w.within(10*time.Second+time.Millisecond, "a stops", func() bool { return w.leader() != a })
				assert.Greater(t, time.Since(begin), 7*time.Second, "one failure ends nothing")
				synctest.Wait()
				require.ErrorIs(t, a.cause, leader.ErrLost)
				w.within(25*time.Second, "one leads again", func() bool { return w.leader() != nil })
				require.NoError(t, b.end())
				a.stuck.Store(false)
				time.Sleep(time.Second) // requests that were left behind end
				require.NoError(t, a.end())
			})
		})
	}
}

// A renewal whose answer is lost counts when the Lease shows it. Otherwise the replica could have
// the Lease for good, and not lead.
//
// Promise informer/leader/2
func TestPromise2AReplicaThatGetsNoAnswersToWritesLeads(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.start("a")
		a.blind.Store(true)
		w.within(10*time.Second, "a leads", func() bool { return w.leader() == a })
		time.Sleep(5 * time.Minute)
		assert.Same(t, a, w.leader())
		assert.EqualValues(t, 1, a.terms.Load())
		require.NoError(t, a.end())
		assert.Empty(t, *w.lease().Spec.HolderIdentity)
	})
}

// Promise informer/leader/2
func TestPromise2ACrashedLeaderIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.start("a")
		w.within(time.Second, "a leads", func() bool { return w.leader() == a })
		b := w.start("b")
		time.Sleep(time.Minute)
		a.cut.Store(true) // and it never comes back
		took := w.within(20*time.Second, "b leads", func() bool { return w.leader() == b })
		assert.Greater(t, took, 13*time.Second)
		require.NoError(t, a.end())
		require.NoError(t, b.end())
	})
}

// Whenever the leader crashes, and whatever the candidates add to their pauses.
//
// Promise informer/leader/2
func TestPromise2ACrashedLeaderIsReplacedInTime(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				rnd := rand.New(rand.NewPCG(seed, 2))
				a := w.start("a")
				w.within(time.Second, "a leads", func() bool { return w.leader() == a })
				b := w.start("b")
				c := w.start("c")
				time.Sleep(time.Minute + time.Duration(rnd.IntN(10_000))*time.Millisecond)
				a.cut.Store(true)
				w.within(19500*time.Millisecond, "another leads", func() bool { return w.leader() == b || w.leader() == c })
				for _, r := range []*replica{a, b, c} {
					require.NoError(t, r.end())
				}
			})
		})
	}
}

// Promise informer/leader/2
func TestPromise2AStoppedLeaderIsReplacedSoon(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.start("a")
		w.within(time.Second, "a leads", func() bool { return w.leader() == a })
		b := w.start("b")
		time.Sleep(10 * time.Second)
		require.NoError(t, a.end())
		assert.Equal(t, 1, strings.Count(w.logged(), "this replica has released the Lease"), w.logged())
		assert.NotContains(t, w.logged(), `holder=""`)
		l := w.lease()
		assert.Empty(t, *l.Spec.HolderIdentity)
		assert.EqualValues(t, 1, *l.Spec.LeaseDurationSeconds)
		w.within(4500*time.Millisecond, "b leads", func() bool { return w.leader() == b })
		assert.Contains(t, w.logged(), "the Lease was released: it has no holder now", "b says so")
		assert.EqualValues(t, 1, *w.lease().Spec.LeaseTransitions)
		assert.Equal(t, b.Status().Identity, *w.lease().Spec.HolderIdentity)
		require.NoError(t, b.end())
	})
}

// Promise informer/leader/3
func TestPromise3ALeaderDoesNotStepDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.start("m")
		w.within(time.Second, "m leads", func() bool { return w.leader() == m })
		for _, name := range []string{"a", "z", "a", "z"} {
			r := w.start(name)
			time.Sleep(20 * time.Second)
			assert.Equal(t, m.Status().Identity, r.Status().Leader)
			require.NoError(t, r.end())
		}
		assert.EqualValues(t, 1, m.terms.Load())
		require.NoError(t, m.end())
	})
}

// Promise informer/leader/4
func TestPromise4TheLeaseIsRenewedUntilLeadHasReturned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.start("a")
		a.linger.Store(int64(2 * time.Minute))
		w.within(time.Second, "a leads", func() bool { return w.leader() == a })
		b := w.start("b")
		time.Sleep(10 * time.Second)
		a.stop()
		time.Sleep(119 * time.Second)
		assert.Same(t, a, w.leader())
		assert.Equal(t, a.Status().Identity, *w.lease().Spec.HolderIdentity)
		require.NoError(t, <-a.ended)
		w.within(4500*time.Millisecond, "b leads", func() bool { return w.leader() == b })
		require.NoError(t, b.end())
	})
}

// Promise informer/leader/5
func TestPromise5NoTermBeginsWhileTheOneBeforeRuns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.start("a")
		a.linger.Store(int64(time.Minute))
		w.within(time.Second, "a leads", func() bool { return w.leader() == a })
		a.cut.Store(true)
		time.Sleep(20 * time.Second)
		a.cut.Store(false)
		time.Sleep(30 * time.Second)
		assert.EqualValues(t, 1, a.terms.Load())
		assert.True(t, a.Status().Leads, "Lead has not returned")
		w.within(time.Minute, "a leads again", func() bool { return a.terms.Load() == 2 })
		a.linger.Store(int64(0))
		require.NoError(t, a.end())
	})
}

// Promise informer/leader/6
func TestPromise6FailuresAreTriedAgainAndLoggedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.server.Inject(informertest.Fault{Verb: "get", Resource: "leases", Times: 20, Effect: informertest.Respond(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"leases is forbidden","code":403}`)})
		a := w.start("a")
		time.Sleep(10 * time.Second)
		require.ErrorContains(t, a.Status().LastError, "leases is forbidden")
		w.within(2*time.Minute, "a leads", func() bool { return w.leader() == a })
		require.NoError(t, a.Status().LastError)
		assert.Equal(t, 1, strings.Count(w.logged(), "the Lease cannot be acquired"))
		require.NoError(t, a.end())
	})
}

// The Lease can be read all the time.
//
// Promise informer/leader/6
func TestPromise6AWriteThatIsRefusedIsLoggedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.start("first")
		w.within(time.Second, "it leads", func() bool { return w.leader() == first })
		require.NoError(t, first.end())
		remove := w.server.Inject(informertest.Fault{Verb: "update", Resource: "leases", Times: -1, Effect: informertest.Respond(403, "text/plain", "no")})
		a := w.start("a")
		time.Sleep(time.Hour)
		assert.Equal(t, 1, strings.Count(w.logged(), "the Lease cannot be acquired"))
		require.ErrorContains(t, a.Status().LastError, "put leases")
		remove()
		w.within(10*time.Second, "a leads", func() bool { return w.leader() == a })
		require.NoError(t, a.Status().LastError)
		require.NoError(t, a.end())
	})
}

// A random crowd: promises 1 and 2 under kills, stops and cut connections.
//
// Promise informer/leader/1
func TestPromise1NeverTwoLeadersAndAlwaysOne(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				var all []*replica
				for i := range 4 {
					all = append(all, w.start(fmt.Sprint("r", i)))
				}
				for range 40 {
					i := rnd.IntN(len(all))
					r := all[i]
					switch rnd.IntN(6) {
					case 0:
						require.NoError(t, r.end())
						all[i] = w.start(fmt.Sprint("r", i))
					case 1:
						r.cut.Store(true)
					case 2:
						r.silent.Store(true)
					case 3:
						r.blind.Store(true)
					case 4:
						r.linger.Store(int64(time.Duration(rnd.IntN(8000)) * time.Millisecond))
					}
					time.Sleep(time.Duration(rnd.IntN(12000)) * time.Millisecond)
					r.cut.Store(false)
					r.silent.Store(false)
					r.blind.Store(false)
					if rnd.IntN(3) == 0 {
						w.within(40*time.Second, "there is a leader", func() bool { return w.leader() != nil })
					}
				}
				for _, r := range all {
					require.NoError(t, r.end())
				}
				assert.Empty(t, *w.lease().Spec.HolderIdentity, "released")
			})
		})
	}
}

func TestWhatLeadReturnsEndsRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		failure := errors.New("no work")
		a := w.start("a", func(o *leader.Options) {
			o.Lead = func(context.Context, *leader.Term) error { return failure }
		})
		require.ErrorIs(t, <-a.ended, failure)
		assert.Empty(t, *w.lease().Spec.HolderIdentity)
		require.ErrorContains(t, a.Run(t.Context()), "runs once")
		b := w.start("b", func(o *leader.Options) {
			o.Lead = func(ctx context.Context, _ *leader.Term) error { <-ctx.Done(); return ctx.Err() }
		})
		w.within(5*time.Second, "b leads", func() bool { return b.Status().Leads })
		require.NoError(t, b.end(), "a stop is no failure")
	})
}

// A Lease that is deleted is made again by its leader; one that names another is lost at once.
func TestEditsByHand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		leases, err := client.New[*coordinationv1.Lease](w.server.Config(), coordinationv1.SchemeGroupVersion.WithResource("leases"), client.Options{})
		require.NoError(t, err)
		a := w.start("a")
		w.within(time.Second, "a leads", func() bool { return w.leader() == a })
		require.NoError(t, leases.Delete(t.Context(), client.KeyOf(w.lease()), metav1.DeleteOptions{}))
		time.Sleep(3 * time.Second)
		assert.Equal(t, a.Status().Identity, *w.lease().Spec.HolderIdentity)
		assert.Same(t, a, w.leader())
		l := w.lease()
		l.Labels = map[string]string{"app": "mine"}
		_, err = leases.Update(t.Context(), l)
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		assert.Equal(t, map[string]string{"app": "mine"}, w.lease().Labels)
		assert.Same(t, a, w.leader())
		l = w.lease()
		l.Spec.HolderIdentity = new("another")
		_, err = leases.Update(t.Context(), l)
		require.NoError(t, err)
		w.within(2100*time.Millisecond, "a stops", func() bool { return w.leader() == nil })
		w.within(20*time.Second, "a leads again", func() bool { return w.leader() == a })
		assert.EqualValues(t, 1, *w.lease().Spec.LeaseTransitions)
		require.NoError(t, a.end())
	})
}

func TestNewRefusesBadInput(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://localhost"}
	good := leader.Options{Name: "lock", Namespace: "default", Lead: func(context.Context, *leader.Term) error { return nil }}
	for want, change := range map[string]func(o *leader.Options){
		"Options.Name is":                func(o *leader.Options) { o.Name = "A" },
		"Options.Namespace is":           func(o *leader.Options) { o.Namespace = "" },
		"Options.Lead is nil":            func(o *leader.Options) { o.Lead = nil },
		"LeaseDuration 10s":              func(o *leader.Options) { o.LeaseDuration = 10 * time.Second },
		"RetryPeriod 9s":                 func(o *leader.Options) { o.RetryPeriod = 9 * time.Second },
		"use 1s at least":                func(o *leader.Options) { o.LeaseDuration = time.Millisecond },
		"Options.Identity has 257 bytes": func(o *leader.Options) { o.Identity = strings.Repeat("a", 257) },
		"valid UTF-8":                    func(o *leader.Options) { o.Identity = "a\xff" },
		"a Lease holds up to":            func(o *leader.Options) { o.LeaseDuration = math.MaxInt64 },
		"no negative":                    func(o *leader.Options) { o.RetryPeriod = -1 },
	} {
		opts := good
		change(&opts)
		_, err := leader.New(cfg, opts)
		require.ErrorContains(t, err, want)
	}
	_, err := leader.New(nil, good)
	require.ErrorContains(t, err, "rest.Config is nil")
	e, err := leader.New(cfg, good)
	require.NoError(t, err)
	assert.NotEmpty(t, e.Status().Identity)
}
