package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

// The pods of a Job go with it, unless its deletion was asked to keep them.
//
// Promise client/12
func TestAJobIsDeletedWithItsPods(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := informertest.Start(t, informertest.Options{})
	gvr := batchv1.SchemeGroupVersion.WithResource("jobs")
	jobs, err := client.New[*batchv1.Job](server.Config(), gvr, client.Options{})
	require.NoError(t, err)
	explicit := func(policy metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &policy}
	}
	for name, test := range map[string]struct {
		finalizers []string
		before     func(job *batchv1.Job) // the deletion
		opts       func(job *batchv1.Job) metav1.DeleteOptions
		pods, jobs int // left
	}{
		"no policy": {},
		"exactly":   {opts: func(job *batchv1.Job) metav1.DeleteOptions { return client.Exactly(job) }},
		"in this version": {opts: func(job *batchv1.Job) metav1.DeleteOptions {
			return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &job.ResourceVersion}}
		}},
		"Orphan":               {opts: func(*batchv1.Job) metav1.DeleteOptions { return explicit(metav1.DeletePropagationOrphan) }, pods: 1},
		"Foreground":           {opts: func(*batchv1.Job) metav1.DeleteOptions { return explicit(metav1.DeletePropagationForeground) }},
		"orphanDependents":     {opts: func(*batchv1.Job) metav1.DeleteOptions { return metav1.DeleteOptions{OrphanDependents: new(true)} }, pods: 1}, //nolint:staticcheck // the API still has it
		"finalizer orphan":     {finalizers: []string{metav1.FinalizerOrphanDependents}, pods: 1},
		"finalizer foreground": {finalizers: []string{metav1.FinalizerDeleteDependents}},
		"being orphaned": {finalizers: []string{"x.test/hold"}, pods: 1, jobs: 1, before: func(job *batchv1.Job) {
			require.NoError(t, jobs.Delete(ctx, client.KeyOf(job), explicit(metav1.DeletePropagationOrphan)))
		}},
		"changed meanwhile": {before: func(*batchv1.Job) {
			server.Inject(informertest.Fault{Verb: "delete", Resource: "jobs", Times: 1, Effect: informertest.Respond(409, "application/json", `{"kind":"Status","status":"Failure","reason":"Conflict","code":409}`)})
		}},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j", Finalizers: test.finalizers}}
		job.Spec.Template.Spec = pod("").Spec
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job, err := jobs.Create(ctx, job)
		require.NoError(t, err)
		owned := pod("p")
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		require.NoError(t, server.Create(owned))
		if test.before != nil {
			test.before(job)
		}
		var opts metav1.DeleteOptions
		if test.opts != nil {
			opts = test.opts(job)
		}
		require.NoError(t, jobs.Delete(ctx, client.KeyOf(job), opts), name)
		require.NoError(t, server.CollectGarbage())
		left, err := server.List(pods, "default", nil)
		require.NoError(t, err)
		assert.Len(t, left, test.pods, name)
		all, err := jobs.List(ctx, "default", metav1.ListOptions{})
		require.NoError(t, err)
		assert.Len(t, all, test.jobs, name)
		for _, rest := range left {
			require.NoError(t, server.Delete(pods, "default", rest.GetName()))
		}
		for range all {
			require.NoError(t, server.Modify(gvr, "default", "j", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) }))
		}
	}
	require.ErrorContains(t, jobs.DeleteCollection(ctx, "default", metav1.DeleteOptions{}, metav1.ListOptions{}), "PropagationPolicy")
	require.NoError(t, jobs.DeleteCollection(ctx, "default", explicit(metav1.DeletePropagationBackground), metav1.ListOptions{}))

	stolen := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j", UID: "other"}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j"}}
	job.Spec.Template.Spec = pod("").Spec
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = jobs.Create(ctx, job)
	require.NoError(t, err)
	before := server.Count("delete", "jobs")
	require.Error(t, jobs.Delete(ctx, client.KeyOf(stolen), client.Exactly(stolen)))
	assert.Equal(t, before+1, server.Count("delete", "jobs"), "another object is not tried again")
}
