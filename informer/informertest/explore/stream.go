package explore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// stream is a watch. The server writes events at any time; the controller reads those that
// the run has delivered.
type stream struct {
	*request
	number int
	header http.Header
	cancel context.CancelFunc // ends the server's part
	// begun is closed when the header is known, over when the server's part has returned.
	begun, over chan struct{}
	once        sync.Once
	more        chan struct{} // holds a token when there is something to read

	mu      sync.Mutex
	code    int
	plain   bytes.Buffer // the answer, if it is no stream
	arrived [][]byte     // from the server, not delivered yet
	ready   []byte       // delivered, not read yet
	err     error        // what the reader gets after that
	closed  bool         // by the reader
}

// open sends the request of a watch to the server and waits for the header of the answer.
func (r *run) open(rq *request, query url.Values) (*stream, *http.Response) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{
		request: rq, header: http.Header{}, cancel: cancel, begun: make(chan struct{}), over: make(chan struct{}), more: make(chan struct{}, 1),
	}
	hr := rq.forServer(query).WithContext(ctx)
	r.handlers.Go(func() {
		defer close(s.over)
		defer s.begin()
		r.server.ServeHTTP(s, hr)
	})
	<-s.begun
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code != 0 && s.code != http.StatusOK {
		cancel()
		<-s.over
		return nil, response(rq.http, s.code, s.header, io.NopCloser(bytes.NewReader(s.plain.Bytes())), int64(s.plain.Len()))
	}
	return s, response(rq.http, http.StatusOK, s.header, &streamBody{s}, -1)
}

func (s *stream) begin() { s.once.Do(func() { close(s.begun) }) }

// Header, WriteHeader, Write and FlushError are the server's side.
func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(code int) { s.code = code }

func (s *stream) Write(b []byte) (int, error) {
	select {
	case <-s.begun: // an event
	default:
		return s.plain.Write(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = append(s.arrived, bytes.Clone(b))
	return len(b), nil
}

// FlushError sends the header with the first flush; events need none.
func (s *stream) FlushError() error {
	s.begin()
	return nil
}

// pending reports whether there is something to deliver: an event, or the end.
func (s *stream) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return false
	}
	if len(s.arrived) > 0 {
		return true
	}
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// deliver hands the next event to the reader and returns it; nil is the end.
func (s *stream) deliver() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.arrived) == 0 {
		s.err = io.EOF
		s.signal()
		return nil
	}
	frame := s.arrived[0]
	s.arrived = s.arrived[1:]
	s.ready = append(s.ready, frame...)
	s.signal()
	return frame
}

// fail breaks the connection.
func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.arrived = nil
	s.cancel()
	s.signal()
}

// finished reports whether the stream can be forgotten.
func (s *stream) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.err != nil
}

func (s *stream) signal() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// read is the reader's side.
func (s *stream) read(b []byte) (int, error) {
	for {
		s.mu.Lock()
		n := copy(b, s.ready)
		s.ready = s.ready[n:]
		err := s.err
		if s.closed {
			err = http.ErrBodyReadAfterClose
		}
		s.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case err != nil:
			return 0, err
		}
		select {
		case <-s.more:
		case <-s.process.dead:
			return 0, errReset
		case <-s.http.Context().Done():
			return 0, s.http.Context().Err()
		}
	}
}

// streamBody is the body of the response.
type streamBody struct{ s *stream }

func (b *streamBody) Read(p []byte) (int, error) { return b.s.read(p) }

// Close ends the watch. A Read in progress returns.
func (b *streamBody) Close() error {
	s := b.s
	s.mu.Lock()
	s.closed = true
	s.arrived = nil
	s.mu.Unlock()
	s.cancel()
	s.signal()
	return nil
}
