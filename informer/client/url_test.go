package client_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
)

// noted is a transport that keeps the method and the path of each request, and answers with an empty list.
type noted struct {
	all        []string
	apiVersion string
}

func (n *noted) RoundTrip(req *http.Request) (*http.Response, error) {
	n.all = append(n.all, req.Method+" "+req.URL.Path)
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"XList","apiVersion":"` + n.apiVersion + `","metadata":{},"items":[]}`)),
	}, nil
}

// take returns what was noted since the last call.
func (n *noted) take() string {
	all := strings.Join(n.all, ", ")
	n.all = nil
	return all
}

// Any part of a URL may be called like any other part, or like a word of the API.
//
// Promise client/1
func TestEveryRequestGoesToTheURLOfWhatItNames(t *testing.T) {
	t.Parallel()
	words := []string{"namespaces", "configmaps", "team", "default", "status", "scale", "finalize", "v1", "api", "apis", "watch", "proxy", "x.test", "system:x", "a b", "ä?#"}
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(orNone bool) string {
		if orNone && rnd.IntN(2) == 0 {
			return ""
		}
		return words[rnd.IntN(len(words))]
	}
	for range 3000 {
		var got noted
		prefix := ""
		for range rnd.IntN(3) {
			prefix += "/" + words[rnd.IntN(8)]
		}
		cfg := &rest.Config{Host: "http://server" + prefix, QPS: -1, Transport: &got}
		gvr := schema.GroupVersionResource{Group: word(true), Version: word(false), Resource: word(false)}
		got.apiVersion = gvr.GroupVersion().String()
		key, sub := types.NamespacedName{Namespace: word(true), Name: word(false)}, word(true)
		version := prefix + "/apis/" + gvr.Group + "/" + gvr.Version
		if gvr.Group == "" {
			version = prefix + "/api/" + gvr.Version
		}
		collection := version
		if key.Namespace != "" {
			collection += "/namespaces/" + key.Namespace
		}
		collection += "/" + gvr.Resource
		object, create := collection+"/"+key.Name, collection
		if sub != "" {
			object += "/" + sub
			create = object
		}
		read := object
		if sub == "status" {
			read = collection + "/" + key.Name
		}

		c, err := client.New[*unstructured.Unstructured](cfg, gvr, client.Options{Subresource: sub, FieldManager: "m"})
		require.NoError(t, err)
		ctx, obj := t.Context(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "X"}}
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		nothing := func(*unstructured.Unstructured) error { return nil }
		for _, request := range []struct {
			want string
			do   func() error
		}{
			{"GET " + object, func() error { _, err := c.Get(ctx, key); return err }},
			{"POST " + create, func() error { _, err := c.Create(ctx, obj); return err }},
			{"PUT " + object, func() error { _, err := c.Update(ctx, obj); return err }},
			{"PATCH " + object, func() error { _, err := c.Patch(ctx, key, types.MergePatchType, []byte("{}")); return err }},
			{"PATCH " + object, func() error { _, err := c.Apply(ctx, key, map[string]any{}, true); return err }},
			{"DELETE " + object, func() error { return c.Delete(ctx, key, client.Exactly(obj)) }},
			{"GET " + read, func() error { _, err := c.Modify(ctx, key, nothing); return err }},
			{"GET " + read, func() error { _, _, err := c.CreateOrUpdate(ctx, key, nil, nothing); return err }},
		} {
			_ = request.do()
			assert.Equal(t, request.want, got.take())
		}
		_, listErr := c.List(ctx, key.Namespace, metav1.ListOptions{})
		list := got.take()
		deleteErr := c.DeleteCollection(ctx, key.Namespace, metav1.DeleteOptions{}, metav1.ListOptions{})
		if deleted := got.take(); sub == "" {
			assert.Equal(t, "GET "+collection, list)
			assert.Equal(t, "DELETE "+collection, deleted)
		} else { // an object may be called like the subresource
			assert.Empty(t, list+deleted)
			assert.ErrorContains(t, listErr, "is not a collection")
			assert.ErrorContains(t, deleteErr, "is not a collection")
		}

		source, err := reflector.NewResource[*unstructured.Unstructured](cfg, gvr, reflector.ResourceOptions{Namespace: key.Namespace})
		require.NoError(t, err)
		_, _ = source.List(ctx, reflector.Request{}, func(reflector.WatchEvent[*unstructured.Unstructured]) error { return nil })
		// The list has no version, so discovery is asked whether it is that of the resource.
		assert.Equal(t, "GET "+collection+", GET "+version, got.take())
		if stream, err := source.Watch(ctx, reflector.Request{}); err == nil {
			require.NoError(t, stream.Close())
		}
		assert.Equal(t, "GET "+collection, got.take())
		if t.Failed() {
			return
		}
	}
}

// Programs that are called like their namespace, like the resource or like a word of the API lead, and share work.
func TestGroupsOfAnyNameLeadAndShare(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"operator", "leases", "namespaces", "status"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := informertest.Start(t, informertest.Options{InMemory: true})
				require.NoError(t, server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				led, worked := false, false
				elector, err := leader.New(server.Config(), leader.Options{Name: name, Namespace: name, Lead: func(context.Context, *leader.Term) error {
					led = true
					return nil
				}})
				require.NoError(t, err)
				require.NoError(t, elector.Run(ctx))
				assert.True(t, led)
				replica, err := sharding.New(server.Config(), sharding.Options{Name: name, Namespace: name, Parts: 1, Work: func(ctx context.Context, _ *sharding.Part) error {
					worked = true
					cancel()
					<-ctx.Done()
					return nil
				}})
				require.NoError(t, err)
				require.NoError(t, replica.Run(ctx))
				assert.True(t, worked)
			})
		})
	}
}
