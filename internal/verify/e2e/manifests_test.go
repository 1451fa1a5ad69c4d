package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/informerkit/informerkit/examples/cluster"
	"github.com/informerkit/informerkit/examples/demo"
	foo "github.com/informerkit/informerkit/examples/foo/api"
	foocontroller "github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	replicaset "github.com/informerkit/informerkit/examples/replicaset/controller"
	workqueuecontroller "github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/informer"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
)

// applyStrict creates every object of a file, with strict validation, and returns
// them. What exists already is left as it is.
func applyStrict(t *testing.T, cfg *rest.Config, file string) []map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", file))
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	var all []map[string]any
	for _, doc := range strings.Split("\n"+string(content), "\n---\n") {
		body, err := yaml.YAMLToJSONStrict([]byte(doc))
		require.NoError(t, err, file)
		var obj map[string]any
		require.NoError(t, json.Unmarshal(body, &obj))
		version, kind := obj["apiVersion"].(string), obj["kind"].(string)
		path := "/apis/" + version
		if version == "v1" {
			path = "/api/v1"
		}
		if namespace, ok := obj["metadata"].(map[string]any)["namespace"]; ok {
			path += "/namespaces/" + namespace.(string)
		} else if kind == "Foo" || kind == "ReplicaSet" {
			path += "/namespaces/default"
		}
		path += "/" + strings.ToLower(kind) + "s?fieldValidation=Strict"
		answer, err := client.Post(cfg.Host+path, "application/json", strings.NewReader(string(body)))
		require.NoError(t, err)
		var status metav1.Status
		_ = json.NewDecoder(answer.Body).Decode(&status)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusConflict {
			require.Less(t, answer.StatusCode, 300, "%s: %s %v", file, kind, status.Message)
		}
		all = append(all, obj)
	}
	return all
}

// rights are the verbs that were used, as "verb group/resource", and those that
// were refused.
type rights struct {
	sync.Mutex
	used, refused map[string]bool
}

// asServiceAccount returns a configuration that acts as a ServiceAccount of the
// control plane, and what it uses.
func asServiceAccount(cfg *rest.Config, namespace, name string) (*rest.Config, *rights) {
	r := &rights{used: map[string]bool{}, refused: map[string]bool{}}
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(request *http.Request) (*http.Response, error) {
			// Servers before 1.32 do not stream lists. They are why an informer needs the
			// right to list, so they are what it must be tested with.
			if request.URL.Query().Get("sendInitialEvents") != "" {
				return older(request), nil
			}
			answer, err := next.RoundTrip(request)
			if err == nil {
				r.Lock()
				defer r.Unlock()
				right := rightOf(request)
				if right == "" {
					return answer, nil
				}
				r.used[right] = true
				if answer.StatusCode == http.StatusForbidden {
					r.refused[right] = true
				}
			}
			return answer, err
		})
	})
	return cfg, r
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// older returns how a server answers that does not know sendInitialEvents.
func older(request *http.Request) *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,` +
		`"message":"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`
	return &http.Response{
		Status: "422 Unprocessable Entity", StatusCode: http.StatusUnprocessableEntity, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request,
	}
}

// rightOf returns what a request needs; empty if it is for no resource. A watch needs
// watch, also with initial events.
func rightOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] != "api" && parts[0] != "apis" {
		return ""
	}
	// Without a resource it is discovery, which every user may read.
	group, rest := "", parts[min(2, len(parts)):]
	if parts[0] == "apis" {
		group, rest = parts[min(1, len(parts)-1)], parts[min(3, len(parts)):]
	}
	if len(rest) == 0 {
		return ""
	}
	if len(rest) > 2 && rest[0] == "namespaces" {
		rest = rest[2:]
	}
	resource := group + "/" + rest[0]
	if len(rest) > 2 {
		resource += "/" + rest[2]
	}
	named := len(rest) > 1
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		return "watch " + resource
	case r.Method == http.MethodGet && !named:
		return "list " + resource
	case r.Method == http.MethodDelete && !named:
		return "deletecollection " + resource
	}
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	return verb + " " + resource
}

// granted returns the rights that the roles among the objects grant.
func granted(t *testing.T, objects []map[string]any) (all []string) {
	t.Helper()
	for _, obj := range objects {
		if obj["kind"] != "ClusterRole" && obj["kind"] != "Role" {
			continue
		}
		body, err := json.Marshal(obj["rules"])
		require.NoError(t, err)
		var rules []struct{ APIGroups, Resources, Verbs []string }
		require.NoError(t, json.Unmarshal(body, &rules))
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, verb+" "+group+"/"+resource)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// runsUnderItsRights applies the manifests of an example, runs its controller with
// the rights that they grant, and do beside it; and fails if a request was refused,
// or if a right was not used.
func runsUnderItsRights(t *testing.T, name string, run func(context.Context, *rest.Config) error, do func(ctx context.Context, admin *rest.Config)) {
	t.Helper()
	admin := clusterWide(t).Config()
	objects := applyStrict(t, admin, name+"/deploy/"+name+".yaml")
	cfg, rights := asServiceAccount(admin, "informerkit-"+name, name)
	areGranted(t, clientFor(t, clusterWide(t)), "informerkit-"+name, cfg.Impersonate, granted(t, objects))
	ownersAreKnown(t, admin, "informerkit-"+name, granted(t, objects))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, cfg) }()
	do(ctx, admin)
	// The count of an Event that repeats is written once a minute at most; the test of examples/backup sees it
	// in fake time.
	// The admission plugin asks for the rights to finalizers: no request shows them.
	rights.wait(t, slices.DeleteFunc(granted(t, objects), func(right string) bool {
		return right == "patch events.k8s.io/events" || strings.HasSuffix(right, "/finalizers")
	}))
	cancel()
	assert.NoError(t, <-ended)
	rights.Lock()
	defer rights.Unlock()
	assert.Empty(t, rights.refused)
}

// areGranted waits until the API server grants the rights in a namespace: it reads roles and their
// bindings from a cache, too.
func areGranted(t *testing.T, client kubernetes.Interface, namespace string, user rest.ImpersonationConfig, granted []string) {
	t.Helper()
	for _, right := range granted {
		verb, what, _ := strings.Cut(right, " ")
		group, what, _ := strings.Cut(what, "/")
		resource, subresource, _ := strings.Cut(what, "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.UserName, Groups: user.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
			},
		}}
		eventually(t, func() error {
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err == nil && !got.Status.Allowed {
				err = fmt.Errorf("%s is not granted: %s", right, got.Status.Reason)
			}
			return err
		})
	}
}

// ownersAreKnown waits until the API server accepts owner references to the resources whose finalizers may be updated:
// its admission looks new kinds up in what it has read of the discovery some seconds ago. It does so only for users who
// may not update all finalizers.
func ownersAreKnown(t *testing.T, admin *rest.Config, namespace string, granted []string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(admin)
	require.NoError(t, err)
	for _, right := range granted {
		name, ok := strings.CutSuffix(strings.TrimPrefix(right, "update "), "/finalizers")
		if !ok {
			continue
		}
		group, resource, _ := strings.Cut(name, "/")
		role, err := client.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "owns-"},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
				{APIGroups: []string{group}, Resources: []string{resource + "/finalizers"}, Verbs: []string{"update"}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		user := rest.CopyConfig(admin)
		user.Impersonate.UserName = role.Name
		_, err = client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		owns, err := kubernetes.NewForConfig(user)
		require.NoError(t, err)
		eventually(t, func() error {
			lists, err := client.Discovery().ServerPreferredResources()
			if err != nil {
				return err
			}
			owner := metav1.OwnerReference{Name: "any", UID: "any", BlockOwnerDeletion: new(true)}
			for _, list := range lists {
				listed, _, _ := strings.Cut(list.GroupVersion, "/")
				for _, r := range list.APIResources {
					if listed == group && r.Name == resource {
						owner.APIVersion, owner.Kind = list.GroupVersion, r.Kind
					}
				}
			}
			owned := configMap("owned")
			owned.OwnerReferences = []metav1.OwnerReference{owner}
			_, err = owns.CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		})
	}
}

// wait waits until all of the rights have been used.
func (r *rights) wait(t *testing.T, granted []string) {
	t.Helper()
	require.NotEmpty(t, granted)
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		r.Lock()
		defer r.Unlock()
		for _, right := range granted {
			assert.True(c, r.used[right], "granted and never used: %s", right)
		}
	}, 30*time.Second, 100*time.Millisecond)
}

// eventually waits until do succeeds.
func eventually(t *testing.T, do func() error) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, do()) }, patience, 100*time.Millisecond)
}

func crd(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", file))
	require.NoError(t, err)
	return content
}

func TestManifestsOfTheExamplesPassStrictValidation(t *testing.T) {
	t.Parallel()
	admin := clusterWide(t).Config()
	require.NoError(t, demo.Install(t.Context(), admin, crd(t, "foo/crd.yaml")))
	require.NoError(t, demo.Install(t.Context(), admin, crd(t, "replicaset/api/crd.yaml")))
	require.NoError(t, demo.Install(t.Context(), admin, crd(t, "backup/deploy/crd.yaml")))
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	require.NoError(t, err)
	deploy, err := filepath.Glob("../../../examples/*/deploy/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, deploy)
	for _, file := range append(files, deploy...) {
		rel, err := filepath.Rel("../../../examples", file)
		require.NoError(t, err)
		applyStrict(t, admin, rel)
	}
}

func TestWorkqueueExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	runsUnderItsRights(t, "workqueue", func(ctx context.Context, cfg *rest.Config) error {
		c, err := workqueuecontroller.New(cfg, workqueuecontroller.Options{})
		if err != nil {
			return err
		}
		return c.Run(ctx, 1)
	}, func(context.Context, *rest.Config) {})
}

func TestFooExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	admin := clusterWide(t).Config()
	require.NoError(t, demo.Install(t.Context(), admin, crd(t, "foo/crd.yaml")))
	namespace := newNamespace(t, clientFor(t, clusterWide(t)))
	foos, err := typed.New[*foo.Foo](admin, foo.Resource, typed.Options{})
	require.NoError(t, err)
	deployments, err := typed.New[*appsv1.Deployment](admin, appsv1.SchemeGroupVersion.WithResource("deployments"), typed.Options{})
	require.NoError(t, err)
	events, err := typed.New[*eventsv1.Event](admin, eventsv1.SchemeGroupVersion.WithResource("events"), typed.Options{})
	require.NoError(t, err)
	key := types.NamespacedName{Namespace: namespace, Name: "example-foo"}

	runsUnderItsRights(t, "foo", func(ctx context.Context, cfg *rest.Config) error {
		return foocontroller.New(controller.Options{Config: cfg, Workers: 2}).Run(ctx)
	}, func(ctx context.Context, admin *rest.Config) {
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- cluster.RunDeployments(ctx, admin, cluster.Options{
				Namespace: namespace, Owners: foo.Resource, OwnerKind: "Foo", Transcript: demo.NewTranscript(t.Output()),
			})
		}()
		defer func() {
			stop()
			assert.NoError(t, <-ended)
		}()
		replicas := int32(1)
		_, err := foos.Create(ctx, &foo.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Spec:       foo.FooSpec{DeploymentName: key.Name, Replicas: &replicas},
		})
		require.NoError(t, err)
		available := func(want int32) {
			t.Helper()
			eventually(t, func() error {
				got, err := foos.Get(ctx, key)
				if err == nil && got.Status.AvailableReplicas != want {
					err = fmt.Errorf("%d replicas are available", got.Status.AvailableReplicas)
				}
				return err
			})
		}
		available(1)
		deployment, err := deployments.Get(ctx, key)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"app": "nginx", "controller": "example-foo"}, deployment.Spec.Selector.MatchLabels)
		assert.Equal(t, "nginx:latest", deployment.Spec.Template.Spec.Containers[0].Image)
		owner := metav1.GetControllerOf(deployment)
		require.NotNil(t, owner)
		assert.Equal(t, "samplecontroller.k8s.io/v1alpha1 Foo example-foo", owner.APIVersion+" "+owner.Kind+" "+owner.Name)

		_, err = foos.Modify(ctx, key, func(f *foo.Foo) error { *f.Spec.Replicas = 3; return nil })
		require.NoError(t, err)
		available(3)
		eventually(t, func() error {
			all, err := events.List(ctx, namespace, metav1.ListOptions{})
			for _, e := range all {
				if e.Reason == "Synced" && e.Note == "Foo synced successfully" && e.Type == corev1.EventTypeNormal && e.ReportingController == "sample-controller" {
					return err
				}
			}
			return fmt.Errorf("no event that the Foo is synced: %d events, %w", len(all), err)
		})
		require.NoError(t, foos.Delete(ctx, key, metav1.DeleteOptions{}))
		eventually(t, func() error {
			if _, err := deployments.Get(ctx, key); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the Deployment is still there: %w", err)
			}
			return nil
		})
	})
}

func TestReplicaSetExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	admin := clusterWide(t).Config()
	require.NoError(t, demo.Install(t.Context(), admin, api.CRD))
	namespace := newNamespace(t, clientFor(t, clusterWide(t)))
	sets, err := typed.New[*api.ReplicaSet](admin, api.GroupVersionResource, typed.Options{})
	require.NoError(t, err)
	pods, err := typed.New[*corev1.Pod](admin, corev1.SchemeGroupVersion.WithResource("pods"), typed.Options{})
	require.NoError(t, err)
	key := types.NamespacedName{Namespace: namespace, Name: "web"}

	var c *replicaset.Controller
	started := make(chan struct{})
	runsUnderItsRights(t, "replicaset", func(ctx context.Context, cfg *rest.Config) error {
		c = replicaset.New(controller.Options{Config: cfg, Workers: 2})
		close(started)
		return c.Run(ctx)
	}, func(ctx context.Context, _ *rest.Config) {
		<-started
		require.NoError(t, informer.WaitForSync(ctx, c.Pods(), c.Sets()))
		labels := map[string]string{"app": "web"}
		replicas := int32(2)
		template := podTemplate("web")
		template.Labels = labels
		_, err := sets.Create(ctx, &api.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		})
		require.NoError(t, err)
		owned := func(want int) (found []*corev1.Pod) {
			t.Helper()
			eventually(t, func() error {
				all, err := pods.List(ctx, namespace, metav1.ListOptions{LabelSelector: "app=web"})
				found = all
				if err == nil && len(all) != want {
					err = fmt.Errorf("%d pods", len(all))
				}
				return err
			})
			return found
		}
		one := owned(2)[0]
		// Released: it does not match any more. Adopted: it matches again.
		relabel := func(app string) {
			_, err := pods.Modify(ctx, typed.KeyOf(one), func(p *corev1.Pod) error { p.Labels["app"] = app; return nil })
			require.NoError(t, err)
		}
		relabel("other")
		owned(2)
		relabel("web")
		owned(2) // three match, one is deleted
	})
}
