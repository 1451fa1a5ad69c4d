package informer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

func TestTextsOfDiscoveryAreCutWhereTheyEnter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 1<<16)
	body := func(format string, args ...any) scripted.Answer {
		return scripted.Body("application/json", func() string { return fmt.Sprintf(format, args...) })
	}
	for name, answer := range map[string]scripted.Answer{
		"name of a resource": body(`{"resources":[{"name":%q,"kind":%q}]}`, long, widgetKind.Kind),
		"number":             body(`{"resources":%s}`, strings.Repeat("7", 1<<16)),
		"redirect": func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, "/"+long, http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := newDiscovery((&scripted.Server{List: answer}).Config(t))
			require.NoError(t, err)
			found, err := d.find(t.Context(), widgetKind)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1500)
			require.Less(t, len(found.Name), 1500)
		})
	}
}

func TestDiscoveryFindsAResourceByItsKind(t *testing.T) {
	t.Parallel()
	agent := make(chan string, 2)
	server := &scripted.Server{List: func(w http.ResponseWriter, r *http.Request, n int) {
		agent <- r.UserAgent()
		scripted.Body("application/json", func() string {
			return `{"resources":[{"name":"widgets","kind":"Widget"},{"name":"widgets/status","kind":"Widget"},{"name":"gadgets","kind":"Gadget"}]}`
		})(w, r, n)
	}}
	cfg := server.Config(t)
	d, err := newDiscovery(cfg)
	require.NoError(t, err)
	group := schema.GroupVersion{Group: widgetKind.Group, Version: widgetKind.Version}
	found, err := d.find(t.Context(), group.WithKind("Widget"))
	require.NoError(t, err)
	require.Equal(t, "widgets", found.Name)
	_, err = d.find(t.Context(), group.WithKind("Gizmo"))
	require.True(t, apierrors.IsNotFound(err))
	require.Equal(t, rest.DefaultKubernetesUserAgent(), <-agent)
	require.Equal(t, rest.DefaultKubernetesUserAgent(), <-agent)
	server.List = func(w http.ResponseWriter, r *http.Request, _ int) { agent <- r.URL.Path }
	for group, path := range map[string]string{"apis": "/v1/apis/apis/v1", "v1": "/v1/apis/v1/v1", "": "/v1/api/v1"} {
		prefixed := rest.CopyConfig(cfg)
		prefixed.Host += "/v1"
		d, err := newDiscovery(prefixed)
		require.NoError(t, err)
		_, err = d.find(t.Context(), schema.GroupVersionKind{Group: group, Version: "v1", Kind: "V"})
		require.Error(t, err)
		require.Equal(t, path, <-agent)
	}
}

// The server says when it can be asked again.
func TestDiscoveryWaitsAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			server := &scripted.Server{List: func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Retry-After", "100")
				w.WriteHeader(code)
			}}
			fac, err := NewFactory(server.Config(t), FactoryOptions{})
			require.NoError(t, err)
			_, err = For(fac, ForOptions[untyped]{Kind: widgetKind})
			require.NoError(t, err)
			fac.Start(t.Context())
			time.Sleep(99 * time.Second)
			require.Len(t, server.Requests(), 1)
			time.Sleep(12 * time.Second)
			require.Len(t, server.Requests(), 2)
			require.ErrorContains(t, fac.Unsynced(), "Widget")
			require.NoError(t, fac.Shutdown(t.Context()))
		})
	}
}
