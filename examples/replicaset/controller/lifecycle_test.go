package controller

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer/informertest"
)

// step lets all pods take a step, and returns how many did.
func (b *bench) step(step informertest.PodStep) int {
	b.Helper()
	n, err := b.server.StepPods(step, "default", nil)
	require.NoError(b, err)
	b.settle()
	return n
}

// The life of a set as on a cluster, whose kubelets let pods run and terminate, and whose
// garbage collector deletes the pods of a set that is gone.
func TestSetThroughTheLifeOfItsPods(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 3))
		set := b.set("web")
		assert.EqualValues(b, 0, set.Status.ReadyReplicas)
		assert.Equal(b, 3, b.step(informertest.PodsReady))
		assert.EqualValues(b, 3, b.set("web").Status.ReadyReplicas)
		b.actions()

		// Pods with a node take their time: they are terminating, and do not count.
		b.scale("web", 1)
		assert.Equal(b, []string{deleted, deleted}, b.actions())
		assert.Len(b, b.pods(set.UID), 3)
		assert.EqualValues(b, 1, b.set("web").Status.Replicas)
		assert.Equal(b, 2, b.step(informertest.PodsTerminate))
		assert.Len(b, b.pods(set.UID), 1)
		assert.Empty(b, b.actions(), "their end asks for nothing")

		assert.Equal(b, 1, b.step(informertest.PodsFail))
		assert.Equal(b, []string{created}, b.actions(), "a failed pod is replaced")

		require.NoError(b, b.server.Delete(api.GroupVersionResource, "default", "web"))
		b.settle()
		assert.Len(b, b.pods(set.UID), 2)
		require.NoError(b, b.server.CollectGarbage())
		b.step(informertest.PodsTerminate)
		assert.Empty(b, b.pods(set.UID))
		assert.False(b, slices.Contains(b.actions(), created), "the pods of a set that is gone are not replaced")
	})
}

// The manifest grants what the controller uses, and nothing else.
func TestManifestGrantsWhatIsNeededAndNoMore(t *testing.T) {
	asItself := func(cfg *rest.Config) { cfg.UserAgent = "controller" }
	inBubble(t, asItself, func(b *bench) {
		b.create(newOrphan("adopted", map[string]string{"app": "web"}))
		b.create(newSet("web", 2))
		b.scale("web", 1)
		manifest, err := os.ReadFile("../deploy/replicaset.yaml")
		require.NoError(b, err)
		rules := regexp.MustCompile("(?m)^  - {apiGroups.*$")
		role := b.server.Role("informerkit-replicaset", func(r informertest.Request) bool { return r.UserAgent == "controller" })
		assert.Contains(b, role, "kind: ClusterRole\n")
		assert.ElementsMatch(b, rules.FindAllString(role, -1), rules.FindAllString(string(manifest), -1))
	})
}
