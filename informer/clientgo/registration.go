package clientgo

import (
	"sync"

	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
)

// registration is what AddEventHandler returns. That of an informer which was made by one
// of client-go's constructors is attached when the informer is started, as client-go's
// handlers get nothing before that: neither what a program has put into the store.
type registration struct {
	name string
	// attach adds the handler; it is nil after that.
	attach func() (*informer.Registration, error)

	mu      sync.Mutex
	reg     *informer.Registration // nil before the start
	removed bool
	// What was returned before the start. A goroutine closes them after it.
	synced, gone chan struct{}
}

// start attaches the handler, unless it was removed.
func (r *registration) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed || r.reg != nil {
		return nil
	}
	reg, err := r.attach()
	if err != nil {
		return err
	}
	r.reg = reg
	if r.synced == nil && r.gone == nil {
		return nil
	}
	synced, gone := r.synced, r.gone
	go func() {
		select {
		case <-reg.Synced():
			closeIf(synced)
			if gone == nil {
				return
			}
			<-reg.Done()
		case <-reg.Done():
		}
		closeIf(gone)
	}()
	return nil
}

func closeIf(c chan struct{}) {
	if c != nil {
		close(c)
	}
}

// remove removes the handler. It is called once.
func (r *registration) remove() {
	r.mu.Lock()
	reg := r.reg
	r.removed = true
	if reg == nil {
		if r.gone == nil {
			r.gone = make(chan struct{})
		}
		close(r.gone)
	}
	r.mu.Unlock()
	if reg != nil {
		reg.Remove()
	}
}

// HasSynced reports whether the handler has got all of the first list.
func (r *registration) HasSynced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reg != nil && r.reg.HasSynced()
}

// HasSyncedChecker returns what cache.WaitFor waits for.
func (r *registration) HasSyncedChecker() upstream.DoneChecker {
	return checker{r.name, r.channel(&r.synced, (*informer.Registration).Synced)}
}

// ShutdownChan returns what cache.ShutDownEventHandler waits for: a channel that is
// closed when the handler is removed and no call of it is running.
func (r *registration) ShutdownChan() <-chan struct{} {
	return r.channel(&r.gone, (*informer.Registration).Done)
}

// channel returns that of the informer's registration, or one in its place before the start.
func (r *registration) channel(early *chan struct{}, attached func(*informer.Registration) <-chan struct{}) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reg != nil {
		return attached(r.reg)
	}
	if *early == nil {
		*early = make(chan struct{})
	}
	return *early
}

// checker implements cache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }
