package backup_test

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/informerkit/informerkit/examples/backup"
	"github.com/informerkit/informerkit/examples/backup/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
)

//go:embed deploy/crd.yaml
var definition []byte

var key = types.NamespacedName{Namespace: "default", Name: "db"}

// world is a cluster in fake time, in which the operator runs.
type world struct {
	t       *testing.T
	server  *informertest.Server
	backups *client.Client[*api.CronBackup]
	jobs    *client.Client[*batchv1.Job]
}

// inWorld runs a test in a bubble: three hours of a schedule take milliseconds.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		var crd unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal(definition, &crd.Object))
		require.NoError(t, server.Create(&crd))
		w := &world{t: t, server: server}
		w.backups, err = client.New[*api.CronBackup](server.Config(), api.Resource, client.Options{})
		require.NoError(t, err)
		w.jobs, err = client.New[*batchv1.Job](server.Config(), batchv1.SchemeGroupVersion.WithResource("jobs"), client.Options{})
		require.NoError(t, err)

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		cfg := server.Config()
		cfg.UserAgent = "operator"
		operator := backup.New(controller.Options{Config: cfg, Name: "backup", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		go func() { ended <- operator.Run(ctx) }()
		test(t, w)
		stop()
		require.NoError(t, <-ended)
	})
}

func (w *world) create(every time.Duration, keep int) {
	w.t.Helper()
	_, err := w.backups.Create(w.t.Context(), &api.CronBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       api.CronBackupSpec{Every: metav1.Duration{Duration: every}, Keep: keep, Image: "backup:1"},
	})
	require.NoError(w.t, err)
}

func (w *world) modify(change func(b *api.CronBackup)) {
	w.t.Helper()
	_, err := w.backups.Modify(w.t.Context(), key, func(b *api.CronBackup) error { change(b); return nil })
	require.NoError(w.t, err)
}

func (w *world) get() *api.CronBackup {
	w.t.Helper()
	b, err := w.backups.Get(w.t.Context(), key)
	require.NoError(w.t, err)
	return b
}

func (w *world) reason() string {
	return meta.FindStatusCondition(w.get().Status.Conditions, "Ready").Reason
}

func (w *world) list() []*batchv1.Job {
	w.t.Helper()
	jobs, err := w.jobs.List(w.t.Context(), key.Namespace, metav1.ListOptions{})
	require.NoError(w.t, err)
	return jobs
}

// pods returns the pods that are left when the garbage collector has worked.
func (w *world) pods() []*unstructured.Unstructured {
	w.t.Helper()
	require.NoError(w.t, w.server.CollectGarbage())
	pods, err := w.server.List(corev1.SchemeGroupVersion.WithResource("pods"), key.Namespace, nil)
	require.NoError(w.t, err)
	return pods
}

// pass lets time pass, in which each Job ends a minute after its start, as the controller of Jobs would note.
func (w *world) pass(d time.Duration, end batchv1.JobConditionType) {
	w.t.Helper()
	for range d / time.Minute {
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, job := range w.list() {
			if len(job.Status.Conditions) > 0 {
				continue
			}
			// Its pod is made by the controller of Jobs.
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name + "-pod"}, Spec: job.Spec.Template.Spec}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
			require.NoError(w.t, w.server.Create(pod))
			_, err := w.jobs.Status().Modify(w.t.Context(), client.KeyOf(job), func(job *batchv1.Job) error {
				job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue}}
				return nil
			})
			require.NoError(w.t, err)
		}
	}
	synctest.Wait()
}

func TestThreeHoursOfASchedule(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create(30*time.Minute, 3)
		w.pass(2*time.Hour+50*time.Minute, batchv1.JobComplete)
		assert.Equal(t, 6, w.server.Count("create", "jobs"), "one at once, and one every half hour")
		assert.Len(t, w.list(), 3, "the others were removed")
		assert.Len(t, w.pods(), 3, "with their pods")
		b := w.get()
		assert.Equal(t, "Scheduled", w.reason())
		assert.Less(t, time.Since(b.Status.LastSuccess.Time), 30*time.Minute)
		assert.Equal(t, b.Generation, b.Status.ObservedGeneration)
		settings, err := w.server.Get(corev1.SchemeGroupVersion.WithResource("configmaps"), key.Namespace, key.Name)
		require.NoError(t, err)
		assert.True(t, metav1.IsControlledBy(settings, b))

		require.NoError(t, w.server.Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), key.Namespace, key.Name))
		synctest.Wait()
		_, err = w.server.Get(corev1.SchemeGroupVersion.WithResource("configmaps"), key.Namespace, key.Name)
		assert.NoError(t, err, "it came back")
	})
}

func TestAFailureIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create(time.Hour, 3)
		w.pass(2*time.Minute, batchv1.JobFailed)
		assert.Equal(t, "BackupFailed", w.reason())
		assert.Nil(t, w.get().Status.LastSuccess)
		events, err := w.server.List(eventsv1.SchemeGroupVersion.WithResource("events"), key.Namespace, nil)
		require.NoError(t, err)
		assert.Len(t, events, 1)
		w.pass(2*time.Hour, batchv1.JobComplete)
		assert.Equal(t, "Scheduled", w.reason())
		w.modify(func(b *api.CronBackup) { b.Spec.Keep = 1 })
		synctest.Wait()
		assert.Len(t, w.list(), 1)
	})
}

func TestBackupsAreRemovedBeforeTheObjectGoes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create(time.Hour, 3)
		w.pass(2*time.Minute, batchv1.JobComplete)
		require.NoError(t, w.backups.Delete(t.Context(), key, metav1.DeleteOptions{}))
		synctest.Wait()
		assert.NotNil(t, w.get().DeletionTimestamp, "held back by the finalizer")
		job, err := w.jobs.Get(t.Context(), types.NamespacedName{Namespace: key.Namespace, Name: "db-remove"})
		require.NoError(t, err)
		assert.Equal(t, []string{"--remove"}, job.Spec.Template.Spec.Containers[0].Args)
		w.pass(2*time.Minute, batchv1.JobComplete)
		_, err = w.backups.Get(t.Context(), key)
		require.NoError(t, client.IgnoreNotFound(err))
		require.Error(t, err)
		assert.Empty(t, w.pods())
		assert.Empty(t, w.list())
	})
}

//go:embed deploy/backup.yaml
var manifests string

// The manifest grants what the operator has used in its life, and nothing else. What it does after a
// conflict counts, too. (It leads by a Lease in its own namespace, for which it has a Role there.)
func TestManifestGrantsWhatIsNeededAndNoMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, resource := range []string{"cronbackups", "configmaps"} {
			w.server.Inject(informertest.Fault{
				Verb: "patch", Resource: resource,
				Effect: informertest.Refuse(apierrors.NewConflict(api.Resource.GroupResource(), key.Name, errors.New("another writer was faster"))),
			})
		}
		w.create(30*time.Minute, 1)
		w.pass(time.Minute, batchv1.JobFailed)
		for range 2 { // an Event that repeats is counted
			w.pass(30*time.Minute, batchv1.JobFailed)
		}
		require.NoError(t, w.server.Modify(corev1.SchemeGroupVersion.WithResource("configmaps"), key.Namespace, key.Name, func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedStringMap(u.Object, map[string]string{"TARGET": "another"}, "data")
		}))
		w.pass(time.Hour, batchv1.JobComplete)
		require.NoError(t, w.backups.Delete(t.Context(), key, metav1.DeleteOptions{}))
		w.pass(2*time.Minute, batchv1.JobComplete)

		role := w.server.Role("informerkit-backup", func(r informertest.Request) bool { return r.UserAgent == "operator" })
		assert.Contains(t, manifests, "\nkind: ClusterRole\nmetadata: {name: informerkit-backup}\n"+role[strings.Index(role, "rules:"):]+"---\n")
	})
}

// The watch of Jobs is interrupted, and the API server refuses a third of the requests.
func TestNoBackupIsMadeTwiceInAStorm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stop := w.server.InjectChaos(informertest.Chaos{Seed: 1, Rate: 0.3, Writes: false, Longest: 10 * time.Second})
		defer stop()
		require.NoError(t, w.server.Create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "examples.informerkit.dev/v1", "kind": "CronBackup",
			"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
			"spec":     map[string]any{"every": "30m", "keep": int64(10), "image": "backup:1"},
		}}))
		for range 3 * 60 {
			time.Sleep(time.Minute)
			jobs, err := w.server.List(batchv1.SchemeGroupVersion.WithResource("jobs"), key.Namespace, nil)
			require.NoError(t, err)
			for _, job := range jobs {
				require.NoError(t, w.server.Modify(batchv1.SchemeGroupVersion.WithResource("jobs"), key.Namespace, job.GetName(), func(u *unstructured.Unstructured) {
					_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"type": "Complete", "status": "True"}}, "status", "conditions")
				}))
			}
		}
		jobs, err := w.server.List(batchv1.SchemeGroupVersion.WithResource("jobs"), key.Namespace, nil)
		require.NoError(t, err)
		assert.InDelta(t, 6, len(jobs), 1)
	})
}
