// Package backup is an operator: for each CronBackup it keeps a ConfigMap with the settings and makes a
// Job whenever a backup is due; before a CronBackup goes, a last Job removes its backups.
package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/backup/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/workqueue"
)

// Finalizer keeps a CronBackup until its backups are removed.
const Finalizer = "examples.informerkit.dev/backups"

// Operator reconciles CronBackups.
type Operator struct {
	*controller.Controller
	backups  *controller.Resource[*api.CronBackup]
	settings *controller.Resource[*corev1.ConfigMap]
	jobs     *controller.Resource[*batchv1.Job]
}

// New returns the operator. It makes no request.
func New(opts controller.Options) *Operator {
	c := controller.New(opts)
	return &Operator{
		Controller: c,
		backups:    controller.For[*api.CronBackup](c, api.Resource),
		settings:   controller.Owns[*corev1.ConfigMap](c, corev1.SchemeGroupVersion.WithResource("configmaps")),
		jobs:       controller.Owns[*batchv1.Job](c, batchv1.SchemeGroupVersion.WithResource("jobs")),
	}
}

// Run works until ctx ends.
func (o *Operator) Run(ctx context.Context) error { return o.Controller.Run(ctx, o.reconcile) }

// reconcile makes what a CronBackup asks for. Whatever it writes is in the caches when it is called
// for the same key again.
func (o *Operator) reconcile(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
	b, err := o.backups.Get(key)
	switch {
	case err != nil:
		return result, client.IgnoreNotFound(err) // what it owned is garbage
	case b.DeletionTimestamp != nil:
		return result, o.remove(ctx, b)
	case !slices.Contains(b.Finalizers, Finalizer): // before there is something to remove; the update is an event
		_, err = o.backups.Modify(ctx, key, func(b *api.CronBackup) error { client.AddFinalizer(b, Finalizer); return nil })
		return result, client.IgnoreNotFound(err)
	}
	_, _, err = o.settings.CreateOrUpdate(ctx, key, func(m *corev1.ConfigMap) error {
		m.Data = map[string]string{"TARGET": key.String()}
		return o.backups.Own(ctx, m, b)
	})
	if err != nil {
		return result, client.IgnoreNotFound(err)
	}
	return o.schedule(ctx, b)
}

// schedule removes old Jobs, makes one if it is due, and returns when the next one is.
func (o *Operator) schedule(ctx context.Context, b *api.CronBackup) (workqueue.Result, error) {
	next, reason, message := b.CreationTimestamp.Time, "Scheduled", ""
	var success *metav1.Time
	var ended []*batchv1.Job
	for _, job := range o.jobs.Owned(b) { // in the order of their names, and so of their times
		next = job.CreationTimestamp.Add(b.Spec.Every.Duration)
		switch {
		case has(job, batchv1.JobComplete):
			success, reason, message = &job.CreationTimestamp, "Scheduled", ""
		case has(job, batchv1.JobFailed):
			reason, message = "BackupFailed", "Job "+job.Name+" has failed"
			o.Event(ctx, b, "Warning", reason, message)
		default: // it runs; its end is an event
			return workqueue.Result{}, o.report(ctx, b, success, reason, message)
		}
		ended = append(ended, job)
	}
	// Without a PropagationPolicy, Delete of a Job asks for Background. Its pods are deleted as well.
	for i := range len(ended) - b.Spec.Keep {
		if err := o.jobs.Delete(ctx, client.KeyOf(ended[i]), client.Exactly(ended[i])); client.IgnoreNotFound(err) != nil {
			return workqueue.Result{}, err
		}
	}
	if wait := time.Until(next); wait > 0 {
		return workqueue.Result{RequeueAfter: wait}, o.report(ctx, b, success, reason, message)
	}
	// The name says which one it is, so it is made once, however often this is tried.
	err := o.run(ctx, b, fmt.Sprintf("%s-%d", b.Name, next.Unix()))
	return workqueue.Result{}, errors.Join(err, o.report(ctx, b, success, reason, message))
}

// remove runs a Job that removes all backups, and then removes the finalizer.
func (o *Operator) remove(ctx context.Context, b *api.CronBackup) error {
	job, err := o.jobs.Get(types.NamespacedName{Namespace: b.Namespace, Name: b.Name + "-remove"})
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil || !metav1.IsControlledBy(job, b):
		return o.run(ctx, b, b.Name+"-remove", "--remove")
	case !has(job, batchv1.JobComplete):
		return nil // its end is an event
	}
	_, err = o.backups.Modify(ctx, client.KeyOf(b), func(b *api.CronBackup) error { client.RemoveFinalizer(b, Finalizer); return nil })
	return client.IgnoreNotFound(err)
}

// run makes a Job that b controls.
func (o *Operator) run(ctx context.Context, b *api.CronBackup, name string, args ...string) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "backup", Image: b.Spec.Image, Args: args, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: b.Name}}},
		}}},
	}
	if err := o.backups.Own(ctx, job, b); err != nil {
		return client.IgnoreNotFound(err) // the cache was behind
	}
	_, err := o.jobs.Create(ctx, job)
	return client.IgnoreAlreadyExists(err) // it is this one
}

// report writes the status of b, if the cache has another one.
func (o *Operator) report(ctx context.Context, b *api.CronBackup, success *metav1.Time, reason, message string) error {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if reason == "Scheduled" {
		ready.Status = metav1.ConditionTrue
	}
	_, err := o.backups.ModifyStatus(ctx, client.KeyOf(b), func(now *api.CronBackup) error {
		now.Status.ObservedGeneration = b.Generation // of what was looked at; now may be newer
		if success != nil {
			now.Status.LastSuccess = success
		}
		meta.SetStatusCondition(&now.Status.Conditions, ready)
		return nil
	})
	return client.IgnoreNotFound(err)
}

// has reports whether a Job has ended in this way.
func has(job *batchv1.Job, end batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == end && c.Status == "True" })
}
