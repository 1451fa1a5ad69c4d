package explore

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/informerkit/informerkit/internal/panics"
)

// process is one life of a replica, from a Start to its end.
type process struct {
	run    *run
	name   string // "a1"
	cancel context.CancelFunc
	// dead is closed by a crash: whatever the process still sends is refused.
	dead chan struct{}
	// ended is closed when Start has returned.
	ended chan struct{}
	// stopped is when its context ended; zero before.
	stopped time.Time
	killed  bool
	// leases and everything are until when these requests do not reach the server.
	leases, everything time.Time
	view               *knowledge
}

// replica restarts a controller, as a kubelet does.
type replica struct {
	name  string // "a"
	lives int
	now   *process // the latest one
}

// supervise starts a replica until the run is over.
func (r *run) supervise(rep *replica) {
	defer r.running.Done()
	for wait := time.Second; ; {
		p, ctx := r.begin(rep)
		if p == nil {
			return
		}
		err := p.start(ctx)
		again := r.ended(p, err)
		if !again {
			return
		}
		if !p.killed { // it ended by itself
			wait = min(2*wait, time.Minute)
		}
		select {
		case <-time.After(wait):
		case <-r.over:
			return
		}
	}
}

// begin makes the next process of a replica; nil when the run is over.
func (r *run) begin(rep *replica) (*process, context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return nil, nil
	}
	rep.lives++
	p := &process{
		run: r, name: fmt.Sprintf("%s%d", rep.name, rep.lives), dead: make(chan struct{}), ended: make(chan struct{}), view: newKnowledge(),
	}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), replicaKey{}, p.name))
	p.cancel = cancel
	rep.now = p
	r.note(event{who: p.name, kind: eventFault, text: "starts"})
	return p, ctx
}

// start calls Start. A panic in its goroutine is an error; one in a goroutine of the
// subject's own ends the test, as always in Go.
func (p *process) start(ctx context.Context) (err error) {
	defer close(p.ended)
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: string(debug.Stack())}
		}
	}()
	cfg := p.run.server.Config()
	cfg.Transport = p
	cfg.ContentType = "application/json" // this package reads bodies; controller-runtime's default is protobuf
	defer panics.Watch(cfg, func(value any, stack []byte) {
		p.run.fail(rulePanic, fmt.Sprintf("a reconcile of %s panicked: %v\n%s", p.name, value, stack))
	})()
	return p.run.subject.Start(ctx, cfg)
}

// panicError is a panic of Start.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// ended notes that Start has returned and reports whether to start again.
func (r *run) ended(p *process, err error) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.cancel()
	if p2, ok := err.(*panicError); ok {
		r.failLocked(rulePanic, fmt.Sprintf("%s panicked: %v\n%s", p.name, p2.value, p2.stack))
	}
	if p.stopped.IsZero() && !r.stopping {
		p.stopped = time.Now()
		r.crashes++
		r.note(event{who: p.name, kind: eventFault, text: fmt.Sprintf("ends by itself: %v", err)})
		if r.crashes > maxCrashes {
			r.failLocked(ruleStart, fmt.Sprintf("Start has ended by itself %d times, with: %v", r.crashes, err))
		}
	}
	r.poke()
	return !r.stopping
}

// maxCrashes is how often processes may end by themselves in a run.
const maxCrashes = 20

// kill ends a process at once: its connections break, and its context ends.
func (r *run) killLocked(p *process) {
	if p.killed {
		return
	}
	p.killed = true
	close(p.dead)
	r.stopLocked(p)
	for _, s := range r.streams {
		if s.process == p {
			s.fail(errReset)
		}
	}
}

// stopLocked ends the context of a process, as a SIGTERM does.
func (r *run) stopLocked(p *process) {
	if p.stopped.IsZero() {
		p.stopped = time.Now()
		p.cancel()
	}
}

// The errors of connections.
var (
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

// RoundTrip implements http.RoundTripper: it is the only way from the controller to the
// server. A request waits until the run lets it through.
func (p *process) RoundTrip(hr *http.Request) (*http.Response, error) {
	select {
	case <-p.dead:
		return nil, errRefused
	default:
	}
	rq, err := newRequest(hr, p)
	if err != nil {
		return nil, err
	}
	if rq.Resource == "" {
		return p.discover(rq)
	}
	p.run.enqueue(rq)
	select {
	case a := <-rq.done:
		return a.response, a.err
	case <-p.dead:
		return nil, errReset
	case <-hr.Context().Done():
		p.run.withdraw(rq)
		return nil, hr.Context().Err()
	}
}

// discover answers a request that is not for objects, at once. controller-runtime makes it while it holds a mutex for
// which others wait, and a goroutine that waits for a mutex is not blocked in the sense of package
// synctest: if the request had to wait for its turn, there would never be one.
func (p *process) discover(rq *request) (*http.Response, error) {
	p.run.mu.Lock()
	away := time.Now().Before(p.everything)
	p.run.mu.Unlock()
	if away {
		return nil, errRefused
	}
	return p.run.serve(rq.forServer(nil)).respond(rq.http), nil
}
