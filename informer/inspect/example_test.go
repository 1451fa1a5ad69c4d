package inspect_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
)

// The page goes where the profiles of net/http/pprof go: to a mux of your own, on
// an address that only you can reach.
func Example() {
	api, err := informertest.NewServer(informertest.Options{})
	must(err)
	defer api.Close()
	factory, err := informer.NewFactory(api.Config(), informer.FactoryOptions{})
	must(err)
	configMaps, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{Resource: configMaps})
	must(err)
	defer configMaps.Release()
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "configmaps"})
	queue.Add(types.NamespacedName{Namespace: "default", Name: "settings"})

	page, err := inspect.New(inspect.Options{Show: []inspect.Source{
		inspect.Factory(factory), // or inspect.Informer, one by one
		inspect.Queue(queue),
	}})
	must(err)
	mux := http.NewServeMux()
	mux.Handle("/debug/informers", page)

	server := httptest.NewServer(mux) // http.ListenAndServe("127.0.0.1:6060", mux)
	defer server.Close()
	answer, err := http.Get(server.URL + "/debug/informers") // curl localhost:6060/debug/informers
	must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(err)
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "ERROR") || strings.HasPrefix(line, "informer") || strings.Contains(line, "default/") {
			fmt.Print(line)
		}
	}
	server.CloseClientConnections()

	// Output:
	// ERROR    Informer configmaps has not been started.
	// informer configmaps: not synced
	//     default/settings  for an unknown time
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
