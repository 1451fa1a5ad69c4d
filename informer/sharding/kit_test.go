package sharding

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server and some replicas of one group, in a bubble. Requests take 10 ms
// at most each way.
type world struct {
	t      *testing.T
	server *fakeServer
	opts   Options

	mu      sync.Mutex
	members []*member
	// overlaps are parts on which two calls of Work ran at once.
	overlaps []string
	running  map[int][]*member
	changed  chan struct{}
	logs     strings.Builder
}

// member is a replica, and what it works on.
type member struct {
	w       *world
	conn    *conn
	replica *Replica
	stop    context.CancelFunc
	ended   chan error
	gate    func() // of its clock; guarded by w.mu
	after   func() // called when its clock was read; guarded by w.mu
	// linger is how long Work takes to return.
	linger time.Duration
	// ignores is how long Work goes on after it was cancelled.
	ignores time.Duration
	fail    error // what Work returns at once, if set

	parts  map[int]*Part
	began  time.Time // the newest call of Work
	ceased time.Time // its end
	cause  error     // of it
	calls  int
}

// inWorld runs a test in a bubble.
func inWorld(t *testing.T, parts int, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: newFakeServer(), running: map[int][]*member{}, changed: make(chan struct{})}
		w.opts = Options{Name: "group", Namespace: "default", Parts: parts}
		w.opts.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
		test(w)
		for _, m := range w.members {
			m.leave()
		}
		require.Empty(t, w.server.early)
	})
}

// Write implements io.Writer, for logs.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logs.Write(p)
}

// logged returns how many lines contain a text.
func (w *world) logged(text string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.logs.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// prepare returns a member that does not run yet.
func (w *world) prepare() *member {
	m := &member{w: w, parts: map[int]*Part{}, ended: make(chan error, 1), gate: func() {}}
	m.conn = w.server.connect(rand.New(rand.NewPCG(uint64(len(w.members)), 1)))
	m.conn.slow = 10 * time.Millisecond
	m.conn.identity = fmt.Sprint("member-", len(w.members))
	opts := w.opts
	opts.Identity = fmt.Sprint("member-", len(w.members))
	opts.Work = m.work
	require.NoError(w.t, opts.complete())
	var err error
	m.replica, err = newReplica(m.conn, gatedClock{gate: m.wait, after: m.wasRead}, opts)
	require.NoError(w.t, err)
	w.members = append(w.members, m)
	return m
}

// paused sets what is called when the clock of a member was read.
func (m *member) paused(after func()) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.after = after
}

// wait passes the gate of the clock.
func (m *member) wait() {
	m.w.mu.Lock()
	gate := m.gate
	m.w.mu.Unlock()
	gate()
}

func (m *member) wasRead() {
	m.w.mu.Lock()
	after := m.after
	m.w.mu.Unlock()
	if after != nil {
		after()
	}
}

// gatedClock is the clock of the bubble, between two gates.
type gatedClock struct {
	systemClock
	gate, after func()
}

func (c gatedClock) now() time.Time {
	c.gate()
	defer c.after()
	return c.systemClock.now()
}

func (m *member) run() *member {
	ctx, stop := context.WithCancel(m.w.t.Context())
	m.stop = stop
	go func() { m.ended <- m.replica.Run(ctx) }()
	return m
}

// start starts a member and waits until it is in the group and all parts have owners.
func (w *world) start() *member {
	m := w.prepare().run()
	w.settle()
	return m
}

// settle waits until there is an owner for each part.
func (w *world) settle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// leave stops a member and waits for its end.
func (m *member) leave() {
	if m.stop == nil {
		return
	}
	m.stop()
	require.NoError(m.w.t, <-m.ended)
	m.stop = nil
}

// crash ends a member without a farewell.
func (m *member) crash() {
	m.conn.set(func(c *conn) { c.gone = true })
	m.leave()
}

func (m *member) work(ctx context.Context, part *Part) error {
	w := m.w
	w.mu.Lock()
	if others := w.running[part.Index]; len(others) > 0 {
		w.overlaps = append(w.overlaps, fmt.Sprintf("%v: part %d", time.Now(), part.Index))
	}
	w.running[part.Index] = append(w.running[part.Index], m)
	m.parts[part.Index] = part
	m.began = time.Now()
	m.calls++
	fail := m.fail
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	if fail == nil {
		<-ctx.Done()
		if context.Cause(ctx) == ErrHandover {
			select {
			case <-time.After(m.linger):
			case <-part.Context().Done():
			}
		}
		if part.Context().Err() != nil {
			time.Sleep(m.ignores)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[part.Index] = slices.DeleteFunc(w.running[part.Index], func(o *member) bool { return o == m })
	delete(m.parts, part.Index)
	m.ceased, m.cause = time.Now(), context.Cause(ctx)
	return fail
}

// worker waits for the member that works on part 0, other than not.
func (w *world) worker(not *member) *member {
	for {
		w.mu.Lock()
		for _, m := range w.running[0] {
			if m != not {
				w.mu.Unlock()
				return m
			}
		}
		changed := w.changed
		w.mu.Unlock()
		<-changed
	}
}

// held returns how many parts a member works on.
func (m *member) held() int {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return len(m.parts)
}

// called returns how many times Work was called.
func (m *member) called() int {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.calls
}

// part returns a part that a member works on.
func (m *member) part(index int) *Part {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.parts[index]
}

// others returns the members but m.
func (w *world) others(m *member) []*member {
	return slices.DeleteFunc(slices.Clone(w.members), func(o *member) bool { return o == m })
}
