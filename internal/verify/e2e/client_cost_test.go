package e2e

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	typed "github.com/informerkit/informerkit/informer/client"
)

// writer makes the writes that are measured, of one client.
type writer struct {
	create func(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	update func(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	patch  func(ctx context.Context, name string, body []byte) (*corev1.Pod, error) // of the status
}

// BenchmarkClientBesideClientset measures the processor time of this process for a create, an update and a
// patch of the status of a pod, by informer/client and by client-go's generated clientset, on the real server,
// which is another process. The two take turns in blocks; what counts is the lowest block of each.
//
//	go -C internal/verify/e2e test -run xxx -bench ClientBesideClientset -benchtime 40x .
//
// An iteration is a block of each side. It reports microseconds of each, and their ratio.
func BenchmarkClientBesideClientset(b *testing.B) {
	cp, err := startShared()
	require.NoError(b, err)
	for _, encoding := range []struct{ name, contentType string }{
		{"json", "application/json"}, {"protobuf", "application/vnd.kubernetes.protobuf"},
	} {
		cfg := rest.CopyConfig(cp.Config())
		cfg.QPS, cfg.ContentType = -1, encoding.contentType
		clientset, err := kubernetes.NewForConfig(cfg)
		require.NoError(b, err)
		ns, err := clientset.CoreV1().Namespaces().Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "client-"}}, metav1.CreateOptions{})
		require.NoError(b, err)
		ours, err := typed.New[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), typed.Options{})
		require.NoError(b, err)
		pods := clientset.CoreV1().Pods(ns.Name)
		sides := []writer{{
			create: ours.Create, update: ours.Update,
			patch: func(ctx context.Context, name string, body []byte) (*corev1.Pod, error) {
				return ours.Status().Patch(ctx, types.NamespacedName{Namespace: ns.Name, Name: name}, types.MergePatchType, body)
			},
		}, {
			create: func(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
				return pods.Create(ctx, pod, metav1.CreateOptions{})
			},
			update: func(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
				return pods.Update(ctx, pod, metav1.UpdateOptions{})
			},
			patch: func(ctx context.Context, name string, body []byte) (*corev1.Pod, error) {
				return pods.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
			},
		}}
		for _, operation := range []string{"create", "update", "status-patch"} {
			b.Run(encoding.name+"/"+operation, func(b *testing.B) {
				var cost [2][]time.Duration
				for i := range b.N {
					for k := range sides {
						side := (i + k) % 2
						cost[side] = append(cost[side], block(b, &sides[side], ns.Name, operation))
					}
				}
				us := func(side int) float64 { return float64(slices.Min(cost[side]).Nanoseconds()) / 1e3 }
				b.ReportMetric(us(0), "us-ours")
				b.ReportMetric(us(1), "us-clientset")
				b.ReportMetric(us(0)/us(1), "ratio")
			})
		}
	}
}

// block makes some requests, and returns the processor time of one.
func block(b *testing.B, w *writer, namespace, operation string) time.Duration {
	b.Helper()
	const requests = 40
	ctx := b.Context()
	template := podTemplate("web")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "pod-", Labels: map[string]string{"app": "web"}}, Spec: template.Spec}
	made, err := w.create(ctx, pod)
	require.NoError(b, err)
	before := processorTime(b)
	for i := range requests {
		switch operation {
		case "create":
			_, err = w.create(ctx, pod)
		case "update":
			made.Labels["turn"] = fmt.Sprint(i)
			made, err = w.update(ctx, made)
		case "status-patch":
			_, err = w.patch(ctx, made.Name, fmt.Appendf(nil, `{"status":{"message":"turn %d"}}`, i))
		}
		require.NoError(b, err)
	}
	return (processorTime(b) - before) / requests
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
