package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/internal/httpclient"
)

// election is one Lease, and the candidates for it: some with client-go's elector, some with ours.
type election struct {
	t         *testing.T
	cfg       *rest.Config
	namespace string
	l, d, p   time.Duration // LeaseDuration, RenewDeadline, RetryPeriod
	rnd       *rand.Rand
	all, gone []*candidate
	next      int

	mu       sync.Mutex
	leads    map[*candidate]bool
	overlaps []string
	terms    map[bool]int // how often one of ours, or of client-go's, has begun to lead
	story    strings.Builder
	begin    time.Time
}

// candidate is a replica of the program.
type candidate struct {
	e        *election
	name     string
	ours     bool
	releases bool // client-go's ReleaseOnCancel
	linger   time.Duration
	stop     context.CancelFunc
	killed   chan struct{}
	ended    chan struct{}
	late     sync.WaitGroup // requests that are carried out although they were given up

	mu     sync.Mutex
	fault  string
	healed chan struct{} // closed when the fault is over
	dead   bool
}

var errCut = errors.New("the connection is cut")

// The faults of a connection.
const (
	cut    = "cut"    // requests fail
	paused = "paused" // requests and answers wait, as those of a process that is stopped (SIGSTOP)
	late   = "late"   // the same, and requests that were given up meanwhile are carried out in the end
	blind  = "blind"  // requests are carried out, and the answers to writes are lost
)

func newElection(t *testing.T, cfg *rest.Config, namespace string, l, d, p time.Duration, seed uint64) *election {
	return &election{
		t: t, cfg: cfg, namespace: namespace, l: l, d: d, p: p, rnd: rand.New(rand.NewPCG(seed, 33)),
		leads: map[*candidate]bool{}, terms: map[bool]int{}, begin: time.Now(),
	}
}

func (e *election) tellLocked(c *candidate, what string) {
	fmt.Fprintf(&e.story, "%8.3fs %s %s\n", time.Since(e.begin).Seconds(), c.name, what)
}

func (e *election) tell(c *candidate, what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tellLocked(c, what)
}

func (e *election) account() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.story.String()
}

// enter notes that a candidate leads, and that nobody else may.
func (c *candidate) enter() {
	e := c.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.isDead() || e.leads[c] {
		return
	}
	e.tellLocked(c, "leads")
	for other := range e.leads {
		e.tellLocked(c, "OVERLAPS with "+other.name)
		e.overlaps = append(e.overlaps, other.name+" and "+c.name)
	}
	e.leads[c] = true
	e.terms[c.ours]++
}

func (c *candidate) leave() {
	e := c.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leads[c] {
		e.tellLocked(c, "leads no longer")
		delete(e.leads, c)
	}
}

func (c *candidate) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// leader reports whether anyone leads.
func (e *election) leader() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.leads) > 0
}

// breaks begins a fault; heal ends it.
func (c *candidate) breaks(fault string) {
	c.e.tell(c, "is "+fault)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.healed = fault, make(chan struct{})
}

func (c *candidate) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != "" && !c.dead {
		c.fault = ""
		close(c.healed)
	}
}

func (c *candidate) state() (string, chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault, c.healed
}

// RoundTripper of a candidate.
type electionTransport struct {
	next http.RoundTripper
	c    *candidate
}

func (t electionTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	fault, healed := t.c.state()
	switch fault {
	case cut:
		return nil, errCut
	case paused, late:
		select {
		case <-healed:
			return t.RoundTrip(q)
		case <-q.Context().Done():
		}
		if fault == late {
			t.c.late.Go(func() {
				<-healed
				if answer, err := t.next.RoundTrip(q.WithContext(context.WithoutCancel(q.Context()))); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			})
		}
		return nil, q.Context().Err()
	}
	answer, err := t.next.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	var lost error
	switch fault, healed = t.c.state(); {
	case fault == paused || fault == late: // the fault came while the request was on its way
		select {
		case <-healed:
			// client-go's elector counts its time from when an answer arrives, and so one that
			// renewed the Lease long ago lets it lead longer than others wait.
			if !t.c.ours {
				lost = errCut
			}
		case <-q.Context().Done():
			lost = q.Context().Err()
		}
	case fault == cut || fault == blind && q.Method != http.MethodGet:
		lost = errCut
	}
	if lost != nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return nil, lost
	}
	return answer, nil
}

// start adds a candidate.
func (e *election) start(ours bool) *candidate {
	e.next++
	c := &candidate{e: e, ours: ours, name: fmt.Sprint(e.next, "-client-go"), killed: make(chan struct{}), ended: make(chan struct{})}
	if ours {
		c.name = fmt.Sprint(e.next, "-ours")
		c.linger = time.Duration(e.rnd.Int64N(int64(e.l)))
	} else {
		c.releases = e.rnd.IntN(2) == 0
	}
	cfg := rest.CopyConfig(e.cfg)
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return electionTransport{next, c} })
	var ctx context.Context
	ctx, c.stop = context.WithCancel(e.t.Context())
	run := c.clientgo
	if ours {
		run = c.informerkit
	}
	elect := run(cfg)
	e.tell(c, "starts")
	go func() {
		defer close(c.ended)
		elect(ctx)
		c.leave()
	}()
	e.all = append(e.all, c)
	return c
}

// informerkit is a candidate with our elector.
func (c *candidate) informerkit(cfg *rest.Config) func(context.Context) {
	e := c.e
	elector, err := leader.New(cfg, leader.Options{
		Name: "lock", Namespace: e.namespace, Identity: c.name, LeaseDuration: e.l, RenewDeadline: e.d, RetryPeriod: e.p,
		Logger: slog.New(slog.DiscardHandler),
		Lead: func(ctx context.Context, term *leader.Term) error {
			if term.Held() {
				c.enter()
			}
			defer context.AfterFunc(term.Context(), c.leave)()
			<-ctx.Done()
			linger := time.NewTimer(c.linger)
			defer linger.Stop()
			select { // a leader that is stopped goes on until Lead returns; one that is lost does not
			case <-linger.C:
			case <-term.Context().Done():
			case <-c.killed:
			}
			c.leave()
			return nil
		},
	})
	require.NoError(e.t, err)
	return func(ctx context.Context) { assert.NoError(e.t, elector.Run(ctx)) }
}

// releasedLock notes that the program must have stopped working before client-go releases the Lease.
type releasedLock struct {
	*resourcelock.LeaseLock
	c *candidate
}

func (l releasedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" {
		l.c.leave()
	}
	return l.LeaseLock.Update(ctx, record)
}

// clientgo is a candidate with client-go's elector. When it has ended, its process has.
func (c *candidate) clientgo(cfg *rest.Config) func(context.Context) {
	e := c.e
	connection, err := httpclient.For(cfg)
	require.NoError(e.t, err)
	client, err := coordination.NewForConfigAndClient(cfg, connection)
	require.NoError(e.t, err)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: releasedLock{&resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "lock"}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.name},
		}, c},
		LeaseDuration: e.l, RenewDeadline: e.d, RetryPeriod: e.p, ReleaseOnCancel: c.releases,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					c.enter()
				}
				<-ctx.Done()
				c.leave()
			},
			OnStoppedLeading: c.leave,
		},
	})
	require.NoError(e.t, err)
	return func(ctx context.Context) {
		elector.Run(logr.NewContext(ctx, logr.Discard())) // the story says it
	}
}

// kill is kill -9: nothing of the candidate happens any more.
func (c *candidate) kill() {
	c.leave()
	c.e.tell(c, "is killed")
	c.heal()
	c.mu.Lock()
	c.dead, c.fault = true, cut
	c.mu.Unlock()
	close(c.killed)
	c.stop()
}

// hasEnded reports whether the elector of a candidate has, and what was late.
func (c *candidate) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// within waits until one replica leads.
func (e *election) within(d time.Duration) {
	e.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(d)
	for !e.leader() {
		select {
		case <-tick.C:
		case <-end:
			require.True(e.t, e.leader(), "no replica has led for %v\n%s", d, e.account())
		}
	}
}

// play has all kinds of faults hit a group.
func (e *election) play(rounds int) {
	for i := range 4 {
		e.start(i%2 == 0)
	}
	e.within(2 * e.l)
	for range rounds {
		// A program with client-go's elector ends when the Lease is lost, and is started again.
		for _, c := range slices.Clone(e.all) {
			if c.hasEnded() {
				e.replace(c)
			}
		}
		for range 1 + e.rnd.IntN(2) {
			c := e.all[e.rnd.IntN(len(e.all))]
			kind := e.rnd.IntN(6)
			if e.rnd.IntN(2) == 0 { // the leader is hit more often than others
				e.mu.Lock()
				for leads := range e.leads {
					c = leads
				}
				e.mu.Unlock()
			}
			switch fault, _ := c.state(); {
			case fault != "":
			case kind == 0:
				c.kill()
				e.replace(c)
			case kind == 1:
				e.tell(c, "is to stop")
				c.stop()
			case kind == 2:
				c.breaks(cut)
			// With ReleaseOnCancel, client-go's elector clears the record that it finds after a pause, whoever
			// has the Lease by then.
			case kind == 3 && !c.releases:
				c.breaks(paused)
			case kind == 4 && !c.releases:
				c.breaks(late)
			case kind == 5:
				c.breaks(blind)
			}
		}
		pass := time.NewTimer(time.Duration(e.rnd.Int64N(int64(e.l * 4 / 3))))
		<-pass.C
		for _, c := range e.all {
			c.heal()
		}
		if e.rnd.IntN(3) == 0 {
			e.within(2*e.l + 5*e.p)
		}
	}
	e.start(true) // all others may have been stopped, or have ended
	e.within(2*e.l + 5*e.p)
	// Both kinds lead in each run: in the end only client-go's are left.
	for _, c := range e.all {
		if c.ours {
			c.stop()
			<-c.ended
		}
	}
	e.start(false)
	e.within(2*e.l + 5*e.p)
	for _, c := range slices.Concat(e.all, e.gone) {
		c.stop()
		<-c.ended
		c.late.Wait()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	assert.Empty(e.t, e.overlaps, "two led at once")
	assert.Empty(e.t, e.leads)
	if e.t.Failed() {
		e.t.Log(e.story.String())
	}
}

// replace starts a candidate in the place of one that has ended: of the other kind, half of the time.
func (e *election) replace(c *candidate) {
	e.all = slices.DeleteFunc(e.all, func(o *candidate) bool { return o == c })
	e.gone = append(e.gone, c)
	e.start(e.rnd.IntN(2) == 0)
}

// Replicas with client-go's elector and with ours, on a real API server, while some are killed, stopped,
// paused or cut off: never do two lead, and always does one in the end.
//
// The durations leave a second and more between the end of a leader and the next one's begin, for a busy
// machine. RetryPeriod is more than a second, as client-go compares renewals by whole seconds.
func TestElectorsOfBothKindsElectOneLeaderOnARealServer(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	seed := seedOf(t)
	e := newElection(t, cp.Config(), newNamespace(t, clientFor(t, cp)), 8*time.Second, 5*time.Second, 1100*time.Millisecond, seed)
	e.play(20)
	assert.Positive(t, e.terms[true], "one of ours has led")
	assert.Positive(t, e.terms[false], "one of client-go's has led")
	t.Logf("%d terms of ours, %d of client-go's", e.terms[true], e.terms[false])
}

// The same in virtual time, with many seeds.
func TestElectorsOfBothKindsElectOneLeaderInVirtualTime(t *testing.T) {
	t.Parallel()
	first := seedOf(t)
	terms := map[bool]int{}
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true})
			e := newElection(t, server.Config(), "default", 15*time.Second, 10*time.Second, 2*time.Second, first+seed)
			e.play(40)
			terms[true] += e.terms[true]
			terms[false] += e.terms[false]
			if t.Failed() {
				t.Logf("seed %d", first+seed)
			}
		})
	}
	t.Logf("%d terms of ours, %d of client-go's", terms[true], terms[false])
	assert.Greater(t, terms[true], 400)
	assert.Greater(t, terms[false], 400)
}

// seedOf returns the seed of the command line, or a random one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64() >> 16
	}
	t.Logf("-seed %d", s)
	return s
}
