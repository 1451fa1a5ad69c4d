package differential

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// proxy stands between one client and the server, and ends watches.
type proxy struct {
	next http.RoundTripper
	life time.Duration // of each watch; 0: without end
	end  error         // io.EOF is a clean end

	mu       sync.Mutex
	start    time.Time
	requests []time.Duration
	live     map[*proxied]bool
	expired  bool // the next watch that resumes gets a 410
}

// proxied is the body of a watch.
type proxied struct {
	io.ReadCloser
	p      *proxy
	cancel context.CancelFunc
	mu     sync.Mutex
	err    error
}

func (b *proxied) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}

func (b *proxied) cut(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	b.cancel()
}

func (b *proxied) Close() error {
	b.p.mu.Lock()
	delete(b.p.live, b)
	b.p.mu.Unlock()
	defer b.cancel()
	return b.ReadCloser.Close()
}

func (p *proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	watching := q.Get("watch") != "" && q.Get("watch") != "false"
	p.mu.Lock()
	p.requests = append(p.requests, time.Since(p.start))
	gone := p.expired && watching && q.Get("sendInitialEvents") == ""
	p.expired = p.expired && !gone
	p.mu.Unlock()
	if gone {
		const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`
		return &http.Response{
			StatusCode: http.StatusGone, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
		}, nil
	}
	if !watching {
		return p.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := p.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return resp, err
	}
	body := &proxied{ReadCloser: resp.Body, p: p, cancel: cancel}
	resp.Body = body
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[body] = true
	if p.life > 0 {
		time.AfterFunc(p.life, func() { body.cut(p.end) })
	}
	return resp, nil
}

// cut breaks the connections of all watches.
func (p *proxy) cut(expired bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired = expired
	for body := range p.live {
		body.cut(io.ErrUnexpectedEOF)
	}
}

// outages are what happens to both clients.
type outages struct {
	life    time.Duration
	cuts    []time.Duration
	expired bool
	lasts   time.Duration
}

// measured is how one client fared.
type measured struct {
	stale    time.Duration // for how long at most a write was not visible
	requests int
}

// staleness writes twice a second, and lets both informers follow through proxies.
func staleness(t *testing.T, o outages, watchList bool) (ours, theirs measured) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true, Scheme: scheme.Scheme, DisableWatchList: !watchList})
		require.NoError(t, err)
		defer server.Close()
		require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}))
		proxies := [2]*proxy{}
		through := func(i int) *rest.Config {
			p := &proxy{life: o.life, end: io.EOF, start: time.Now(), live: map[*proxied]bool{}}
			proxies[i] = p
			cfg := server.Config()
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { p.next = rt; return p })
			return cfg
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()

		source, err := reflector.NewResource[*corev1.Pod](through(0), pods, reflector.ResourceOptions{})
		require.NoError(t, err)
		our, err := informer.New(source, informer.Options[*corev1.Pod]{})
		require.NoError(t, err)
		running.Go(func() { _ = our.Run(ctx) })

		cfg := through(1)
		cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
		client, err := rest.RESTClientFor(cfg)
		require.NoError(t, err)
		their := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(client, pods.Resource, "", fields.Everything()), &corev1.Pod{}, 0, cache.Indexers{})
		running.Go(func() { their.RunWithContext(ctx) })

		seen := [2]func() int{
			func() int {
				p, ok := our.Snapshot().Get(keyOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}))
				return written(p, ok)
			},
			func() int {
				p, ok, _ := their.GetStore().GetByKey("ns/p")
				pod, _ := p.(*corev1.Pod)
				return written(pod, ok)
			},
		}
		var out [2]measured
		var writes []time.Time
		const tick = 10 * time.Millisecond
		cuts := o.cuts
		for now := time.Duration(0); now < o.lasts; now += tick {
			if now%(500*time.Millisecond) == 0 {
				writes = append(writes, time.Now())
				require.NoError(t, server.Modify(pods, "ns", "p", func(u *unstructured.Unstructured) {
					u.SetAnnotations(map[string]string{"n": strconv.Itoa(len(writes))})
				}))
			}
			if len(cuts) > 0 && now >= cuts[0] {
				cuts = cuts[1:]
				proxies[0].cut(o.expired)
				proxies[1].cut(o.expired)
			}
			time.Sleep(tick)
			synctest.Wait()
			for i, n := range [2]int{seen[0](), seen[1]()} {
				if n < len(writes) {
					out[i].stale = max(out[i].stale, time.Since(writes[n]))
				}
			}
		}
		for i, p := range proxies {
			p.mu.Lock()
			out[i].requests = len(p.requests)
			p.mu.Unlock()
		}
		ours, theirs = out[0], out[1]
	})
	return ours, theirs
}

// written returns the number of the write that a pod shows.
func written(p *corev1.Pod, ok bool) int {
	if !ok || p == nil {
		return 0
	}
	n, _ := strconv.Atoi(p.Annotations["n"])
	return n
}

// TestWatchesThatEndEarlyMakeTheCacheNoStalerThanClientGo compares for how long
// writes are not visible behind the same proxy, and counts requests. Both draw
// waits at random, so each case runs several times.
func TestWatchesThatEndEarlyMakeTheCacheNoStalerThanClientGo(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, o := range map[string]outages{
		"closed cleanly every 8s":     {life: 8 * s, lasts: 5 * time.Minute},
		"closed cleanly every 3s":     {life: 3 * s, lasts: 20 * s},
		"four cuts with a 410":        {cuts: []time.Duration{15 * s, 30 * s, 45 * s, 60 * s}, expired: true, lasts: 90 * s},
		"a healthy connection is cut": {cuts: []time.Duration{30 * s}, lasts: time.Minute},
		"four cuts":                   {cuts: []time.Duration{2 * s, 4 * s, 6 * s, 8 * s}, lasts: time.Minute},
	} {
		for _, watchList := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, WatchList %t", name, watchList), func(t *testing.T) {
				t.Parallel()
				for range 3 {
					ours, theirs := staleness(t, o, watchList)
					t.Logf("ours %v, %d requests; client-go's %v, %d requests", ours.stale, ours.requests, theirs.stale, theirs.requests)
					assert.LessOrEqual(t, ours.stale, theirs.stale+s)
					// A watch that ran for a second and more is resumed at once: one request per life.
					bound := 9 + o.lasts.Seconds()/10
					if o.life > 0 {
						bound = 9 + o.lasts.Seconds()/min(10, o.life.Seconds())
					}
					assert.LessOrEqual(t, float64(ours.requests), bound)
				}
			})
		}
	}
}
