package wire

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/httpclient"
)

const (
	// A list may be waited for patience, and a second for each minRate bytes that have come:
	// a link of a modem is faster, and a server that sends a byte now and then is not.
	patience = time.Minute
	minRate  = 1 << 10
)

// limits bound one reading of the collection: the pages of a list, or the initial events of a
// watch. Whatever a broken server sends, it ends: without them it could send objects until
// there is no memory left, or a byte at a time for ever.
type limits struct {
	objects int
	bytes   int64

	mu sync.Mutex
	// token is the continue token of the latest page that was read; the next one goes on
	// from what there was up to it.
	token string
	sofar counts
}

// newLimits returns those of the options, or else the defaults.
func newLimits(opts Options) *limits {
	return &limits{objects: cmp.Or(opts.MaxObjects, httpclient.MaxObjects), bytes: cmp.Or(opts.MaxBytes, httpclient.MaxBytes)}
}

// counts are objects and bytes.
type counts struct {
	objects int
	bytes   int64
}

// limitedBody is the body of an answer within the limits.
type limitedBody struct {
	io.Reader
	limits *limits
	counts counts        // objects belong to what takes them, bytes to the reader
	got    int64         // bytes of this answer
	waited time.Duration // for them
	paced  bool          // whether waiting has an end here
}

// begin returns the body of an answer to a request with a continue token. The reflector has
// deadlines of its own for initial events.
func (l *limits) begin(body io.Reader, token string, paced bool) *limitedBody {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &limitedBody{Reader: body, limits: l, paced: paced}
	if token != "" && token == l.token {
		b.counts = l.sofar
	}
	return b
}

// end notes that an answer was read to its end, and the continue token in it.
func (l *limits) end(b *limitedBody, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token, l.sofar = token, b.counts
}

// object counts an object.
func (b *limitedBody) object() error {
	if b.counts.objects++; b.counts.objects > b.limits.objects {
		return fmt.Errorf("the collection has more than %d objects; ResourceOptions.MaxObjects sets the limit", b.limits.objects)
	}
	return nil
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.limits == nil {
		return b.Reader.Read(p)
	}
	start := time.Now()
	n, err := b.Reader.Read(p)
	b.waited += time.Since(start)
	b.got += int64(n)
	b.counts.bytes += int64(n)
	switch {
	case b.counts.bytes > b.limits.bytes:
		err = b.tooMuch()
	case err == nil && b.paced && b.waited > patience+time.Duration(b.got)*(time.Second/minRate):
		err = fmt.Errorf("the list comes too slowly: %d bytes in %s", b.got, b.waited.Round(time.Second))
	}
	return n, err
}

// tooMuch is the error for more bytes.
func (b *limitedBody) tooMuch() error {
	return fmt.Errorf("the collection has more than %d bytes; ResourceOptions.MaxBytes sets the limit", b.limits.bytes)
}

// unbounded lifts the limits: what follows are the events of a watch. The error is that of the
// last bytes before.
func (b *limitedBody) unbounded() error {
	if b.counts.bytes > b.limits.bytes {
		return b.tooMuch()
	}
	b.limits = nil
	return nil
}
