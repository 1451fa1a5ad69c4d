package informer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestTextsOfDiscoveryAreCutWhereTheyEnter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 1<<16)
	for name, answer := range map[string]http.HandlerFunc{
		"name of a resource": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"resources":[{"name":%q,"kind":%q}]}`, long, widgetKind.Kind)
		},
		"number": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"resources":%s}`, strings.Repeat("7", 1<<16))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/"+long, http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			defer server.Close()
			d, err := newDiscovery(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			found, err := d.find(t.Context(), widgetKind)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1500)
			require.Less(t, len(found.Name), 1500)
		})
	}
}
