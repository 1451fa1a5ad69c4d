package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// Serve is what a controller's process does: it obeys the orders that it reads
// from in until that ends.
func Serve(in io.Reader, out io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	orders := make(chan order)
	go func() { // ends with the process: a read cannot be cancelled
		decoder := json.NewDecoder(in)
		for {
			var o order
			if err := decoder.Decode(&o); err != nil {
				cancel(err)
				return
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return
			}
		}
	}()

	s := server{recorder: newRecorder(), cancel: cancel}
	defer s.wait()
	defer cancel(nil) // before the wait
	defer func() { err = errors.Join(err, s.profile.stop()) }()
	encoder := json.NewEncoder(out)
	for {
		select {
		case o := <-orders:
			a, err := s.obey(ctx, o)
			if err != nil {
				a.Error = err.Error()
			}
			if err := encoder.Encode(a); err != nil {
				return err
			}
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
	}
}

// server runs a controller and watches it.
type server struct {
	recorder *recorder
	requests Requests
	cancel   context.CancelCauseFunc
	ended    chan struct{} // closed when the controller has; nil before it starts
	profile  *profile      // nil: none
	// begin is that of the controller; nil if it needs no order, or has not started.
	begin func(context.Context, int) error
}

func (s *server) obey(ctx context.Context, o order) (a answer, err error) {
	switch {
	case o.Start != nil:
		err = s.start(ctx, *o.Start)
		a.At = time.Now()
	case o.Begin > 0:
		a.At, err = time.Now(), s.beginRequests(ctx, o.Begin)
	case o.Reconcile > 0:
		a.At, err = s.recorder.waitFor(ctx, o.Reconcile)
	case o.Sample:
		a.Sample, a.At = s.sample(), time.Now()
	case o.Live:
		a.Live, a.At = live(), time.Now()
	case o.Events:
		a.Events, a.At = s.recorder.snapshot(), time.Now()
	default:
		err = errors.New("an order that asks for nothing")
	}
	return a, err
}

// start runs the controller and returns when its caches are synced.
func (s *server) start(ctx context.Context, o startOrder) error {
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
		s.cancel(errors.Join(errors.New("the controller has ended"), c.Run(ctx)))
	}()
	if err := c.WaitForSync(ctx); err != nil || o.Profile == "" {
		return err
	}
	s.profile, err = startProfile(o.Profile)
	return err
}

func (s *server) beginRequests(ctx context.Context, n int) error {
	if s.begin == nil {
		return fmt.Errorf("only %q waits for an order to begin, when it has started", RequestsAlone)
	}
	return s.begin(ctx, n)
}

// wait returns when the controller has ended, if there is one.
func (s *server) wait() {
	if s.ended != nil {
		<-s.ended
	}
}

func (s *server) sample() *usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &usage{
		CPU: cpuTime(), Allocs: m.Mallocs, Bytes: m.TotalAlloc,
		Reconciles: s.recorder.count(), Requests: s.requests.Counts(),
	}
}

// live returns what is alive on heap and stacks of the process. The second
// collection frees what finalizers and pools had kept over the first.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
