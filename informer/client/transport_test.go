package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// wrapped is a transport that adds a header, as that of a cloud provider.
type wrapped struct{ next http.RoundTripper }

func (w wrapped) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Wrapped", req.UserAgent()) // what it sees counts, too
	return w.next.RoundTrip(req)
}

// Whatever a rest.Config says of the transport, requests arrive as those of client-go's own client do.
//
// Promise client/5
func TestRequestsAreSentAsClientGoSendsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(token, []byte("from-a-file"), 0o600))
	plugin := filepath.Join(dir, "plugin")
	require.NoError(t, os.WriteFile(plugin, []byte("#!/bin/sh\n"+
		`echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-a-plugin"}}'`+"\n"), 0o700)) //nolint:gosec // it is run
	var dialed, proxied atomic.Int32
	for name, change := range map[string]func(*rest.Config){
		"nothing":      func(*rest.Config) {},
		"user agent":   func(cfg *rest.Config) { cfg.UserAgent = "mine/1" },
		"bearer token": func(cfg *rest.Config) { cfg.BearerToken = "secret" },
		"token file":   func(cfg *rest.Config) { cfg.BearerTokenFile = token },
		"password":     func(cfg *rest.Config) { cfg.Username, cfg.Password = "me", "secret" },
		"user in URL":  func(cfg *rest.Config) { cfg.Host = strings.Replace(cfg.Host, "://", "://me:secret@", 1) },
		"impersonation": func(cfg *rest.Config) {
			cfg.Impersonate = rest.ImpersonationConfig{UserName: "u", Groups: []string{"g", "h"}}
		},
		"wrapper": func(cfg *rest.Config) {
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return wrapped{next} })
		},
		"exec plugin": func(cfg *rest.Config) {
			cfg.ExecProvider = &clientcmdapi.ExecConfig{Command: plugin, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		},
		"transport": func(cfg *rest.Config) {
			cfg.Transport, cfg.TLSClientConfig = wrapped{anyServer()}, rest.TLSClientConfig{}
		},
		"dial": func(cfg *rest.Config) {
			cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialed.Add(1)
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		},
		"proxy": func(cfg *rest.Config) {
			cfg.Proxy = func(*http.Request) (*url.URL, error) { proxied.Add(1); return nil, nil }
		},
		"compression":  func(cfg *rest.Config) { cfg.DisableCompression = true },
		"HTTP/1.1":     func(cfg *rest.Config) { cfg.NextProtos = []string{"http/1.1"} },
		"path in host": func(cfg *rest.Config) { cfg.Host += "/clusters/a b/%2F" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(r.Proto, " ", r.Method, " ", r.RequestURI, " ", r.Host, " ", r.ContentLength, " ", r.Header))
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
			}))
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			cfg := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
			cfg.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			change(cfg)
			c, err := client.New[*corev1.ConfigMap](cfg, configMaps, client.Options{})
			require.NoError(t, err)
			body := []byte(`{"data":{"a":"b"}}`)
			_, err = c.Patch(t.Context(), key, types.MergePatchType, body)
			require.NoError(t, err)

			theirs := rest.CopyConfig(cfg)
			theirs.GroupVersion, theirs.APIPath, theirs.AcceptContentTypes = &corev1.SchemeGroupVersion, "/api", "application/json"
			theirs.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent()) // as generated clients do
			theirs.NegotiatedSerializer = serializer.NewCodecFactory(scripted.CoreTypes()).WithoutConversion()
			generic, err := rest.RESTClientFor(theirs)
			require.NoError(t, err)
			require.NoError(t, generic.Patch(types.MergePatchType).Namespace(key.Namespace).Resource("configmaps").Name(key.Name).Body(body).Do(t.Context()).Error())
			require.Len(t, got, 2)
			assert.Equal(t, got[1], got[0])
		})
	}
	t.Cleanup(func() {
		assert.GreaterOrEqual(t, dialed.Load(), int32(1))
		assert.GreaterOrEqual(t, proxied.Load(), int32(2))
	})
}

// anyServer is a transport of the user that trusts every server.
func anyServer() http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true
	return transport
}

// Objects keep nothing of the buffers that answers are read into, whatever they are read from.
//
// Promise client/1
func TestObjectsShareNoMemoryWithLaterAnswers(t *testing.T) {
	t.Parallel()
	content := func(i int) string { return strings.Repeat(fmt.Sprint("content ", i, " "), 1+i*i*i%(9<<10)) } // up to 100 KiB
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscanf(r.URL.Path, "/api/v1/namespaces/default/configmaps/c%d", &i)
		m := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, BinaryData: map[string][]byte{"a": []byte(content(i))}}
		m.Name, m.Labels = fmt.Sprint("c", i), map[string]string{"i": fmt.Sprint(i)}
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:%d":{}}`, i))}}
		if !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf") {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(m)
			return
		}
		raw, _ := m.Marshal()
		body, _ := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Raw: raw}).Marshal()
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(append([]byte("k8s\x00"), body...))
	}))
	t.Cleanup(server.Close)
	get := func(contentType string) func(i int) (*corev1.ConfigMap, error) {
		c, err := client.New[*corev1.ConfigMap](&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType}}, configMaps, client.Options{})
		require.NoError(t, err)
		return func(i int) (*corev1.ConfigMap, error) {
			return c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: fmt.Sprint("c", i)})
		}
	}
	dynamic, err := client.New[*unstructured.Unstructured](&rest.Config{Host: server.URL, QPS: -1}, configMaps, client.Options{})
	require.NoError(t, err)
	for name, get := range map[string]func(i int) (*corev1.ConfigMap, error){
		"json": get("application/json"), "protobuf": get(""),
		"unstructured": func(i int) (*corev1.ConfigMap, error) {
			u, err := dynamic.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: fmt.Sprint("c", i)})
			if err != nil {
				return nil, err
			}
			m := &corev1.ConfigMap{}
			return m, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for worker := range 4 {
				wg.Go(func() {
					var all [40]*corev1.ConfigMap
					for i := range all {
						var err error
						all[i], err = get(i + worker)
						assert.NoError(t, err)
					}
					for i, m := range all {
						i += worker
						assert.Equal(t, fmt.Sprint("c", i), m.Name)
						assert.Equal(t, fmt.Sprint(i), m.Labels["i"])
						assert.True(t, content(i) == string(m.BinaryData["a"]))
						assert.Equal(t, fmt.Sprintf(`{"f:%d":{}}`, i), m.ManagedFields[0].FieldsV1.GetRawString())
					}
				})
			}
			wg.Wait()
		})
	}
}

// An answer is read to its end, so that the next request needs no new connection; one that is shorter than it
// says is an error.
//
// Promise client/6
func TestAnswersAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	var connections, requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch n := requests.Add(1); n {
		case 1, 2:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, strings.Repeat("x", 10<<10))
		case 3, 4:
			fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`, strings.Repeat(" ", int(n)<<15))
		default:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c, err := client.New[*corev1.ConfigMap](&rest.Config{Host: server.URL, QPS: -1, Transport: &http.Transport{}}, configMaps, client.Options{})
	require.NoError(t, err)
	for range 2 {
		_, err = c.Get(t.Context(), key)
		require.Error(t, err)
	}
	for range 2 {
		_, err = c.Get(t.Context(), key)
		require.NoError(t, err)
	}
	assert.EqualValues(t, 1, connections.Load())
	_, err = c.Update(t.Context(), configMap("c"))
	assert.ErrorContains(t, err, "reading the answer: unexpected EOF")
}
