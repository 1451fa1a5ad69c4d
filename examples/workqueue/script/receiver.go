package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/informerkit/informerkit/examples/workqueue/controller"
)

// receiver receives the controller's reports in the demo. It is not always available.
type receiver struct {
	failures map[string]int          // by pod: how many reports do not get through; negative: none does
	hears    func(controller.Report) // called for each report before it counts as received

	mu       sync.Mutex
	open     chan struct{}          // closed while reports are taken
	asked    map[string][]time.Time // by pod: the times of the calls
	received []controller.Report    // in order
}

func newReceiver(failures map[string]int, hears func(controller.Report)) *receiver {
	p := &receiver{failures: failures, hears: hears, open: make(chan struct{}), asked: map[string][]time.Time{}}
	close(p.open)
	return p
}

// hold makes calls wait, and the workers that make them.
func (p *receiver) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// release ends that. It may be called when nothing is held.
func (p *receiver) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// receive takes a report, or fails.
func (p *receiver) receive(ctx context.Context, r controller.Report) error {
	p.mu.Lock()
	open := p.open
	p.asked[r.Pod.Name] = append(p.asked[r.Pod.Name], time.Now())
	p.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if left := p.failures[r.Pod.Name]; left != 0 {
		p.failures[r.Pod.Name] = left - 1
		return errors.New("no answer")
	}
	// With the lock held: who finds the report may say so, and has to come second.
	p.hears(r)
	p.received = append(p.received, r)
	return nil
}

// position returns the place of the first report that matches, or -1.
func (p *receiver) position(matches func(controller.Report) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.IndexFunc(p.received, matches)
}

// waits returns the times between successive attempts to report a pod. It returns an
// error if there were not want attempts, or if one of them came early: the delay
// must double each time.
func (p *receiver) waits(pod string, want int) ([]time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked[pod]
	if len(asked) != want {
		return nil, fmt.Errorf("%s took %d attempts, not %d", pod, len(asked), want)
	}
	var waits []time.Duration
	for i := 1; i < len(asked); i++ {
		wait := asked[i].Sub(asked[i-1])
		if least := controller.FirstDelay << (i - 1); wait < least {
			return nil, fmt.Errorf("attempt %d for %s came after %v, not %v", i+1, pod, wait, least)
		}
		waits = append(waits, wait.Round(time.Millisecond))
	}
	return waits, nil
}
