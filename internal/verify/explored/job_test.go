package explored

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/job"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var (
	jobs       = batchv1.SchemeGroupVersion.WithResource("jobs")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
)

func buildJob(ctx context.Context, clients kubernetes.Interface, factory informers.SharedInformerFactory) (runnable, error) {
	// The informers of the scheduling group are used with an alpha feature only.
	return job.NewController(ctx, clients, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), nil, nil)
}

// runToCompletion lets pods run, and succeed some seconds later.
func runToCompletion(s *informertest.Server) {
	n, err := s.StepPods(informertest.PodsReady, "", nil)
	if err != nil {
		panic(err)
	}
	book := readBook(s)
	if running := book.note(s); n > 0 || running == 0 {
		book.ticks = 0
	} else if book.ticks++; book.ticks == podTicks {
		Step(s, informertest.PodsSucceed)
	}
	book.note(s)
	Step(s, informertest.PodsTerminate)
	book.write(s)
}

// podTicks is how many calls of runToCompletion a pod runs, one second each.
const podTicks = 4

// A book is what is known of pods that may be gone. It is kept in a config map, as each run has a server of its own;
// the controller does not look there.
type book struct {
	ticks     int
	succeeded map[string]string // names by UID
}

const ticksKey = "ticks"

// readBook reads the book of a server, and creates it.
func readBook(s *informertest.Server) *book {
	obj, err := s.Get(configMaps, "default", "book")
	if err != nil {
		if err := s.Create(&corev1.ConfigMap{ObjectMeta: at("book")}); err != nil {
			panic(err)
		}
		return &book{succeeded: map[string]string{}}
	}
	b := &book{succeeded: map[string]string{}}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	for k, v := range data {
		if k == ticksKey {
			b.ticks, _ = strconv.Atoi(v) // it is a number
		} else {
			b.succeeded[k] = v
		}
	}
	return b
}

// note adds the pods that have succeeded, and counts those that run.
func (b *book) note(s *informertest.Server) (running int) {
	list, err := s.List(pods, "default", nil)
	if err != nil {
		panic(err)
	}
	for _, pod := range list {
		switch phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); corev1.PodPhase(phase) {
		case corev1.PodSucceeded:
			b.succeeded[string(pod.GetUID())] = pod.GetName()
		case corev1.PodRunning:
			running++
		}
	}
	return running
}

func (b *book) write(s *informertest.Server) {
	data := maps.Clone(b.succeeded)
	data[ticksKey] = strconv.Itoa(b.ticks)
	err := s.Modify(configMaps, "default", "book", func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedStringMap(u.Object, data, "data"); err != nil {
			panic(err)
		}
	})
	if err != nil {
		panic(err)
	}
}

func jobSubject() explore.Subject {
	return explore.Subject{
		Start:  managed(buildJob),
		Others: runToCompletion,
		Act: func(w *explore.World) {
			w.Create(newJob(4, 2))
			w.Change(jobs, "default", "work", func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"seen": "yes"})
			})
		},
		Always:     countedOnce,
		Eventually: complete,
	}
}

func newJob(completions, parallelism int32) *batchv1.Job {
	t := template("v1")
	t.Labels = nil
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: at("work"), Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: t}}
}

// countedOnce: the job counts no more pods than have succeeded.
func countedOnce(v explore.View) error {
	j := explore.Get[batchv1.Job](v, jobs, "default", "work")
	if j == nil {
		return nil
	}
	if n := haveSucceeded(v); int(j.Status.Succeeded) > n {
		return fmt.Errorf("the job counts %d pods as succeeded, and %d have", j.Status.Succeeded, n)
	}
	return nil
}

// haveSucceeded is how many pods have ever succeeded.
func haveSucceeded(v explore.View) int {
	cm := explore.Get[corev1.ConfigMap](v, configMaps, "default", "book")
	if cm == nil {
		return 0
	}
	delete(cm.Data, ticksKey)
	return len(cm.Data)
}

// complete: what the job says is complete, and as many pods as it is to have did succeed.
func complete(v explore.View) error {
	if err := noFinalizers(v); err != nil {
		return err
	}
	j := explore.Get[batchv1.Job](v, jobs, "default", "work")
	if n := haveSucceeded(v); n < int(*j.Spec.Completions) {
		return fmt.Errorf("the job is complete, has counted %d pods of %d, and %d have succeeded", j.Status.Succeeded, *j.Spec.Completions, n)
	}
	return nil
}

// noFinalizers: the job says that it is complete, and no pod has a finalizer.
func noFinalizers(v explore.View) error {
	if err := saysComplete(v); err != nil {
		return err
	}
	for _, pod := range explore.List[corev1.Pod](v, pods, "default") {
		if len(pod.Finalizers) > 0 {
			return fmt.Errorf("pod %s still has %v", pod.Name, pod.Finalizers)
		}
	}
	return nil
}

// saysComplete: by its status the job is complete, and nothing is active or uncounted.
func saysComplete(v explore.View) error {
	j := explore.Get[batchv1.Job](v, jobs, "default", "work")
	if j == nil {
		return fmt.Errorf("the job is gone")
	}
	done := false
	for _, c := range j.Status.Conditions {
		done = done || c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	}
	s := j.Status
	if u := s.UncountedTerminatedPods; !done || s.Active != 0 || s.Succeeded < *j.Spec.Completions || u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		return fmt.Errorf("the job is not complete: %+v", s)
	}
	return nil
}

// One finding, with three effects.
//
// A pod is counted in three writes: its UID is added to status.uncountedTerminatedPods, its finalizer is removed,
// then its UID is removed again and status.succeeded raised. A new process whose cache of pods is older than the
// second write, and whose cache of jobs has the third one, sees a finalizer, finds no UID, and counts the pod again
// (trackJobStatusAndRemoveFinalizers). So the job counts more pods than have succeeded; and it may delete a running
// pod and be complete when fewer have succeeded than it is to have; then a pod may keep its finalizer. Jobs with completionMode Indexed count indexes, and
// are safe.
func TestJob(t *testing.T) {
	uncounted := jobSubject()
	uncounted.Always = nil
	tolerant, finalizers := uncounted, uncounted
	tolerant.Eventually, finalizers.Eventually = saysComplete, noFinalizers
	Case{
		Subject: jobSubject(),
		Known: []Finding{{
			Schedule: "stale@w10:pods", Rule: "always", Reason: "the job counts 3 pods as succeeded, and 2 have",
			Trace: []string{"next life gets pods from a cache 1 changes behind", "a2       w14 patch pods default/work-k59rj → 200 (changes nothing)", "status.succeeded 2→3"},
		}, {
			Schedule: "stale@w10:pods", Rule: "eventually", Reason: "the job is complete, has counted 4 pods of 4, and 3 have succeeded", Rest: &uncounted,
			Trace: []string{"next life gets pods from a cache 1 changes behind", "a2       w12 delete pods default/work-", "status.succeeded 2→3", "status.succeeded 3→4"},
		}, {
			Schedule: "order@451180 stale@w10:pods", Rule: "eventually", Reason: "still has [batch.kubernetes.io/job-tracking]", Rest: &finalizers,
			Trace: []string{"next life gets pods from a cache 1 changes behind", "status.succeeded 2→4", "events of pods arrive again"},
		}},
		Searches: []Search{
			{Name: "all faults but old lists", Subject: jobSubject(), Without: []string{"stale"}},
			{Name: "all faults, without the count", Subject: tolerant},
		},
	}.Test(t)
}
