package sharding

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
)

// refusing answers some requests with 403 while it is on.
type refusing struct {
	http.RoundTripper
	on      *atomic.Bool
	refuses func(q *http.Request) bool
}

func (r refusing) RoundTrip(q *http.Request) (*http.Response, error) {
	if !r.on.Load() || !r.refuses(q) {
		return r.RoundTripper.RoundTrip(q)
	}
	if q.Body != nil {
		_, _ = io.Copy(io.Discard, q.Body)
		q.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: q,
		Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"leases is forbidden","code":403}`)),
	}, nil
}

// A replica that joins, or has joined, and cannot write the records of parts leaves them to others, and takes
// its share when it can.
//
// Promise informer/sharding/14
func TestPromise14AReplicaThatCannotWriteRecordsKeepsNoPartFromOthers(t *testing.T) {
	t.Parallel()
	parts := func(q *http.Request) bool {
		return q.Method == http.MethodPut && strings.Contains(q.URL.Path, "g-part-")
	}
	for name, test := range map[string]struct {
		refuses func(q *http.Request) bool
		later   bool
	}{
		"records, from the start": {parts, false},
		"records, later":          {parts, true},
		"all updates":             {func(q *http.Request) bool { return q.Method == http.MethodPut }, false},
		"deletions":               {func(q *http.Request) bool { return q.Method == http.MethodDelete }, false},
		"creations":               {func(q *http.Request) bool { return q.Method == http.MethodPost }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := informertest.Start(t, informertest.Options{InMemory: true})
				start := func(name string, cfg *rest.Config) (r *Replica, end func()) {
					ctx, cancel := context.WithCancel(t.Context())
					r, err := New(cfg, Options{Name: "g", Namespace: "default", Identity: name, Parts: 8, Work: func(ctx context.Context, _ *Part) error {
						<-ctx.Done()
						return nil
					}})
					require.NoError(t, err)
					done := make(chan error, 1)
					go func() { done <- r.Run(ctx) }()
					return r, func() { cancel(); require.NoError(t, <-done) }
				}
				on := &atomic.Bool{}
				bad := rest.CopyConfig(server.Config())
				bad.Wrap(func(rt http.RoundTripper) http.RoundTripper { return refusing{rt, on, test.refuses} })
				b, endB := start("b", rest.CopyConfig(server.Config()))
				time.Sleep(30 * time.Second)
				on.Store(!test.later)
				a, endA := start("a", bad)
				all := []*Replica{a, b}
				if test.later {
					time.Sleep(30 * time.Second)
					require.Len(t, a.Health().Held, 4)
					on.Store(true)
					c, endC := start("c", rest.CopyConfig(server.Config()))
					defer endC()
					all = append(all, c)
				}
				idle, said := 0, false
				for range 600 {
					time.Sleep(time.Second)
					idle += 8
					for _, r := range all {
						h := r.Health()
						for _, p := range h.Held {
							if p.Working && !p.Draining {
								idle--
							}
						}
						said = said || r == b && h.LastError != nil && strings.Contains(fmt.Sprint(h.LastError), "waiting for a replica")
					}
				}
				assert.Less(t, idle, 600*8*5/100, "part-seconds without an owner")
				if name == "records, from the start" {
					assert.True(t, said, "the others say so as well")
				}
				on.Store(false)
				time.Sleep(2 * time.Minute)
				assert.Len(t, a.Health().Held, 8/len(all), "it has its share again")
				endA()
				endB()
			})
		})
	}
}

// If no replica can write records, those that work go on, also when others join.
//
// Promise informer/sharding/14
func TestPromise14WhatWorksGoesOnIfNobodyCanWriteRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		on := &atomic.Bool{}
		cfg := rest.CopyConfig(server.Config())
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return refusing{rt, on, func(q *http.Request) bool {
				return q.Method == http.MethodPut && strings.Contains(q.URL.Path, "g-part-")
			}}
		})
		var all []*Replica
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := New(cfg, Options{Name: "g", Namespace: "default", Identity: fmt.Sprint("pod-", i), Parts: 8, Work: func(ctx context.Context, _ *Part) error {
				<-ctx.Done()
				return nil
			}})
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			defer func() { on.Store(false); cancel(); require.NoError(t, <-done) }()
			all = append(all, r)
			time.Sleep(30 * time.Second)
			on.Store(i > 0) // the last one joins when nobody can write
		}
		for range 600 {
			time.Sleep(time.Second)
			for _, r := range all[:2] {
				h := r.Health()
				require.Equal(t, 1, h.Sessions, "its session has not ended")
				require.True(t, slices.ContainsFunc(h.Held, func(p health.Part) bool { return p.Working && !p.Draining }))
			}
		}
	})
}

// A leader leads until it ends or is lost: nothing moves while counts differ by one at most.
//
// Promise informer/sharding/3
func TestPromise3ALeaderDoesNotStepDownForANewcomer(t *testing.T) {
	t.Parallel()
	for _, gap := range []time.Duration{0, 200 * time.Millisecond, 900 * time.Millisecond, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true})
			var terms atomic.Int32
			var ends []func()
			for i := range 4 {
				ctx, cancel := context.WithCancel(t.Context())
				r, err := New(rest.CopyConfig(server.Config()), Options{Name: "g", Namespace: "default", Identity: fmt.Sprint("pod-", 4-i), Parts: 1, Work: func(ctx context.Context, _ *Part) error {
					terms.Add(1)
					<-ctx.Done()
					return nil
				}})
				require.NoError(t, err)
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				ends = append(ends, func() { cancel(); require.NoError(t, <-done) })
				time.Sleep(gap)
			}
			time.Sleep(time.Minute)
			assert.EqualValues(t, 1, terms.Load(), gap)
			for i := range ends {
				ends[3-i]()
			}
		})
	}
}
