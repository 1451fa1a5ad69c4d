package informer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// wire is the HTTP/2 connection of a client, which a test can break by hand. The frames are
// bytes here, so that golang.org/x/net stays an indirect dependency.
type wire struct {
	mu     sync.Mutex
	client net.Conn
	stream uint32 // of the last HEADERS frame that was sent to the client
	silent bool   // sends nothing
	deaf   bool   // sends neither HEADERS nor DATA
}

// frame is one of RFC 9113, section 4.1.
func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	return append(binary.BigEndian.AppendUint32(append(head, kind, flags), stream), payload...)
}

// inject sends frames to the client between those of the server.
func (w *wire) inject(frames ...[]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.client.Write(bytes.Join(frames, nil))
}

// forward copies the frames of the server, whole.
func (w *wire) forward(server net.Conn) {
	defer w.client.Close()
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(server, payload); err != nil {
			return
		}
		w.mu.Lock()
		if head[3] == 1 {
			w.stream = binary.BigEndian.Uint32(head[5:])
		}
		if !w.silent && (!w.deaf || head[3] > 1) {
			_, _ = w.client.Write(append(head, payload...))
		}
		w.mu.Unlock()
	}
}

// http2Front serves a handler over TLS and HTTP/2 in memory.
type http2Front struct {
	listener *memnet.Listener
	config   *rest.Config

	mu    sync.Mutex
	wires []*wire
}

func newHTTP2Front(t *testing.T, handler http.Handler) *http2Front {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		DNSNames: []string{"server.test"}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	require.NoError(t, err)
	options := &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}

	behind := memnet.Listen("behind.test")
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	f := &http2Front{listener: memnet.Listen("server.test")}
	f.config = &rest.Config{Host: "https://server.test", QPS: -1, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return f.listener.Dial(ctx) }}
	f.config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(behind) })
	running.Go(func() {
		for {
			conn, err := f.listener.Accept()
			if err != nil {
				return
			}
			w := &wire{client: tls.Server(conn, options)}
			f.mu.Lock()
			f.wires = append(f.wires, w)
			f.mu.Unlock()
			running.Go(func() {
				to, err := behind.Dial(context.Background())
				if err != nil {
					return
				}
				running.Go(func() { w.forward(to) })
				_, _ = io.Copy(to, w.client)
				_ = to.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = f.listener.Close()
		_ = server.Close()
		_ = behind.Close()
		for _, w := range f.all() {
			_ = w.client.Close()
		}
		running.Wait()
	})
	return f
}

func (f *http2Front) all() []*wire {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wires
}

// One frame that breaks the rules of HTTP/2, or a connection on which nothing arrives any more, is
// reported by all informers that use the connection. They continue on another one.
func TestABrokenHTTP2ConnectionIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	const (
		data, headers, settings, pushPromise, ping, goAway, windowUpdate, continuation = 0, 1, 4, 5, 6, 7, 8, 9

		biggest = "\x7f\xff\xff\xff"
		network = "the connection broke after the watch had begun"
	)
	// frames returns a fault with payloads in frames of a kind, for a stream; -1 is the watch that was started last.
	frames := func(kind, flags byte, stream int64, payloads ...string) func(*wire) {
		return func(w *wire) {
			for _, payload := range payloads {
				id := uint32(stream)
				if stream < 0 {
					id = w.stream
				}
				w.inject(frame(kind, flags, id, []byte(payload)...))
			}
		}
	}
	drop := func(all, answers bool) func(*wire) {
		return func(w *wire) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.silent, w.deaf = all, answers
		}
	}
	for name, test := range map[string]struct {
		broken   func(w *wire)
		reports  string        // by all informers, in Health
		within   time.Duration // default: 1s
		one      bool          // only the informer of the stream reports it
		repaired func(w *wire) // if the connection stays in use
	}{
		"window of a stream beyond 2^31-1": {broken: frames(windowUpdate, 0, -1, biggest, biggest), reports: "FLOW_CONTROL_ERROR: " + network, one: true},
		"window of the connection as well": {broken: frames(windowUpdate, 0, 0, biggest, biggest), reports: "FLOW_CONTROL_ERROR: " + network},
		"window of zero":                   {broken: frames(windowUpdate, 0, 0, "\x00\x00\x00\x00"), reports: "PROTOCOL_ERROR: " + network},
		"initial window beyond 2^31-1":     {broken: frames(settings, 0, 0, "\x00\x04\x80\x00\x00\x00"), reports: "FLOW_CONTROL_ERROR: " + network},
		"frames of size zero":              {broken: frames(settings, 0, 0, "\x00\x05\x00\x00\x00\x00"), reports: "PROTOCOL_ERROR: " + network},
		"settings cut short":               {broken: frames(settings, 0, 0, "\x00\x04\x00"), reports: "FRAME_SIZE_ERROR: " + network},
		"data of no stream":                {broken: frames(data, 0, 0, "x"), reports: "PROTOCOL_ERROR: " + network},
		"data of a stream of the future":   {broken: frames(data, 0, 1<<30+1, "x"), reports: "PROTOCOL_ERROR: " + network},
		"headers that cannot be decoded":   {broken: frames(headers, 4, -1, strings.Repeat("\xff", 10)), reports: "COMPRESSION_ERROR: " + network},
		"continuation of nothing":          {broken: frames(continuation, 4, -1, "x"), reports: "PROTOCOL_ERROR: " + network},
		"push":                             {broken: frames(pushPromise, 4, -1, "\x00\x00\x00\x02\x88"), reports: "PROTOCOL_ERROR: " + network},
		"ping of one byte":                 {broken: frames(ping, 0, 0, "x"), reports: "FRAME_SIZE_ERROR: " + network},
		"a frame that is too large":        {broken: func(w *wire) { w.inject([]byte("\xff\xff\xff\x00\x00\x00\x00\x00\x01")) }, reports: "frame too large: " + network},
		"go away":                          {broken: frames(goAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x0b"), reports: "GOAWAY: " + network},
		"an initial window that overflows": {
			broken: func(w *wire) {
				frames(windowUpdate, 0, -1, "\x7f\x00\x00\x00")(w)
				frames(settings, 0, 0, "\x00\x04"+biggest)(w)
			},
			reports: "GOAWAY", within: 2 * time.Second, // the server refuses the acknowledgment
		},
		// client-go sends a PING after 30s.
		"silence": {broken: drop(true, false), reports: "client connection lost: " + network, within: time.Minute},
		// Only the timeouts of the reflector notice this: Idle, and Answer.
		"PINGs are answered, requests are not": {
			broken: drop(false, true), reports: "no answer in time", within: 7 * time.Minute,
			repaired: drop(false, false),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
				front := newHTTP2Front(t, server)
				fac, err := NewFactory(front.config, FactoryOptions{Scheme: scripted.CoreTypes()})
				require.NoError(t, err)
				pods, err := For(fac, ForOptions[*corev1.Pod]{})
				require.NoError(t, err)
				fac.Start(t.Context())
				require.NoError(t, fac.WaitForSync(t.Context()))
				// Later, because two that dial at the same time get a connection each.
				configMaps, err := For(fac, ForOptions[*corev1.ConfigMap]{})
				require.NoError(t, err)
				require.NoError(t, fac.WaitForSync(t.Context()))
				synctest.Wait()
				require.Equal(t, 1, front.listener.Dials(), "both informers use one connection")

				test.broken(front.all()[0])
				broken := time.Now()
				createPod(t, server, "default", "new")
				require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}}))
				reported := func() (n int) {
					for _, h := range []Health{pods.Health(), configMaps.Health()} {
						if err := h.Sources[0].Reflector.LastError; err != nil && strings.Contains(err.Error(), test.reports) {
							n++
						}
					}
					return n
				}
				want := 2
				if test.one {
					want = 1
				}
				for time.Since(broken) < max(test.within, time.Second) && reported() < want {
					time.Sleep(10 * time.Millisecond)
				}
				assert.Equal(t, want, reported(), "%v, %v", pods.Health().Sources[0].Reflector.LastError, configMaps.Health().Sources[0].Reflector.LastError)
				if test.repaired != nil {
					time.Sleep(time.Minute)
					require.Error(t, pods.Ready())
					test.repaired(front.all()[0])
					time.Sleep(2 * time.Minute)
				}
				time.Sleep(5 * time.Second)
				assert.Equal(t, 1, pods.Snapshot().Len())
				assert.Equal(t, 1, configMaps.Snapshot().Len())
				require.NoError(t, pods.Ready())
				require.NoError(t, fac.Shutdown(t.Context()))
				server.Close()
			})
		})
	}
}
