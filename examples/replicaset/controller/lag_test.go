package controller

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

const watchLag = 5 * time.Second

// lagging is a transport whose watches deliver everything watchLag late.
type lagging struct{ http.RoundTripper }

func (l lagging) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		resp.Body = newLateBody(resp.Body)
	}
	return resp, err
}

// lateBody delivers what is read from a body watchLag after it has come.
type lateBody struct {
	io.Closer
	pieces chan latePiece
	closed chan struct{}
	close  sync.Once
	rest   []byte
}

type latePiece struct {
	data []byte
	err  error
	at   time.Time
}

func newLateBody(body io.ReadCloser) *lateBody {
	l := &lateBody{Closer: body, pieces: make(chan latePiece, 1024), closed: make(chan struct{})}
	go func() {
		for buf := make([]byte, 64<<10); ; {
			n, err := body.Read(buf)
			select {
			case l.pieces <- latePiece{slices.Clone(buf[:n]), err, time.Now().Add(watchLag)}:
			case <-l.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *lateBody) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		select {
		case piece := <-l.pieces:
			select {
			case <-time.After(time.Until(piece.at)):
			case <-l.closed:
				return 0, io.ErrClosedPipe
			}
			if l.rest = piece.data; len(l.rest) == 0 {
				return 0, piece.err
			}
		case <-l.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lateBody) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Closer.Close()
}

// Ten sets and two workers: a worker that waited for the cache would hold eight sets
// up, and a key that did not wait would create its pods again.
func TestUnderAWatchLagNoPodIsCreatedTwiceAndNoWorkerIsBlocked(t *testing.T) {
	lag := func(cfg *rest.Config) {
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return lagging{rt} })
	}
	inBubble(t, lag, func(b *bench) {
		<-time.After(3 * watchLag) // the caches are synced
		const sets, replicas = 10, 3
		for i := range sets {
			assert.NoError(b, b.server.Create(newSet(fmt.Sprint("set-", i), replicas)))
		}
		<-time.After(time.Second)
		for i := range sets { // an event for each set, when its pods exist and are not seen
			assert.NoError(b, b.server.Modify(api.GroupVersionResource, "default", fmt.Sprint("set-", i), func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{"touched": "yes"})
			}))
		}
		<-time.After(watchLag + time.Second)
		assert.Equal(b, slices.Repeat([]string{created}, sets*replicas), b.actions(), "all workers are at work")
		stats := b.c.Stats()
		assert.Equal(b, sets, stats.Parked)
		assert.Zero(b, stats.Running, "no worker waits")

		<-time.After(time.Minute)
		assert.Empty(b, b.actions(), "none is created twice, none deleted")
		stats = b.c.Stats()
		assert.Zero(b, stats.Parked+stats.Queued+stats.Delayed)
		assert.Zero(b, stats.ParkTimeouts)
		for i := range sets {
			set := b.set(fmt.Sprint("set-", i))
			assert.Len(b, b.pods(set.UID), replicas)
			assert.EqualValues(b, replicas, set.Status.Replicas)
		}
	})
}
