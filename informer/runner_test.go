package informer

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer/internal/eventlog"
)

// stepped returns t as it is read after the wall clock was set forward: with the same monotonic
// reading. The seconds are in the bits from 30 on, see package time.
func stepped(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

func TestAStepOfTheClockIsNoLag(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.Equal(t, now.Add(time.Hour).Round(0), stepped(now, time.Hour).Round(0))
	require.Zero(t, stepped(now, time.Hour).Sub(now))

	r := &runner[*corev1.Pod]{}
	r.position, _, _ = eventlog.New[record[*corev1.Pod]](view[*corev1.Pod]{}).Join(0, func() {})
	r.stats.since.Store(clock(now.Add(-time.Second)))
	require.Equal(t, time.Second, r.health(now).LagAge)
	require.Equal(t, time.Second, r.health(stepped(now, time.Hour)).LagAge)
}
