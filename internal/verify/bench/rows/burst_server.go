package rows

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// BurstFlag runs the command as a server of bursts; see [ServeBursts].
const BurstFlag = "serve-bursts"

const (
	// burst is the number of events in a burst, burstObjects that of the objects that
	// they are about.
	burst        = 30_000
	burstObjects = 1_000
)

// objectsOfBurst is what the events of a burst are about.
type objectsOfBurst struct {
	name     string // in the names of rows
	resource schema.GroupVersionResource
	object   func() runtime.Object
}

var bursts = map[string]objectsOfBurst{
	"widgets": {"unstructured of 2.6 KB", schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, func() runtime.Object {
		p := typicalPod()
		p.APIVersion, p.Kind = "example.com/v1", "Widget"
		return p
	}},
	"nodes": {"nodes of 12 KB", corev1.SchemeGroupVersion.WithResource("nodes"), func() runtime.Object { return typicalNode() }},
}

// typicalNode is a node of about 12 KB of JSON, most of which are the names of its images.
func typicalNode() *corev1.Node {
	p := typicalPod()
	n := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: p.ObjectMeta}
	n.Namespace, n.OwnerReferences, n.GenerateName = "", nil, ""
	n.Spec = corev1.NodeSpec{PodCIDR: "10.1.2.0/24", PodCIDRs: []string{"10.1.2.0/24"}, ProviderID: "aws:///eu-central-1a/i-0123456789abcdef0"}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	n.Status.Capacity, n.Status.Allocatable = capacity, capacity
	for _, c := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: c, Status: corev1.ConditionFalse, Reason: "KubeletHasNoPressure", Message: "kubelet has no pressure of this kind",
			LastHeartbeatTime: p.CreationTimestamp, LastTransitionTime: p.CreationTimestamp,
		})
	}
	for i := range 50 {
		image := fmt.Sprintf("registry.example.com/team-%02d/component", i)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%064x", image, i), image + ":v1.42.0"},
			SizeBytes: int64(i+1) << 20,
		})
	}
	return n
}

// list returns the answer to a list.
func (b objectsOfBurst) list() []byte {
	t := newTemplate(must(json.Marshal(b.object())))
	gvk := b.object().GetObjectKind().GroupVersionKind()
	body := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, gvk.Kind, gvk.GroupVersion(), firstVersion)
	for i := range burstObjects {
		if i > 0 {
			body = append(body, ',')
		}
		body = t.append(body, i, 0)
	}
	return append(body, "]}\n"...)
}

// ServeBursts is an API server of a thousand objects, read only and in JSON, in a process
// of its own like [ServePods]. Whoever watches gets 30,000 changes of them, as fast as they
// can be read, after a request to /burst.
func ServeBursts(name string, in io.Reader, out io.Writer) error {
	b, ok := bursts[name]
	if !ok {
		return fmt.Errorf("there are no bursts of %q", name)
	}
	path := "/api/v1/"
	if b.resource.Group != "" {
		path = "/apis/" + b.resource.GroupVersion().String() + "/"
	}
	list := b.list()
	event := newTemplate(fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", must(json.Marshal(b.object()))))
	start := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("GET "+path+b.resource.Resource, &scripted.Server{
		List: func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(list)
		},
		WatchList: unsupported,
		Watch: func(w http.ResponseWriter, r *http.Request, _ int) {
			encodings()[false].beginWatch(w)
			_ = http.NewResponseController(w).Flush()
			<-start
			var buf []byte
			for i := range burst {
				// Event by event, as API servers write them.
				buf = event.append(buf[:0], i%burstObjects, 1+i)
				_, _ = w.Write(buf)
			}
			_ = http.NewResponseController(w).Flush()
			scripted.Hang(r)
		},
	})
	mux.HandleFunc("POST /burst", func(http.ResponseWriter, *http.Request) { close(start) })
	return serve(mux, in, out)
}
