package manager

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

const (
	spaces      = 5 // namespaces of a run
	deployments = 4 // of a namespace
)

// script is what users do in a run.
type script struct {
	client kubernetes.Interface
	prefix string // of the namespaces
}

// step is a part of the script. After do the program has to bring the cluster to what done
// says, and to rest.
type step struct {
	name string
	do   func(s *script, ctx context.Context, cp faults) error
	done func(s *script, ctx context.Context) (bool, error)
}

// faults are what a step may do to the API server.
type faults interface {
	KillAPIServer() error
	StartAPIServer(ctx context.Context, flags ...string) error
	Compact(ctx context.Context) (int64, error)
}

var steps = []step{
	{"create", (*script).createAll, replicas(5)},
	{"scale, as the API server is killed", (*script).scale, replicas(8)},
	{"roll out", (*script).rollOut, replicas(8)},
	{"delete", (*script).deleteSome, (*script).someGone},
}

// last deletes what is left, after the states have been compared.
var last = step{"delete the namespaces", (*script).deleteSpaces, (*script).spacesGone}

func (s *script) space(i int) string { return fmt.Sprintf("%s%d", s.prefix, i) }

func labels(i int) map[string]string { return map[string]string{"app": fmt.Sprintf("web-%d", i)} }

func template(labels map[string]string, restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy: restart,
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/web:v1",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			}},
		},
	}
}

func ptr[T any](v T) *T { return &v }

// create makes the workloads of one namespace.
func (s *script) create(ctx context.Context, space string) error {
	var opts metav1.CreateOptions
	errs := []error{}
	add := func(_ any, err error) { errs = append(errs, err) }
	add(s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, opts))
	add(nil, s.createQuota(ctx, space))
	for i := range deployments {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)}
		selector := &metav1.LabelSelector{MatchLabels: labels(i)}
		add(s.client.AppsV1().Deployments(space).Create(ctx, &appsv1.Deployment{
			ObjectMeta: meta,
			Spec:       appsv1.DeploymentSpec{Replicas: ptr[int32](5), Selector: selector, Template: template(labels(i), corev1.RestartPolicyAlways)},
		}, opts))
		add(s.client.CoreV1().Services(space).Create(ctx, &corev1.Service{
			ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels(i), Ports: []corev1.ServicePort{{Port: 80}}},
		}, opts))
		add(s.client.PolicyV1().PodDisruptionBudgets(space).Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: ptr(intstr.FromInt32(1))},
		}, opts))
	}
	set := map[string]string{"app": "set"}
	add(s.client.AppsV1().StatefulSets(space).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr[int32](3), Selector: &metav1.LabelSelector{MatchLabels: set}, ServiceName: "set",
			Template: template(set, corev1.RestartPolicyAlways), PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}, opts))
	for i := range 2 {
		add(s.client.BatchV1().Jobs(space).Create(ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", i)},
			Spec:       batchv1.JobSpec{Parallelism: ptr[int32](2), Completions: ptr[int32](4), Template: template(nil, corev1.RestartPolicyNever)},
		}, opts))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// createQuota returns when the quota is in effect: services that are created at the same
// moment may be missing from its first count, for minutes.
func (s *script) createQuota(ctx context.Context, space string) error {
	quotas := s.client.CoreV1().ResourceQuotas(space)
	quota, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "services"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceServices: resource.MustParse("10")}},
	}, metav1.CreateOptions{})
	for err == nil && len(quota.Status.Used) == 0 {
		select {
		case <-time.After(50 * time.Millisecond):
			quota, err = quotas.Get(ctx, "services", metav1.GetOptions{})
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

func (s *script) createAll(ctx context.Context, _ faults) error {
	return inParallel(ctx, spaces, func(i int) error { return s.create(ctx, s.space(i)) })
}

// each patches all Deployments.
func (s *script) each(ctx context.Context, patch string) error {
	return inParallel(ctx, spaces*deployments, func(i int) error {
		_, err := s.client.AppsV1().Deployments(s.space(i/deployments)).
			Patch(ctx, fmt.Sprintf("web-%d", i%deployments), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

func (s *script) scale(ctx context.Context, cp faults) error {
	if err := s.each(ctx, `{"spec":{"replicas":8}}`); err != nil {
		return err
	}
	if err := cp.KillAPIServer(); err != nil {
		return err
	}
	// What the storage has forgotten cannot be watched from any more.
	if _, err := cp.Compact(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
	}
	return cp.StartAPIServer(ctx)
}

func (s *script) rollOut(ctx context.Context, _ faults) error {
	return s.each(ctx, `{"spec":{"strategy":{"rollingUpdate":{"maxUnavailable":"100%"}},"template":{"spec":{"containers":[{"name":"main","image":"registry.example.com/web:v2"}]}}}}`)
}

func (s *script) deleteSome(ctx context.Context, _ faults) error {
	return inParallel(ctx, spaces, func(i int) error {
		space := s.space(i)
		for d, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
			if err := s.client.AppsV1().Deployments(space).Delete(ctx, fmt.Sprintf("web-%d", d), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				return err
			}
		}
		return s.client.BatchV1().Jobs(space).Delete(ctx, "job-0", metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)})
	})
}

func (s *script) deleteSpaces(ctx context.Context, _ faults) error {
	return inParallel(ctx, spaces, func(i int) error {
		return s.client.CoreV1().Namespaces().Delete(ctx, s.space(i), metav1.DeleteOptions{})
	})
}

// replicas waits until each workload says that it has what its specification asks for, of
// which n are of each Deployment.
func replicas(n int32) func(*script, context.Context) (bool, error) {
	return func(s *script, ctx context.Context) (bool, error) {
		for i := range spaces {
			web, err := s.client.AppsV1().Deployments(s.space(i)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for _, d := range web.Items {
				if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != n || d.Status.UpdatedReplicas != n {
					return false, nil
				}
			}
			sets, err := s.client.AppsV1().StatefulSets(s.space(i)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for _, set := range sets.Items {
				if set.Status.Replicas != *set.Spec.Replicas {
					return false, nil
				}
			}
			jobs, err := s.client.BatchV1().Jobs(s.space(i)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for _, job := range jobs.Items {
				if job.Status.Active != *job.Spec.Parallelism {
					return false, nil
				}
			}
			budgets, err := s.client.PolicyV1().PodDisruptionBudgets(s.space(i)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for _, budget := range budgets.Items {
				if budget.Status.ExpectedPods != n {
					return false, nil
				}
			}
		}
		return true, nil
	}
}

// someGone waits until nothing is left of what was deleted with its pods.
func (s *script) someGone(ctx context.Context) (bool, error) {
	for i := range spaces {
		for _, selector := range []string{"app in (web-0,web-1)", "job-name=job-0"} {
			pods, err := s.client.CoreV1().Pods(s.space(i)).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil || len(pods.Items) > 0 {
				return false, err
			}
		}
		web, err := s.client.AppsV1().Deployments(s.space(i)).List(ctx, metav1.ListOptions{})
		if err != nil || len(web.Items) != deployments-3 {
			return false, err
		}
	}
	return true, nil
}

func (s *script) spacesGone(ctx context.Context) (bool, error) {
	all, err := s.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, space := range all.Items {
		if strings.HasPrefix(space.Name, s.prefix) {
			return false, nil
		}
	}
	return true, nil
}

// inParallel calls do for the numbers below n, some at a time, and returns one of the errors.
func inParallel(ctx context.Context, n int, do func(i int) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(16)
	for i := range n {
		calls.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(i)
		})
	}
	return calls.Wait()
}
