package rows

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/verify/population"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// PopulationFlag runs the command as a server of objects; see [ServePopulation].
const PopulationFlag = "serve-population"

// objectsOf is the objects of one collection as clusters have them: what they
// have in common is what matters.
type objectsOf struct {
	name     string // in the names of rows
	resource schema.GroupVersionResource
	protobuf bool
	object   func(i int) runtime.Object
}

// populations are what is interned: objects that have most in common, the same
// ones without a Go type, and objects that have nothing in common.
var populations = map[string]objectsOf{
	"pods": {"pods", corev1.SchemeGroupVersion.WithResource("pods"), true,
		func(i int) runtime.Object { return population.Pod(i) }},
	"widgets": {"unstructured custom resources", schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, false,
		func(i int) runtime.Object {
			p := population.Pod(i)
			p.APIVersion, p.Kind = "example.com/v1", "Widget"
			return p
		}},
	"configmaps": {"ConfigMaps", corev1.SchemeGroupVersion.WithResource("configmaps"), true,
		func(i int) runtime.Object { return population.ConfigMap(i) }},
}

// ServePopulation is an API server of [cluster] objects of a population, read
// only, in a process of its own like [ServePods]. It knows WatchList.
func ServePopulation(name string, in io.Reader, out io.Writer) error {
	p, ok := populations[name]
	if !ok {
		return fmt.Errorf("there are no objects %q", name)
	}
	path := "/api/v1/"
	if p.resource.Group != "" {
		path = "/apis/" + p.resource.GroupVersion().String() + "/"
	}
	enc := encodings()[p.protobuf]
	body := p.initialEvents(enc)
	mux := http.NewServeMux()
	mux.Handle("GET "+path+p.resource.Resource, &scripted.Server{WatchList: func(w http.ResponseWriter, r *http.Request, _ int) {
		if strings.Contains(r.Header.Get("Accept"), "protobuf") != p.protobuf {
			http.Error(w, "this server has another encoding", http.StatusNotAcceptable)
			return
		}
		enc.beginWatch(w)
		for _, b := range body {
			_, _ = w.Write(b)
		}
		_ = http.NewResponseController(w).Flush()
		scripted.Hang(r)
	}})
	return serve(mux, in, out)
}

// added returns the event of object i.
func (p objectsOf) added(enc *encoding, i int) []byte {
	if p.protobuf {
		return enc.frame("ADDED", p.object(i))
	}
	return fmt.Appendf(nil, "{\"type\":\"ADDED\",\"object\":%s}\n", must(json.Marshal(p.object(i))))
}

// initialEvents returns the initial events of a watch, in parts.
func (p objectsOf) initialEvents(enc *encoding) [][]byte {
	const parts = 100
	body := make([][]byte, parts+1)
	var working sync.WaitGroup
	for part := range parts {
		working.Go(func() {
			for i := part * cluster / parts; i < (part+1)*cluster/parts; i++ {
				body[part] = append(body[part], p.added(enc, i)...)
			}
		})
	}
	working.Wait()
	end := p.object(0).(metav1.Object)
	end.SetResourceVersion(listVersion)
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	body[parts] = enc.frame("BOOKMARK", end.(runtime.Object))
	return body
}
