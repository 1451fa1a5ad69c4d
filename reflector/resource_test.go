package reflector_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// slim is a type of a user's own, with the fields that matter to it.
type slim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int `json:"size"`
	} `json:"spec"`
}

func (s *slim) DeepCopyObject() runtime.Object {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &out
}

// listed reads a collection from a server that answers with body, and returns the
// request it got.
func listed[T reflector.Object](t *testing.T, body string, gvr schema.GroupVersionResource, opts reflector.ResourceOptions) ([]T, scripted.Request) {
	s := &scripted.Server{List: scripted.Body("application/json", func() string { return body })}
	cfg := s.Config(t)
	cfg.Host += "/prefix"
	lw, err := reflector.NewResource[T](cfg, gvr, opts)
	require.NoError(t, err)
	var out []T
	_, err = lw.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[T]) error {
		o, err := ev.Object, ev.Err
		require.NoError(t, err)
		out = append(out, o)
		return nil
	})
	require.NoError(t, err)
	return out, s.Requests()[0]
}

const widgetList = `{"apiVersion":"example.com/v1","items":[{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","labels":{"a":"b"},"resourceVersion":"3"},"spec":{"size":7,"ratio":0.5}}],"kind":"WidgetList","metadata":{"resourceVersion":"10"}}`

func TestUnstructuredObjects(t *testing.T) {
	t.Parallel()
	objs, req := listed[*unstructured.Unstructured](t, widgetList, widgets, reflector.ResourceOptions{Namespace: "ns"})
	require.Equal(t, "/prefix/apis/example.com/v1/namespaces/ns/widgets", req.Path)
	require.Equal(t, "application/json", req.Header.Get("Accept"))
	require.Len(t, objs, 1)
	require.Equal(t, "Widget", objs[0].GetKind())
	spec := objs[0].Object["spec"].(map[string]any)
	require.Equal(t, map[string]any{"size": int64(7), "ratio": 0.5}, spec)
}

func TestUnstructuredItemsOfBuiltInListsGetTheirType(t *testing.T) {
	t.Parallel()
	body := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[` + scripted.ConfigMap("a", "1") + `]}`
	objs, _ := listed[*unstructured.Unstructured](t, body, scripted.ConfigMaps, reflector.ResourceOptions{})
	require.Equal(t, "v1/ConfigMap", objs[0].GetAPIVersion()+"/"+objs[0].GetKind())
}

func TestObjectsOfAUsersOwnType(t *testing.T) {
	t.Parallel()
	objs, req := listed[*slim](t, widgetList, widgets, reflector.ResourceOptions{LabelSelector: "a=b", FieldSelector: "metadata.name!=x"})
	require.Equal(t, "/prefix/apis/example.com/v1/widgets", req.Path)
	require.Equal(t, url.Values{"labelSelector": {"a=b"}, "fieldSelector": {"metadata.name!=x"}}, req.Query)
	require.Equal(t, 7, objs[0].Spec.Size)
	require.Equal(t, "example.com/v1/Widget", objs[0].APIVersion+"/"+objs[0].Kind)
}

func TestMetadataOnlyObjects(t *testing.T) {
	t.Parallel()
	body := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}]}`
	objs, req := listed[*metav1.PartialObjectMetadata](t, body, scripted.ConfigMaps, reflector.ResourceOptions{})
	require.Equal(t, "/prefix/api/v1/configmaps", req.Path)
	require.Equal(t, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", req.Header.Get("Accept"))
	require.Equal(t, "a", objs[0].Name)
	// A server that sends whole objects is good enough.
	objs, _ = listed[*metav1.PartialObjectMetadata](t, widgetList, widgets, reflector.ResourceOptions{Encoding: reflector.EncodingJSON})
	require.Equal(t, "w", objs[0].Name)
}

func TestGeneratedTypesAskForProtobufFirst(t *testing.T) {
	t.Parallel()
	body := `{"kind":"ConfigMapList","apiVersion":"v1","items":null}`
	_, req := listed[*corev1.ConfigMap](t, body, scripted.ConfigMaps, reflector.ResourceOptions{})
	require.Equal(t, "application/vnd.kubernetes.protobuf, application/json", req.Header.Get("Accept"))
	_, req = listed[*corev1.ConfigMap](t, body, scripted.ConfigMaps, reflector.ResourceOptions{Encoding: reflector.EncodingJSON})
	require.Equal(t, "application/json", req.Header.Get("Accept"))
	_, req = listed[*corev1.ConfigMap](t, body, scripted.ConfigMaps, reflector.ResourceOptions{Encoding: reflector.EncodingProtobuf})
	require.Equal(t, "application/vnd.kubernetes.protobuf", req.Header.Get("Accept"))
	require.Contains(t, req.Header.Get("User-Agent"), "reflector.test")
}

func TestUnusableResourcesAreRefused(t *testing.T) {
	t.Parallel()
	good := &rest.Config{Host: "http://localhost"}
	for name, f := range map[string]func() error{
		"no config": func() error {
			_, err := reflector.NewResource[*slim](nil, widgets, reflector.ResourceOptions{})
			return err
		},
		"incomplete resource": func() error {
			_, err := reflector.NewResource[*slim](good, schema.GroupVersionResource{Resource: "pods"}, reflector.ResourceOptions{})
			return err
		},
		"label selector": func() error {
			_, err := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{LabelSelector: "a=="})
			_, err2 := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{LabelSelector: "!!"})
			return errors.Join(err, err2)
		},
		"field selector": func() error {
			_, err := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{FieldSelector: "a"})
			return err
		},
		"protobuf of a type without": func() error {
			_, err := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{Encoding: reflector.EncodingProtobuf})
			return err
		},
		"unknown encoding": func() error {
			_, err := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{Encoding: "xml"})
			return err
		},
		"interface type": func() error {
			_, err := reflector.NewResource[reflector.Object](good, widgets, reflector.ResourceOptions{})
			return err
		},
		"namespace that leads elsewhere": func() error {
			_, err := reflector.NewResource[*slim](good, widgets, reflector.ResourceOptions{Namespace: ".."})
			return err
		},
		"resource that leads elsewhere": func() error {
			_, err := reflector.NewResource[*slim](good, schema.GroupVersionResource{Version: "v1", Resource: "pods/../secrets"}, reflector.ResourceOptions{})
			return err
		},
		"bad host": func() error {
			_, err := reflector.NewResource[*slim](&rest.Config{Host: "http://a b"}, widgets, reflector.ResourceOptions{})
			return err
		},
		"bad CA": func() error {
			_, err := reflector.NewResource[*slim](&rest.Config{Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}}, widgets, reflector.ResourceOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, f(), "reflector: ")
		})
	}
}

// firstError runs a reflector against cfg until it has failed once.
func firstError(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Namespace: "ns"})
	require.NoError(t, err)
	r, err := reflector.New(lw, newRecorder(), reflector.Options{
		Sync: reflector.SyncList, Policy: func(reflector.Failure) reflector.Decision { return reflector.Stop() },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = r.Run(ctx)
	require.Error(t, err)
	return err
}

// Promise reflector/2
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	t.Run("connection refused", func(t *testing.T) {
		t.Parallel()
		cfg := (&scripted.Server{Refuse: memnet.Always}).Config(t)
		err := firstError(t, cfg)
		require.Equal(t, reflector.ClassRefused, reflector.Classify(err))
		require.ErrorContains(t, err, "cannot list configmaps in namespace ns at "+cfg.Host)
		require.ErrorContains(t, err, "is the API server running")
	})
	t.Run("unknown authority", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(&scripted.Server{})
		server.Config.ErrorLog = quietLog()
		server.StartTLS()
		defer server.Close()
		err := firstError(t, &rest.Config{Host: server.URL})
		require.Equal(t, reflector.ClassTLS, reflector.Classify(err))
		require.ErrorContains(t, err, "check the scheme of the address, and the CA")
	})
	t.Run("expired certificate", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(&scripted.Server{})
		server.Config.ErrorLog = quietLog()
		server.StartTLS()
		defer server.Close()
		// A client in the far future.
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}}
		defer transport.CloseIdleConnections()
		err := firstError(t, &rest.Config{Host: server.URL, Transport: transport})
		require.Equal(t, reflector.ClassTLS, reflector.Classify(err))
		require.ErrorContains(t, err, "renew it, or set the clock")
		require.ErrorContains(t, err, server.Certificate().Subject.String())
		require.NotContains(t, err.Error(), "check the scheme")
	})
	t.Run("no client certificate", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(&scripted.Server{})
		server.Config.ErrorLog = quietLog()
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
		server.StartTLS()
		defer server.Close()
		err := firstError(t, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		require.Equal(t, reflector.ClassTLS, reflector.Classify(err))
		require.ErrorContains(t, err, "is there a client certificate in the configuration")
		require.NotContains(t, err.Error(), "reachable")
	})
	t.Run("proxy without credentials", func(t *testing.T) {
		t.Parallel()
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusProxyAuthRequired)
		}))
		defer proxy.Close()
		at, err := url.Parse(proxy.URL)
		require.NoError(t, err)
		for _, scheme := range []string{"http", "https"} {
			err := firstError(t, &rest.Config{Host: scheme + "://example.com", Proxy: http.ProxyURL(at)})
			require.ErrorContains(t, err, "the proxy wants credentials; add them to HTTPS_PROXY")
			require.NotContains(t, err.Error(), "reachable")
		}
	})
	t.Run("TLS to a plain server", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(&scripted.Server{})
		defer server.Close()
		err := firstError(t, &rest.Config{Host: strings.Replace(server.URL, "http:", "https:", 1)})
		require.Equal(t, reflector.ClassTLS, reflector.Classify(err))
	})
	t.Run("forbidden in a namespace", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) {
			scripted.WriteStatus(w, 403, metav1.StatusReasonForbidden, `configmaps is forbidden: User "x" cannot list resource "configmaps"`)
		}}
		err := firstError(t, s.Config(t))
		require.True(t, apierrors.IsForbidden(err))
		require.ErrorContains(t, err, `User "x" cannot list resource "configmaps": add the verbs list and watch on configmaps to the Role of this user`)
	})
	t.Run("a watch that breaks later", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{Watch: func(w httpWriter, _ *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("a", "11"))
			scripted.Cut()
		}}
		lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{})
		require.NoError(t, err)
		stream, err := lw.Watch(t.Context(), reflector.Request{})
		require.NoError(t, err)
		defer func() { _ = stream.Close() }()
		_, err = stream.Next()
		require.NoError(t, err)
		_, err = stream.Next()
		require.ErrorContains(t, err, "the connection broke after the watch had begun")
		require.NotContains(t, err.Error(), "reachable")
	})
	t.Run("proxy error in plain text", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) { http.Error(w, "upstream gone", http.StatusBadGateway) }}
		err := firstError(t, s.Config(t))
		require.Equal(t, reflector.ClassServer, reflector.Classify(err))
		require.ErrorContains(t, err, "upstream gone")
	})
}

func TestWatchTimeoutsAreSpreadBetweenOnceAndTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.Fails(503, "")}
		run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: 100*time.Second - 1}})
		after(time.Hour)
		seen := map[string]bool{}
		for _, q := range s.Requests() {
			if q.Verb != "watch" {
				require.Empty(t, q.Query.Get("timeoutSeconds"))
				continue
			}
			var seconds int
			require.NoError(t, json.Unmarshal([]byte(q.Query.Get("timeoutSeconds")), &seconds))
			require.GreaterOrEqual(t, seconds, 100)
			require.LessOrEqual(t, seconds, 200)
			require.Equal(t, "true", q.Query.Get("allowWatchBookmarks"))
			seen[q.Query.Get("timeoutSeconds")] = true
		}
		require.Greater(t, len(seen), 20)
	})
}

func TestListsArePagedIfThereIsNoWatchCache(t *testing.T) {
	bubble(t, func(t *testing.T) {
		page := func(cont string, items ...string) scripted.Answer {
			return func(w httpWriter, _ *httpRequest, _ int) { scripted.WriteList(w, "10", cont, items...) }
		}
		s := &scripted.Server{
			List:  scripted.InTurn(page("x", scripted.ConfigMap("a", "1")), page("", scripted.ConfigMap("b", "2")), page("y", scripted.ConfigMap("a", "1")), page("")),
			Watch: scripted.InTurn(scripted.Fails(410, metav1.StatusReasonExpired), scripted.Quiet),
		}
		sink := newRecorder()
		run(t, sourceOf(t, s), sink, listMode)
		after(10 * time.Second)
		var got []string
		for _, q := range s.Requests() {
			if q.Verb == "list" {
				got = append(got, fmt.Sprintf("rv=%s limit=%s continue=%s", q.ResourceVersion(), q.Query.Get("limit"), q.Query.Get("continue")))
			}
		}
		require.Equal(t, []string{
			"rv=0 limit=500 continue=", "rv= limit=500 continue=x",
			"rv=10 limit=500 continue=", "rv= limit=500 continue=y",
		}, got)
		require.Equal(t, []string{"replace [a@1 b@2] @10", "replace [a@1] @10"}, sink.calls())
	})
}

func TestVersionsOfSyntheticEventsAreNoPointToResumeFrom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("0"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("b", "9"))
			scripted.Send(w, "ADDED", scripted.ConfigMap("a", "5"))
			scripted.Linger(r, 30*time.Second)
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "11"))
			scripted.Hang(r)
		}}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, listMode)
		after(20 * time.Second)
		require.Equal(t, "a@5 b@9", sink.holds())
		require.Equal(t, "0", r.Health().ResourceVersion)
		after(20 * time.Second)
		require.Equal(t, "11", r.Health().ResourceVersion)
	})
}

func TestAWatchMayBeAskedForToLastForever(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			for scripted.Begin(w); scripted.Linger(r, time.Minute); {
				scripted.Send(w, "BOOKMARK", scripted.Bookmark("20", false))
			}
		}}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Timeouts: reflector.Timeouts{Watch: math.MaxInt64}})
		after(24 * time.Hour)
		require.Equal(t, reflector.StateWatching, r.Health().State)
		require.Equal(t, "list@0 watch@10", s.Verbs())
	})
}

func TestACollectionReadWithoutAVersionIsNeverResumed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The object gone is deleted before the watch begins, which shows what
		// exists and then goes on in order.
		s := &scripted.Server{List: scripted.InTurn(scripted.Lists("", scripted.ConfigMap("gone", "1"), scripted.ConfigMap("a", "5")), scripted.Lists("", scripted.ConfigMap("a", "11"))), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("a", "5"))
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "11"))
			scripted.Linger(r, 30*time.Second)
		}}
		sink := newRecorder()
		run(t, sourceOf(t, s), sink, listMode)
		after(31 * time.Second)
		require.Equal(t, "list@0 watch@ list@11 watch@", s.Verbs())
		require.Equal(t, "a@11", sink.holds())
	})
}

// oddLists answers with lists of custom resources as API servers send them:
// items first, and a kind of the list that is any name.
func oddLists(rv, kind, items string) scripted.Answer {
	return func(w httpWriter, _ *httpRequest, _ int) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"example.com/v1","items":[%s],"kind":%q,"metadata":{"resourceVersion":%q}}`, items, kind, rv)
	}
}

func TestListsOfCustomResourcesMayHaveAnyKind(t *testing.T) {
	const object = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":"3"}}`
	for _, kind := range []string{"WidgetList", "AllOfTheWidgetsList", "Widgetry"} {
		for name, items := range map[string]string{"empty": "", "not empty": fmt.Sprintf(object, "a")} {
			t.Run(kind+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := &scripted.Server{List: oddLists("10", kind, items), Watch: func(w httpWriter, r *httpRequest, _ int) {
						scripted.Send(w, "ADDED", fmt.Sprintf(object, "b"))
						scripted.Hang(r)
					}}
					source, err := reflector.NewResource[*slim](s.Config(t), widgets, reflector.ResourceOptions{})
					require.NoError(t, err)
					lw := reflector.Transform(source, func(w *slim) (*configMap, error) { return &configMap{ObjectMeta: w.ObjectMeta}, nil })
					sink := newRecorder()
					r := run(t, lw, sink, listMode)
					after(time.Second)
					require.NoError(t, r.Health().LastError)
					require.Empty(t, r.Health().Quarantine)
					require.Contains(t, sink.holds(), "b@3")
				})
			})
		}
	}
}

func TestPagesThatNeverEndAreAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) {
			scripted.WriteList(w, "10", "token", scripted.ConfigMap("a", "1"))
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(10 * time.Second)
		require.LessOrEqual(t, len(s.Requests()), 10)
		require.Equal(t, reflector.ClassDecode, r.Health().LastErrorClass)
		require.ErrorContains(t, r.Health().LastError, "it does not support limit and continue")
	})
}

// panicky is a type of a user's own with a decoder that panics.
type panicky struct{ slim }

func (p *panicky) UnmarshalJSON(raw []byte) error {
	if strings.Contains(string(raw), `"bad"`) {
		panic("oh")
	}
	return json.Unmarshal(raw, &p.slim)
}

func TestADecoderThatPanicsQuarantinesItsObject(t *testing.T) {
	t.Parallel()
	items := make([]string, 1000) // enough for them to be decoded by several goroutines
	for i := range items {
		items[i] = scripted.ConfigMap(fmt.Sprint("o", i), "1")
	}
	items[500] = scripted.ConfigMap("bad", "1")
	s := &scripted.Server{List: scripted.Lists("1", items...)}
	lw, err := reflector.NewResource[*panicky](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	n, bad := 0, []error(nil)
	_, err = lw.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[*panicky]) error {
		err := ev.Err
		if n++; err != nil {
			bad = append(bad, err)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1000, n)
	require.Len(t, bad, 1)
	require.EqualError(t, bad[0], "decode: object ns/bad: the decoder panicked with a string, whose text may quote the object")
	require.ErrorContains(t, errors.Unwrap(errors.Unwrap(bad[0])), "panic: oh")
}

func TestCredentialsAreNotSentToWhereTheServerRedirects(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{List: func(w httpWriter, r *httpRequest, _ int) {
		http.Redirect(w, r, "http://other.test/login?secret", http.StatusFound)
	}}
	cfg := s.Config(t) // its network leads to s, whatever the name
	cfg.BearerToken = "token"
	err := firstError(t, cfg)
	require.Len(t, s.Requests(), 1)
	require.Equal(t, "Bearer token", s.Requests()[0].Header.Get("Authorization"))
	require.Equal(t, reflector.ClassNotAPI, reflector.Classify(err))
	require.ErrorContains(t, err, "redirects to http://other.test (HTTP status 302)")
	require.NotContains(t, err.Error(), "secret")
}

func TestARedirectWithinTheServerIsFollowed(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{List: func(w httpWriter, r *httpRequest, _ int) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		scripted.WriteStatus(w, 403, metav1.StatusReasonForbidden, "here")
	}}
	require.Equal(t, reflector.ClassForbidden, reflector.Classify(firstError(t, s.Config(t))))
}
