package client_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
)

// responder is a transport that needs no network, for tests in fake time.
type responder func(w http.ResponseWriter, r *http.Request)

func (respond responder) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &recorded{header: http.Header{}, code: http.StatusOK}
	respond(w, r)
	return &http.Response{StatusCode: w.code, Status: fmt.Sprint(w.code), Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

type recorded struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header         { return w.header }
func (w *recorded) WriteHeader(code int)        { w.code = code }
func (w *recorded) Write(p []byte) (int, error) { return w.body.Write(p) }

func responding(t *testing.T, respond responder) *client.Client[*corev1.ConfigMap] {
	t.Helper()
	c, err := client.New[*corev1.ConfigMap](&rest.Config{Host: "http://server", QPS: -1, Transport: respond, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, configMaps, client.Options{})
	require.NoError(t, err)
	return c
}

// Promise client/10
func TestResponsesAreBounded(t *testing.T) {
	for name, start := range map[string]string{
		"object":          `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"k":"`,
		"item":            `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"data":{"k":"`,
		"field of a list": `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"`,
		"unknown field":   `{"kind":"ConfigMapList","unknown":"`,
		"no list":         `"`,
	} {
		t.Run(name, func(t *testing.T) {
			c := answering(t, client.Options{}, &rest.Config{QPS: -1}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
				_, _ = io.WriteString(z, start)
				zeros := bytes.Repeat([]byte("0"), 1<<20)
				for r.Context().Err() == nil {
					if _, err := z.Write(zeros); err != nil {
						return
					}
				}
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var err error
			if name == "object" {
				_, err = c.Get(t.Context(), key)
			} else {
				_, err = c.List(t.Context(), "default", metav1.ListOptions{})
			}
			assert.ErrorContains(t, err, "more than 8388608 bytes")
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
		})
	}
}

// Promise client/10
func TestAListEndsWhateverTheTokensAre(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(n int32) string{
		"the same token": func(int32) string { return `{"continue":"SAME"},"items":[{"metadata":{"name":"a"}}]` },
		"tokens in turn": func(n int32) string {
			return fmt.Sprintf(`{"continue":"t%d"},"items":[{"metadata":{"name":"a"}}]`, n%3)
		},
		"pages without objects": func(n int32) string { return fmt.Sprintf(`{"continue":"t%d"},"items":[]`, n) },
		"null pages":            func(n int32) string { return fmt.Sprintf(`{"continue":"t%d"},"items":null`, n) },
		"a long token": func(n int32) string {
			return fmt.Sprintf(`{"continue":"%d%s"},"items":[{}]`, n, strings.Repeat("t", 1<<14))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			c := responding(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":%s}`, page(requests.Add(1)))
			})
			_, err := c.List(t.Context(), "d", metav1.ListOptions{Limit: 1})
			require.ErrorContains(t, err, "does not support limit and continue")
			assert.LessOrEqual(t, requests.Load(), int32(4))
			assert.Less(t, len(err.Error()), 2000)
		})
	}
}

const expired = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"The provided continue parameter is too old"}`

// As client-go's pager does. A caller's own token is the caller's.
//
// Promise client/10
func TestAListWhoseTokenExpiresStartsAgain(t *testing.T) {
	t.Parallel()
	var queries []string
	tokenless := 0
	c := responding(t, func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Get("continue") != "":
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, expired)
		case q.Get("limit") != "":
			fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"next"},"items":[{"metadata":{"name":"a"}}]}`)
		case tokenless > 0:
			fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"again"},"items":[{"metadata":{"name":"a"}}]}`)
		default:
			fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
		}
	})
	all, err := c.List(t.Context(), "d", metav1.ListOptions{Limit: 1, LabelSelector: "x", ResourceVersion: "0"})
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []string{"labelSelector=x&limit=1&resourceVersion=0", "continue=next&labelSelector=x&limit=1", "labelSelector=x&resourceVersion=0"}, queries)
	_, err = c.List(t.Context(), "d", metav1.ListOptions{Limit: 1, Continue: "mine"})
	require.True(t, apierrors.IsResourceExpired(err), err)
	assert.Len(t, queries, 4)
	tokenless++
	_, err = c.List(t.Context(), "d", metav1.ListOptions{Limit: 1})
	require.ErrorContains(t, err, "does not support limit and continue")
	assert.Len(t, queries, 7)
}

// Promise client/10
func TestTextsOfServersAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 50_000)
	for name, respond := range map[string]responder{
		"text": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, long) },
		"Status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(403)
			fmt.Fprintf(w, `{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":%q}`, long)
		},
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://other/"+long)
			w.WriteHeader(307)
		},
		"Content-Type": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "x/"+long) },
		"kind": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":%q,"metadata":{"name":"c"}}`, long)
		},
		"number": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","metadata":{"generation":%s},"items":[{"metadata":{"generation":%s}}]}`, strings.Repeat("7", 50_000), strings.Repeat("7", 50_000))
		},
	} {
		c := responding(t, respond)
		_, err := c.Get(t.Context(), key)
		require.Error(t, err, name)
		assert.Less(t, len(err.Error()), 3000, name)
		_, err = c.List(t.Context(), "d", metav1.ListOptions{})
		require.Error(t, err, name)
		assert.Less(t, len(err.Error()), 3000, name)
	}
}

// Promise client/5
func TestRetryAfterIsBoundedOnBothSides(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][2]time.Duration{ // the pause before the second request
		"0": {time.Second, time.Second}, "1": {time.Second, time.Second}, "7": {7 * time.Second, 7 * time.Second},
		"18446744074":                   {5 * time.Minute, 5 * time.Minute},
		"99999999999999999999999":       {5 * time.Minute, 5 * time.Minute},
		"Sat, 01 Jan 2000 00:00:10 GMT": {9 * time.Second, 10 * time.Second},
		"Sat, 01 Jan 1999 00:00:00 GMT": {time.Second, time.Second},
		"-1":                            {}, "soon": {}, "": {}, "-99999999999999999999999": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			var sent []time.Time
			c, err := client.New[*corev1.ConfigMap](&rest.Config{Host: "http://server", QPS: -1, Transport: responder(func(w http.ResponseWriter, _ *http.Request) {
				sent = append(sent, time.Now())
				w.Header()["Retry-After"] = []string{header}
				w.WriteHeader(429)
			})}, configMaps, client.Options{Timeout: time.Hour})
			require.NoError(t, err)
			_, err = c.Get(t.Context(), key)
			require.True(t, apierrors.IsTooManyRequests(err), err)
			if want[0] == 0 {
				assert.Len(t, sent, 1, header)
				return
			}
			require.Len(t, sent, 11, header)
			for i := range sent[1:] {
				pause := sent[i+1].Sub(sent[i])
				if i > 0 && strings.Contains(header, "2000") { // that time has come
					want = [2]time.Duration{time.Second, time.Second}
				}
				assert.True(t, pause >= want[0] && pause <= want[1], "%s: pause %d of %s", header, i, pause)
			}
		})
	}
}

// Promise client/6
func TestAnotherKindIsAnErrorInJSON(t *testing.T) {
	t.Parallel()
	var body string
	respond := responder(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	})
	c := responding(t, respond)
	for _, body = range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"c"},"data":{"k":"dg=="}}`,
		`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"name":"c"},"items":[]}`,
		`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c"}}`,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c"}}`,
	} {
		_, err := c.Get(t.Context(), key)
		assert.ErrorContains(t, err, "it is a", body)
		_, err = c.Update(t.Context(), configMap("c"))
		assert.ErrorContains(t, err, "it is a", body)
	}
	for _, body = range []string{
		`{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"c"}}]}`,
		`{"items":[{"metadata":{"name":"c"}}],"kind":"SecretList","apiVersion":"v1"}`,
		`{"kind":"ConfigMapList","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"c"}}]}`,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`,
		`{"kind":"ConfigMapList","apiVersion":"v1","items":{}}`, `[]`, `null`, ``, `{"kind":"ConfigMapList","items":[`,
	} {
		_, err := c.List(t.Context(), "d", metav1.ListOptions{})
		assert.Error(t, err, body)
	}
	body = `{"items":[{"metadata":{"name":"c"}}],"metadata":{},"kind":"ConfigMapList","apiVersion":"v1"}`
	all, err := c.List(t.Context(), "d", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, "ConfigMap", all[0].Kind, "stated behind the items")
	// These types hold objects of any kind, unless the options name it.
	body = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"c"}}`
	cfg := &rest.Config{Host: "http://server", QPS: -1, Transport: respond, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	dynamic, err := client.New[*unstructured.Unstructured](cfg, configMaps, client.Options{})
	require.NoError(t, err)
	_, err = dynamic.Get(t.Context(), key)
	require.NoError(t, err)
	dynamic, err = client.New[*unstructured.Unstructured](cfg, configMaps, client.Options{Kind: "ConfigMap"})
	require.NoError(t, err)
	_, err = dynamic.Get(t.Context(), key)
	require.ErrorContains(t, err, `it is a "Secret"`)
	metadata, err := client.New[*metav1.PartialObjectMetadata](cfg, configMaps, client.Options{})
	require.NoError(t, err)
	_, err = metadata.Get(t.Context(), key)
	require.NoError(t, err)
}
