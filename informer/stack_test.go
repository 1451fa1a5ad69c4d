//go:build !race

package informer

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/reflector"
)

// The goroutine of Run waits with less than 2 kB on its stack, so that a garbage collection
// leaves it at 8 kB at most, whatever was on it before. The race detector makes frames larger.
func TestIdleInformerHasASmallStack(t *testing.T) {
	const n = 500
	stacks := func() float64 {
		var m runtime.MemStats
		for range 4 { // each halves a stack once
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.StackInuse)
	}
	before := stacks()
	for range n {
		lw := reflector.FromFuncs[*pod](
			func(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		)
		inf, err := New(lw, Options[*pod]{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _ = inf.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			<-inf.Done()
		})
		<-inf.Synced()
		require.Eventually(t, func() bool { return inf.Health().Sources[0].Reflector.State == reflector.StateWatching }, 10*time.Second, time.Millisecond)
	}
	per := (stacks() - before) / n
	t.Logf("%.0f bytes of stack per informer", per)
	assert.LessOrEqual(t, per, 8500.0)
}
