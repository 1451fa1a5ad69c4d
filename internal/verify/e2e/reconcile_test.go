package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/internal/verify/e2e/reconcile"
)

// controllerEnv makes this binary a controller's process of a measurement.
const controllerEnv = "INFORMERKIT_E2E_CONTROLLER"

func beController() {
	if err := reconcile.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// The controller of the replicaset example, and the same written on client-go, do
// the same things in a namespace each: what becomes of it is the same, and so are
// the requests that it took.
func TestControllersOfBothSidesComeToTheSameStateByTheSameRequests(t *testing.T) {
	t.Parallel()
	const ours, theirs = reconcile.Ours, reconcile.ClientGo
	states := map[reconcile.Side]reconcile.State{}
	counted := map[reconcile.Side]*reconcile.Requests{}
	requests := map[reconcile.Side]map[string]int{}
	for _, side := range reconcile.Sides {
		states[side], counted[side] = playOn(t, side)
		requests[side] = counted[side].Counts()
	}
	assert.Equal(t, states[theirs], states[ours])
	assert.Equal(t, counted[theirs].Encodings(), counted[ours].Encodings())
	t.Logf("encodings: %v", counted[ours].Encodings())

	t.Logf("requests: %v", requests)
	for _, what := range []string{"create pods", "delete pods", "patch pods", "get replicasets"} {
		assert.NotZero(t, requests[ours][what], what)
		assert.Equal(t, requests[theirs][what], requests[ours][what], what)
	}
	// How many states in between get into the status is a matter of time.
	const status = "update replicasets/status"
	assert.InDelta(t, requests[theirs][status], requests[ours][status], float64(requests[theirs][status])/2)
}

// playOn runs the controller of a side on a transcript and returns the state in the end
// and the requests that the controller made.
func playOn(t *testing.T, side reconcile.Side) (reconcile.State, *reconcile.Requests) {
	r := newReplicaSets(t, shared(t))
	_, err := r.pods.CoreV1().Pods(r.namespace).Create(t.Context(), orphan("adopted"), metav1.CreateOptions{})
	require.NoError(t, err)

	requests := &reconcile.Requests{}
	c, err := reconcile.NewController(side, requests.Of(r.cp.Config()), r.namespace, reconcile.Probes{Workers: 4})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil { // that of client-go
			assert.ErrorIs(t, err, context.Canceled)
		}
	}()

	converge := func(orphans ...string) (state reconcile.State) {
		t.Helper()
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			var err error
			state, err = reconcile.ReadState(ctx, r.cp.Config(), r.namespace)
			require.NoError(t, err)
			assert.Equal(t, orphans, state.Orphans)
			for name, set := range state.Sets {
				assert.True(t, set.Converged(), "%s: %+v", name, set)
			}
		}, patience, 50*time.Millisecond, "%s did not converge", side)
		return state
	}
	for i, name := range []string{"adopted", "scaled-up", "scaled-down", "emptied", "bereft"} {
		r.create(name, int32(2+i))
	}
	converge()
	r.scale("scaled-up", 9)
	r.scale("scaled-down", 1)
	r.scale("emptied", 0)
	converge()
	r.kill("bereft", 2)
	converge()
	pods, err := r.owned(ctx, api.GroupVersion.String(), "scaled-up")
	require.NoError(t, err)
	_, err = r.pods.CoreV1().Pods(r.namespace).Patch(ctx, pods[0].Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app":"relabelled"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	return converge("relabelled"), requests
}

// orphan returns a pod that the set of that name will adopt.
func orphan(app string) *corev1.Pod {
	template := podTemplate(app)
	template.Labels[api.Label] = api.LabelValue
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: template.Labels},
		Spec:       template.Spec,
	}
}

func TestMeasurementOfReconcilesSeesEveryWrite(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	kubeconfig, err := cp.Kubeconfig()
	require.NoError(t, err)
	settings := reconcile.Settings{
		Rounds: 2, Workers: 2, Writes: 10, Rate: 50, Sets: 5, Replicas: 3, OldSets: 4, OldReplicas: 2,
	}
	report, err := reconcile.Measure(t.Context(), reconcile.Config{
		Settings: settings, Server: cp.Config(), Kubeconfig: kubeconfig,
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), controllerEnv+"=1")
			return cmd
		},
	})
	require.NoError(t, err)

	var text, markdown, data bytes.Buffer
	report.WriteTable(&text)
	report.WriteMarkdown(&markdown)
	require.NoError(t, report.WriteJSON(&data))
	t.Logf("\n%s", &text)
	assert.True(t, json.Valid(data.Bytes()))
	assert.Equal(t, "v1", report.Host.Server[:2])

	limits := 0
	perRun := map[string]int{"create pods": settings.Sets * settings.Replicas, "get replicasets": 0, "update replicasets/status": 0}
	for _, row := range report.Rows {
		assert.Contains(t, text.String(), row.Work)
		assert.Contains(t, markdown.String(), "| "+row.Work+" |")
		sides := [][]float64{row.Ours, row.ClientGo}
		if row.Area == "requests" {
			sides = append(sides, row.Alone) // those of a controller, to be its limit
		}
		if row.Most != nil {
			assert.Positive(t, slices.Min(row.Alone), row.Work)
			limits++
		}
		for _, figures := range sides {
			require.Len(t, figures, settings.Rounds, row.Work)
			for _, figure := range figures {
				if row.Ratio != nil {
					assert.Positive(t, figure, row.Work)
				}
				if row.Area != "requests" {
					continue
				}
				want, known := perRun[row.Work]
				assert.True(t, known, "%s is not among what a controller has to do", row.Work)
				if want > 0 {
					assert.EqualValues(t, want, figure, row.Work)
				} else {
					// The status is written twice for each set: when it is found, and when it has
					// its pods. It is asked for before its pods are created. States in between count as well.
					assert.GreaterOrEqual(t, figure, float64(settings.Sets))
					assert.LessOrEqual(t, figure, float64(settings.Sets*(settings.Replicas+1)))
				}
			}
		}
	}
	assert.Equal(t, 3, limits, "processor time, allocations and bytes have a limit")
}
