package clients

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// patience is how long a client may take to see what another one has done.
const patience = 30 * time.Second

// scenario is one use of clients, in a namespace of its own.
type scenario struct {
	name string
	run  func(*testing.T, *rest.Config, string)
}

// ordered are the scenarios that send the same requests in the same order each time.
var ordered = []scenario{
	{"Typed", typedClient}, {"TypedApply", typedApply}, {"TypedStatus", typedStatus}, {"TypedErrors", typedErrors},
	{"Kinds", allKinds}, {"Dynamic", dynamicClient}, {"Metadata", metadataClient}, {"ControllerRuntimeClient", runtimeClient},
}

// concurrent are those that do not.
var concurrent = []scenario{
	{"DescribedAPI", describedAPI}, {"SharedInformers", sharedInformers}, {"Recorder", recorder}, {"EventsRecorder", eventsRecorder}, {"Manager", manager},
}

// Run drives the server that cfg leads to through all clients.
func Run(t *testing.T, cfg *rest.Config) {
	log.SetLogger(logr.Discard())
	for _, s := range append(append([]scenario{}, ordered...), concurrent...) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, rest.CopyConfig(cfg), namespace(t, cfg))
		})
	}
}

// namespace creates a namespace of a random name.
func namespace(t *testing.T, cfg *rest.Config) string {
	name := fmt.Sprintf("clients-%08x", rand.Uint32())
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return name
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, patience, 20*time.Millisecond, what)
}
