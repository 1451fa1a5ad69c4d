package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/informerkit/informerkit/internal/verify/bench/shards"
)

// traffic counts what a replica sends and receives, and cuts it off when it is killed.
// Bytes are those of the bodies, without compression.
type traffic struct {
	dead atomic.Bool

	lists, watches, sessions, records atomic.Int64
	listBytes, watchBytes, leaseBytes atomic.Int64
}

var errKilled = errors.New("this replica was killed")

// wrap counts the requests that next carries out.
func (t *traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if t.dead.Load() {
			return nil, errKilled
		}
		bytes, marked := t.note(r)
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		answer.Body = &body{ReadCloser: answer.Body, t: t, bytes: bytes, marked: marked}
		return answer, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// note counts a request, and returns what counts the bytes of its answer. If marked, these
// are initial events up to a bookmark.
func (t *traffic) note(r *http.Request) (bytes *atomic.Int64, marked bool) {
	query := r.URL.Query()
	watch := query.Get("watch") == "1" || query.Get("watch") == "true"
	if strings.Contains(r.URL.Path, "/leases") {
		switch {
		case r.Method == http.MethodGet:
		case isRecord(r):
			t.records.Add(1)
		default:
			t.sessions.Add(1)
		}
		return &t.leaseBytes, false
	}
	switch {
	case watch && query.Get("sendInitialEvents") == "true":
		t.lists.Add(1)
		return &t.listBytes, true
	case watch:
		t.watches.Add(1)
		return &t.watchBytes, false
	}
	t.lists.Add(1)
	return &t.listBytes, false
}

// isRecord reports whether a write is of the Lease of a part.
func isRecord(r *http.Request) bool {
	const record = "-part-"
	if r.Method != http.MethodPost || r.GetBody == nil {
		return strings.Contains(r.URL.Path, record)
	}
	text, err := r.GetBody()
	if err != nil {
		return false
	}
	defer text.Close()
	all, err := io.ReadAll(text)
	return err == nil && bytes.Contains(all, []byte(record))
}

// body counts the bytes of an answer.
type body struct {
	io.ReadCloser
	t      *traffic
	bytes  *atomic.Int64
	marked bool
	tail   []byte // the end of what was read, for a mark that is cut in two
}

// mark is in the bookmark that ends the initial events of a watch.
var mark = []byte("k8s.io/initial-events-end")

func (b *body) Read(p []byte) (int, error) {
	if b.t.dead.Load() {
		return 0, errKilled
	}
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	if b.marked {
		seen := append(b.tail, p[:n]...)
		if bytes.Contains(seen, mark) {
			b.marked, b.bytes, b.tail = false, &b.t.watchBytes, nil
		} else {
			b.tail = append(b.tail[:0], seen[max(0, len(seen)-len(mark)):]...)
		}
	}
	return n, err
}

// count returns the counts so far.
func (t *traffic) count() shards.Traffic {
	return shards.Traffic{
		Lists: t.lists.Load(), Watches: t.watches.Load(), SessionWrites: t.sessions.Load(), RecordWrites: t.records.Load(),
		ListBytes: t.listBytes.Load(), WatchBytes: t.watchBytes.Load(), LeaseBytes: t.leaseBytes.Load(),
	}
}
