package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// desk runs the controller in a bubble and takes its reports.
type desk struct {
	*testing.T
	server *informertest.Server
	log    bytes.Buffer
	c      *Controller

	mu     sync.Mutex
	sent   []string
	refuse error         // what every report is answered with
	hold   chan struct{} // if set, reports wait until it is closed

	stop  context.CancelFunc
	ended chan struct{}
	err   error
}

// inBubble runs test with a controller of one worker, which has looked at the
// pods that were there already.
func inBubble(t *testing.T, there []*corev1.Pod, test func(d *desk)) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		for _, pod := range there {
			require.NoError(t, server.Create(pod))
		}
		d := &desk{T: t, server: server, ended: make(chan struct{})}
		d.c, err = New(server.Config(), Options{Log: slog.New(slog.NewTextHandler(&d.log, nil)), Send: d.send})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		d.stop = stop
		go func() {
			defer close(d.ended)
			d.err = d.c.Run(ctx, 1)
		}()
		synctest.Wait()
		test(d)
		stop()
		<-d.ended
		require.NoError(t, d.err)
	})
}

func (d *desk) send(ctx context.Context, r Report) error {
	d.mu.Lock()
	hold, refuse := d.hold, d.refuse
	d.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if refuse == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sent = append(d.sent, r.Pod.Name+" "+r.State())
	}
	return refuse
}

// heard returns the reports received since the last call.
func (d *desk) heard() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	sent := d.sent
	d.sent = nil
	return sent
}

func (d *desk) answer(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = err
}

func (d *desk) create(pods ...*corev1.Pod) {
	d.Helper()
	for _, pod := range pods {
		require.NoError(d, d.server.Create(pod))
		synctest.Wait()
	}
}

func (d *desk) modify(name string, change func(*unstructured.Unstructured)) {
	d.Helper()
	require.NoError(d, d.server.Modify(podResource, "default", name, change))
	synctest.Wait()
}

// newPod returns a pod with the label, created now.
func newPod(name, phase, patience string) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{Label: LabelValue}},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
	if patience != "" {
		pod.Annotations = map[string]string{PatienceAnnotation: patience}
	}
	return pod
}

func touch(u *unstructured.Unstructured) {
	u.SetLabels(map[string]string{Label: LabelValue, "touched": "yes"})
}

func phase(p string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"phase": p} }
}

func TestEachPhaseIsReportedOnce(t *testing.T) {
	inBubble(t, []*corev1.Pod{newPod("a", "Running", "")}, func(d *desk) {
		assert.Equal(t, []string{"a Running"}, d.heard())
		d.create(newPod("b", "", ""))
		assert.Equal(t, []string{"b Pending"}, d.heard())
		d.modify("b", touch)
		assert.Empty(t, d.heard(), "it is pending as before")
		d.modify("b", phase("Running"))
		assert.Equal(t, []string{"b Running"}, d.heard())
		require.NoError(t, d.server.Delete(podResource, "default", "b"))
		assert.Equal(t, []string{"b gone"}, d.heard())
		remembered := 0
		for range d.c.sent.Range {
			remembered++
		}
		assert.Equal(t, 1, remembered, "nothing is remembered of pods that are gone")
	})
}

func TestPodsWithoutTheLabelAreNoneOfItsBusiness(t *testing.T) {
	stranger := newPod("stranger", "Running", "soon")
	stranger.Labels = nil
	inBubble(t, []*corev1.Pod{stranger}, func(d *desk) {
		assert.Empty(t, d.heard())
		d.modify("stranger", touch)
		assert.Len(t, d.c.Inspect().Queued, 0)
		assert.Contains(t, d.log.String(), "must be a positive duration", "now it has the label")
	})
}

func TestAnotherPodOfTheSameNameIsNews(t *testing.T) {
	inBubble(t, []*corev1.Pod{newPod("a", "Running", "")}, func(d *desk) {
		d.hold = make(chan struct{})
		d.create(newPod("busy", "Running", "")) // keeps the worker from seeing the deletion
		require.NoError(t, d.server.Delete(podResource, "default", "a"))
		d.create(newPod("a", "Running", ""))
		close(d.hold)
		assert.Equal(t, []string{"a Running", "busy Running", "a Running"}, d.heard())
	})
}

func TestDeletionOfAnUnreportedPodIsNotReported(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.answer(errors.New("no answer"))
		d.create(newPod("a", "Running", ""))
		require.NoError(t, d.server.Delete(podResource, "default", "a"))
		d.answer(nil)
		exampletest.Pass(time.Minute)
		assert.Empty(t, d.heard())
	})
}

func TestPatienceEndsToTheSecond(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.create(newPod("a", "Pending", "90s"))
		assert.Equal(t, []string{"a Pending"}, d.heard())
		exampletest.Pass(80 * time.Second)
		d.modify("a", touch) // an event on the way does not start the waiting time again
		exampletest.Pass(10*time.Second - time.Millisecond)
		assert.Empty(t, d.heard())
		exampletest.Pass(time.Millisecond)
		assert.Equal(t, []string{"a Pending for too long"}, d.heard())
		exampletest.Pass(time.Hour)
		assert.Empty(t, d.heard(), "once is enough")
		d.modify("a", phase("Running"))
		assert.Equal(t, []string{"a Running"}, d.heard())
	})
}

func TestPodThatRunsInTimeIsNotOverdue(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.create(newPod("a", "Pending", "90s"))
		d.modify("a", phase("Running"))
		exampletest.Pass(time.Hour)
		assert.Equal(t, []string{"a Pending", "a Running"}, d.heard())
		assert.Empty(t, d.c.Inspect().Delayed)
	})
}

func TestFailedReportIsRetried(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.answer(errors.New("no answer"))
		d.create(newPod("a", "Running", ""))
		d.answer(nil)
		exampletest.Pass(FirstDelay - time.Millisecond)
		assert.Empty(t, d.heard())
		exampletest.Pass(time.Millisecond)
		assert.Equal(t, []string{"a Running"}, d.heard())
	})
}

func TestPoisonPodIsGivenUpUntilItChanges(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.answer(errors.New("no answer"))
		d.create(newPod("a", "Running", ""))
		exampletest.Pass(time.Hour)
		// The same failure again is not worth a line, but the end of the attempts is.
		assert.Equal(t, 2, strings.Count(d.log.String(), "no answer"), d.log.String())
		assert.Equal(t, 1, strings.Count(d.log.String(), "and it is dropped"))
		assert.Contains(t, d.log.String(), fmt.Sprintf("attempt=%d", MaxAttempts))
		in := d.c.Inspect()
		assert.Zero(t, len(in.Queued)+len(in.Delayed)+len(in.Running))

		d.answer(nil)
		d.modify("a", touch)
		assert.Equal(t, []string{"a Running"}, d.heard(), "a change is a new chance")
	})
}

func TestWrongAnnotationIsNotTriedAgainBeforeItChanges(t *testing.T) {
	for _, patience := range []string{"soon", "0s", "-1m", "90", " "} {
		t.Run(patience, func(t *testing.T) {
			inBubble(t, []*corev1.Pod{newPod("a", "Pending", patience)}, func(d *desk) {
				exampletest.Pass(time.Hour)
				assert.Equal(t, 1, strings.Count(d.log.String(), "must be a positive duration"), d.log.String())
				d.modify("a", func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{PatienceAnnotation: "2h"}) })
				assert.Equal(t, []string{"a Pending"}, d.heard())
			})
		})
	}
}

func TestWhatChangesGoesBeforeWhatWasThere(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.hold = make(chan struct{})
		d.create(newPod("busy", "Running", ""))
		d.c.queue.PriorityClass(Known).Add(types.NamespacedName{Namespace: "default", Name: "known"})
		d.create(newPod("news", "Running", ""))
		require.Len(t, d.c.Inspect().Queued, 2)
		assert.Equal(t, "news", d.c.Inspect().Queued[0].Item.Name)
		close(d.hold)
	})
}

func TestFirstListIsOfTheClassOfWhatWasThere(t *testing.T) {
	pods := []*corev1.Pod{newPod("a", "Pending", ""), newPod("b", "Pending", "")}
	inBubble(t, pods, func(d *desk) {
		d.create(newPod("c", "Pending", ""))
		classes := map[string]int{}
		for _, item := range d.c.Inspect().Delayed { // a key that comes again keeps its class
			classes[item.Item.Name] = item.PriorityClass
		}
		assert.Equal(t, map[string]int{"a": Known, "b": Known, "c": Changed}, classes)
	})
}

func TestStopWorksOffWhatIsQueued(t *testing.T) {
	inBubble(t, []*corev1.Pod{newPod("waiting", "Pending", "1h")}, func(d *desk) {
		d.heard()
		d.hold = make(chan struct{})
		d.create(newPod("a", "Running", ""), newPod("b", "Running", ""), newPod("c", "Pending", "1h"))
		d.stop()
		synctest.Wait()
		close(d.hold)
		<-d.ended
		assert.Equal(t, []string{"a Running", "b Running", "c Pending"}, d.heard())
		assert.EqualValues(t, 2, d.c.Inspect().Stats.ShutdownLosses, "those that were delayed")
	})
}

func TestStopDoesNotWaitForEverForAReport(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.hold = make(chan struct{}) // never released
		d.create(newPod("a", "Running", ""), newPod("b", "Running", ""))
		began := time.Now()
		d.stop()
		<-d.ended
		assert.Equal(t, stopTimeout, time.Since(began))
		require.ErrorIs(t, d.err, workqueue.ErrStopTimeout)
		synctest.Wait() // the one that was running ends, as its context has ended
		assert.EqualValues(t, 2, d.c.Inspect().Stats.ShutdownLosses)
		d.err = nil // what inBubble expects of the others
	})
}

func TestReportThatHangsIsAFailure(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		d.hold = make(chan struct{})
		d.create(newPod("a", "Running", ""))
		exampletest.Pass(syncTimeout)
		assert.Contains(t, d.log.String(), "deadline exceeded")
		close(d.hold)
		exampletest.Pass(FirstDelay)
		assert.Equal(t, []string{"a Running"}, d.heard())
	})
}

func TestSecondRunIsRefused(t *testing.T) {
	inBubble(t, nil, func(d *desk) {
		err := d.c.Run(t.Context(), 1)
		assert.ErrorContains(t, err, "only once")
	})
}

func TestWithoutAListenerReportsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		require.NoError(t, server.Create(newPod("a", "Running", "")))
		var log bytes.Buffer
		c, err := New(server.Config(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err = c.Run(ctx, 1)
		require.NoError(t, err)
		assert.Contains(t, log.String(), "pod default/a is Running")
	})
}
