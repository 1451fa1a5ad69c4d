package informer

import "sync/atomic"

// signal is a channel that is closed once. The channel is made when something waits for
// it: of the signals of an informer most are looked at and never waited for, and a channel
// takes more than a hundred bytes. The zero value is ready to use.
type signal struct {
	channel atomic.Pointer[chan struct{}] // nil: not closed, and nothing has waited
}

// closedChannel stands for the channel of every signal that is closed and that nothing
// waits for any more.
var closedChannel = func() *chan struct{} {
	c := make(chan struct{})
	close(c)
	return &c
}()

// wait returns a channel that is closed by close.
func (s *signal) wait() <-chan struct{} {
	if c := s.channel.Load(); c != nil {
		return *c
	}
	c := make(chan struct{})
	if s.channel.CompareAndSwap(nil, &c) {
		return c
	}
	return *s.channel.Load() // never nil again
}

// isClosed reports whether close was called. It agrees with each channel that wait has
// returned.
func (s *signal) isClosed() bool {
	c := s.channel.Load()
	return c != nil && isClosed(*c)
}

// close closes the signal. Like a channel, it must be closed only once.
func (s *signal) close() {
	if s.channel.CompareAndSwap(nil, closedChannel) {
		return
	}
	// First the channel: it is what isClosed looks at. Then it is left to those that wait.
	close(*s.channel.Load())
	s.channel.Store(closedChannel)
}

// isClosed reports whether c, on which nothing is sent, is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
