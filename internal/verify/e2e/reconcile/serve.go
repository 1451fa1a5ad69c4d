package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Order asks for a controller.
type Order struct {
	Side       Side
	Kubeconfig string
	Namespace  string
	Workers    int
	// Profile is where profiles go, from the sync to the end, without the ending of their
	// files; "" is none.
	Profile string
}

// Usage is what the process has used, and done, since it began.
type Usage struct {
	CPU        time.Duration
	Allocs     uint64
	Bytes      uint64
	Reconciles int
	Requests   map[string]int
}

// Events are what the probes recorded, in the order of time for each set.
type Events struct {
	Handled     map[string][]Handled
	Reconciling map[string][]time.Time
}

// Handled is a call of the handler with a set.
type Handled struct {
	Generation int64
	At         time.Time
}

// Serve is what a controller's process does: the measuring process calls the methods of
// server, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &server{ctx: ctx, cancel: cancel, recorder: newRecorder(), profiled: func() {}}
	err := measure.Serve(s, in, out, func() { cancel(io.EOF) })
	s.profiled()
	cancel(io.EOF)
	if s.ended != nil {
		<-s.ended
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, io.EOF) {
		return cause
	}
	return err
}

// server runs a controller and watches it.
type server struct {
	ctx      context.Context // ends with the controller, and with the input
	cancel   context.CancelCauseFunc
	recorder *recorder
	requests Requests
	ended    chan struct{} // closed when the controller has; nil before it starts
	profiled func()        // writes the profiles
	// begin is that of the controller; nil if it needs no order, or has not started.
	begin func(context.Context, int) error
}

// Start runs the controller and replies when its caches were synced.
func (s *server) Start(o Order, at *time.Time) error {
	if s.ended != nil {
		return errors.New("a process runs one controller")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS = -1 // no limit on requests, on either side
	c, err := NewController(o.Side, s.requests.Of(cfg), o.Namespace, Probes{
		Workers: o.Workers, Handled: s.recorder.handled, Reconciling: s.recorder.reconciling,
	})
	if err != nil {
		return err
	}
	s.begin, s.ended = c.Begin, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.cancel(errors.Join(errors.New("the controller has ended"), c.Run(s.ctx)))
	}()
	err = c.WaitForSync(s.ctx)
	*at = time.Now()
	if err != nil || o.Profile == "" {
		return err
	}
	runtime.MemProfileRate = 64 << 10 // finer than usual
	s.profiled, err = measure.Profile(o.Profile)
	return err
}

// Begin sends the requests for so many more sets; see [RequestsAlone].
func (s *server) Begin(n int, _ *measure.None) error {
	if s.begin == nil {
		return fmt.Errorf("only %q waits for an order to begin, when it has started", RequestsAlone)
	}
	return s.begin(s.ctx, n)
}

// Reconciled replies when so many sets had been reconciled.
func (s *server) Reconciled(n int, at *time.Time) (err error) {
	*at, err = s.recorder.waitFor(s.ctx, n)
	return err
}

// Recorded replies with what the probes recorded.
func (s *server) Recorded(_ measure.None, e *Events) error {
	*e = *s.recorder.snapshot()
	return context.Cause(s.ctx)
}

// Used replies with what has been used so far.
func (s *server) Used(_ measure.None, u *Usage) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	*u = Usage{
		CPU: measure.CPUTime(), Allocs: m.Mallocs, Bytes: m.TotalAlloc,
		Reconciles: s.recorder.count(), Requests: s.requests.Counts(),
	}
	return context.Cause(s.ctx)
}

// Live replies with what is live on heap and stacks.
func (s *server) Live(_ measure.None, bytes *uint64) error {
	var m runtime.MemStats
	measure.Settle(&m)
	*bytes = m.HeapAlloc + m.StackInuse
	return context.Cause(s.ctx)
}
