package controllers_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// bubble runs a test on a server in memory, which has the given objects and the namespace a.
func bubble(t *testing.T, objs []client.Object, test func(t *testing.T, server *informertest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
		for _, obj := range objs {
			require.NoError(t, server.Create(obj.DeepCopyObject()))
		}
		test(t, server)
	})
}

var quiet = slog.New(slog.DiscardHandler)

func configMap(namespace, name string, labels ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		cm.Labels[l] = "yes"
	}
	return cm
}
