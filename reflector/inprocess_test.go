package reflector_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// inProcess says that it has no server behind it, until it is served.
type inProcess struct {
	reflector.ListerWatcher[*corev1.ConfigMap]
	served *atomic.Bool
}

func (s inProcess) Unwrap() any     { return s.ListerWatcher }
func (s inProcess) InProcess() bool { return !s.served.Load() }

func TestAWatchOfASourceInTheProcessIsNotEndedForItsSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.Quiet}
		source := inProcess{sourceOf(t, s), &atomic.Bool{}}
		r := run(t, source, newRecorder(), listMode)
		after(24 * time.Hour)
		require.Equal(t, "list@0 watch@10", s.Verbs())
		require.Empty(t, r.Health().Reconnects)
	})
}

func TestAWatchWithAServerAfterAllIsEndedWhenItIsOverdue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.Quiet}
		source := inProcess{sourceOf(t, s), &atomic.Bool{}}
		run(t, source, newRecorder(), listMode)
		after(time.Minute)
		source.served.Store(true) // a bookmark has come, for example
		after(11 * time.Minute)
		require.Contains(t, s.Verbs(), "list@0 watch@10 watch@10")
	})
}

func TestTheVersionOfASourceInTheProcessIsNotDoubted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cut := func(w httpWriter, _ *httpRequest, _ int) { scripted.Begin(w); scripted.Cut() }
		s := &scripted.Server{List: scripted.Lists("10"), Watch: scripted.InTurn(cut, scripted.Quiet)}
		run(t, inProcess{sourceOf(t, s), &atomic.Bool{}}, newRecorder(), listMode)
		after(time.Hour)
		require.Equal(t, "list@0 watch@10 watch@10", s.Verbs())
	})
}
