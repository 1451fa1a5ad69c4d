package deltafifo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func BenchmarkBatchUpdatePop(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(map[int]string{1: "batch=1", 100: "batch=100", 1000: "batch=1000"}[size], func(b *testing.B) {
			q := NewBatch[*corev1.Pod](BatchOptions{})
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			process := func([]Delta[*corev1.Pod]) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = q.Update(b.Context(), pod)
				if i%size == size-1 {
					_ = q.PopBatch(b.Context(), process)
				}
			}
		})
	}
}
