package client_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

var looses = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "looses"}

// startLoose returns a client of a custom resource of any content.
func startLoose(t *testing.T, opts client.Options) (*client.Client[*unstructured.Unstructured], *informertest.Server) {
	t.Helper()
	server := informertest.Start(t, informertest.Options{Resources: []informertest.Resource{{Group: looses.Group, Versions: []string{"v1"}, Kind: "Loose", StatusSubresource: true}}})
	c, err := client.New[*unstructured.Unstructured](server.Config(), looses, opts)
	require.NoError(t, err)
	return c, server
}

func loose(spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Loose", "metadata": map[string]any{"namespace": "default", "generateName": "l-"}, "spec": spec,
	}}
}

// random makes objects, hides parts of them, and changes what is left and the whole in the same way. A member "keyed" is a
// list whose elements have a unique name, "rows" a list whose elements are matched by position, and "set" a list of scalars.
type random struct {
	*rand.Rand
	names int
}

func (r *random) name() string {
	r.names++
	return fmt.Sprint("n", r.names)
}

func (r *random) scalar() any {
	return []any{int64(1)<<60 + r.Int64N(1000), r.name(), r.IntN(2) == 0, 0.5}[r.IntN(4)]
}

func (r *random) object(depth int) map[string]any {
	obj := map[string]any{"id": r.name()}
	for range 1 + r.IntN(4) {
		obj[r.name()] = r.scalar()
	}
	if depth == 0 {
		return obj
	}
	for _, name := range []string{"map", "keyed", "rows", "set"} {
		if r.IntN(3) == 0 {
			continue
		}
		if name == "map" {
			obj[name] = r.object(depth - 1)
			continue
		}
		list := []any{}
		for range 1 + r.IntN(4) {
			switch name {
			case "set":
				list = append(list, r.name())
			default:
				element := r.object(depth - 1)
				element["name"] = element["id"]
				list = append(list, element)
			}
		}
		obj[name] = list
	}
	return obj
}

// hide removes parts of an object. What identifies an element stays.
func (r *random) hide(obj map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if name == "id" || name == "name" {
			continue
		}
		if r.IntN(4) == 0 {
			delete(obj, name)
			continue
		}
		switch v := obj[name].(type) {
		case map[string]any:
			r.hide(v)
		case []any:
			if name != "rows" {
				v = slices.DeleteFunc(v, func(any) bool { return r.IntN(4) == 0 })
			}
			for _, element := range v {
				if e, ok := element.(map[string]any); ok {
					r.hide(e)
				}
			}
			obj[name] = v
		}
	}
}

// change makes one change to what is visible, and the same one to the whole.
func (r *random) change(whole, visible map[string]any) {
	names := slices.Sorted(maps.Keys(visible))
	name := names[r.IntN(len(names))]
	switch v := visible[name].(type) {
	case map[string]any:
		r.change(whole[name].(map[string]any), v)
	case []any:
		all := whole[name].([]any)
		find := func(element any) int {
			return slices.IndexFunc(all, func(other any) bool {
				if e, ok := element.(map[string]any); ok {
					return other.(map[string]any)["id"] == e["id"]
				}
				return other == element
			})
		}
		switch i := r.IntN(len(v) + 1); {
		case i == len(v):
			var element any = r.name()
			if name != "set" {
				element = map[string]any{"id": r.name(), "name": r.name(), "x": r.scalar()}
			}
			visible[name], whole[name] = append(v, element), append(all, runtime.DeepCopyJSONValue(element))
		case name == "set" || r.IntN(2) == 0:
			at := find(v[i])
			visible[name], whole[name] = slices.Delete(v, i, i+1), slices.Delete(all, at, at+1)
		default:
			r.change(all[find(v[i])].(map[string]any), v[i].(map[string]any))
		}
	default:
		switch {
		case name != "id" && name != "name" && r.IntN(3) == 0:
			delete(visible, name)
			delete(whole, name)
		case name != "id" && name != "name":
			value := r.scalar()
			visible[name], whole[name] = value, value
		default:
			value, added := r.scalar(), r.name()
			visible[added], whole[added] = value, value
		}
	}
}

// sorted orders the lists whose order has no meaning.
func sorted(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			sorted(member)
			if list, ok := member.([]any); ok && name != "rows" {
				slices.SortFunc(list, func(a, b any) int {
					x, _ := json.Marshal(a)
					y, _ := json.Marshal(b)
					return strings.Compare(string(x), string(y))
				})
			}
		}
	case []any:
		for _, element := range v {
			sorted(element)
		}
	}
	return value
}

// Promise client/3
func TestAChangeLosesNothingThatTheProgramDoesNotSee(t *testing.T) {
	t.Parallel()
	byPlace := map[string][]string{}
	for depth, prefix := 0, []string{""}; depth < 4; depth++ { // all paths that lead to "keyed"
		var next []string
		for _, p := range prefix {
			byPlace[p+"keyed"] = []string{"name"}
			next = append(next, p+"map.", p+"keyed.", p+"rows.")
		}
		prefix = next
	}
	keys := map[string][]string{}
	for place, by := range byPlace {
		keys["spec."+place] = by
	}
	c, server := startLoose(t, client.Options{ListMapKeys: keys})
	refused := 0
	const rounds = 500
	for seed := range uint64(rounds) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
		made, err := c.Create(t.Context(), loose(r.object(2)))
		require.NoError(t, err)
		want, have := made.DeepCopy(), made.DeepCopy()
		r.hide(have.Object["spec"].(map[string]any))
		if r.IntN(2) == 0 {
			have.SetManagedFields(nil)
		}
		seen, after := have.DeepCopy(), have.DeepCopy()
		r.change(want.Object["spec"].(map[string]any), after.Object["spec"].(map[string]any))
		_, err = c.ModifyFrom(t.Context(), have, func(u *unstructured.Unstructured) error {
			u.Object["spec"] = runtime.DeepCopyJSONValue(after.Object["spec"])
			return nil
		})
		require.Equal(t, seen, have, "the cache's object is not modified")
		stored, getErr := c.Get(t.Context(), client.KeyOf(made))
		require.NoError(t, getErr)
		if err != nil {
			refused++
			require.ErrorContains(t, err, "cannot be matched", "seed %d", seed)
			require.Equal(t, made, stored, "seed %d", seed)
			continue
		}
		require.Equal(t, sorted(want.Object["spec"]), sorted(stored.Object["spec"]), "seed %d", seed)
	}
	assert.Less(t, refused, rounds/10, "only what cannot be matched is refused")
	assert.Zero(t, server.Count("update", ""), "nothing is put")
	assert.Greater(t, server.Count("patch", "looses"), rounds/2)
}

// full returns objects of built-in kinds with lists of every sort.
func full() (*appsv1.Deployment, *corev1.Service) {
	one := int32(1)
	labels := map[string]string{"app": "a", "tier": "front"}
	containers := []corev1.Container{
		{Name: "main", Image: "i:1", Args: []string{"--a", "--b"}, Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, Ports: []corev1.ContainerPort{{ContainerPort: 53, Protocol: "TCP"}, {ContainerPort: 53, Protocol: "UDP", Name: "dns"}}},
		{Name: "side", Image: "i:2", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true}}},
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "d", Labels: labels, Annotations: map[string]string{"x": "1", "y": "2"}, Finalizers: []string{"example.com/a", "example.com/b"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u-1"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "p", UID: "u-2"}},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: containers, NodeSelector: map[string]string{"disk": "ssd"},
				Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Operator: corev1.TolerationOpExists}},
				Volumes:     []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}}, {Name: "w", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}},
		},
	}
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "t", Port: 53, Protocol: "TCP", TargetPort: intstr.FromInt32(5353)}, {Name: "u", Port: 53, Protocol: "UDP", TargetPort: intstr.FromString("dns")}}},
	}
	return d, s
}

// Promise client/3
func TestAChangeOfABuiltInKindLosesNothing(t *testing.T) {
	t.Parallel()
	main := func(d *appsv1.Deployment) *corev1.Container {
		all := d.Spec.Template.Spec.Containers
		if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "main" }); i >= 0 {
			return &all[i]
		}
		return &corev1.Container{}
	}
	changes := map[string]func(d *appsv1.Deployment){
		"add a finalizer":    func(d *appsv1.Deployment) { client.AddFinalizer(d, "example.com/new") },
		"remove a finalizer": func(d *appsv1.Deployment) { client.RemoveFinalizer(d, "example.com/a") },
		"add an owner": func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "q", UID: "u-3"})
		},
		"remove an owner": func(d *appsv1.Deployment) {
			d.OwnerReferences = slices.DeleteFunc(d.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == "u-1" })
		},
		"set a label":            func(d *appsv1.Deployment) { metav1.SetMetaDataLabel(&d.ObjectMeta, "new", "1") },
		"delete an annotation":   func(d *appsv1.Deployment) { delete(d.Annotations, "x") },
		"delete a node selector": func(d *appsv1.Deployment) { delete(d.Spec.Template.Spec.NodeSelector, "disk") },
		"set an image":           func(d *appsv1.Deployment) { main(d).Image = "i:9" },
		"add an argument":        func(d *appsv1.Deployment) { main(d).Args = append(main(d).Args, "--c") },
		"set a variable":         func(d *appsv1.Deployment) { main(d).Env = append(main(d).Env, corev1.EnvVar{Name: "C", Value: "3"}) },
		"remove a variable": func(d *appsv1.Deployment) {
			main(d).Env = slices.DeleteFunc(main(d).Env, func(e corev1.EnvVar) bool { return e.Name == "A" })
		},
		"add a container": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "new", Image: "i:3", TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent"})
		},
		"remove a container": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = slices.DeleteFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "side" })
		},
		"add a toleration": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: "c", Operator: corev1.TolerationOpExists})
		},
		"change a volume": func(d *appsv1.Deployment) {
			for i := range d.Spec.Template.Spec.Volumes {
				if v := &d.Spec.Template.Spec.Volumes[i]; v.Name == "w" && v.EmptyDir != nil {
					v.EmptyDir.Medium = "Memory"
				}
			}
		},
		"open a port": func(d *appsv1.Deployment) {
			main(d).Ports = append(main(d).Ports, corev1.ContainerPort{ContainerPort: 54, Protocol: "UDP"})
		},
	}
	c, server := connect[*appsv1.Deployment](t, appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{})
	refused, rounds := 0, 0
	for seed := range uint64(12) {
		for name, change := range changes {
			rounds++
			d, _ := full()
			d.Name = ""
			d.GenerateName = "d-"
			made, err := c.Create(t.Context(), d)
			require.NoError(t, err)
			r := &random{Rand: rand.New(rand.NewPCG(seed, 2))}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
			require.NoError(t, err)
			hideTyped(r, content)
			have := &appsv1.Deployment{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, have))
			before, visible := have.DeepCopy(), have.DeepCopy()
			change(visible)
			if equal(before, visible) { // what it would change is hidden
				continue
			}
			want := made.DeepCopy()
			change(want)
			got, err := c.ModifyFrom(t.Context(), have, func(d *appsv1.Deployment) error { change(d); return nil })
			if err != nil {
				refused++
				require.ErrorContains(t, err, "cannot be matched", "%s, seed %d", name, seed)
				got, err = c.Get(t.Context(), client.KeyOf(made))
				require.NoError(t, err)
				require.Equal(t, made, got)
				continue
			}
			got.ResourceVersion, got.Generation, got.ManagedFields = want.ResourceVersion, want.Generation, want.ManagedFields
			require.Equal(t, normal(want), normal(got), "%s, seed %d", name, seed)
		}
	}
	assert.Less(t, refused, rounds/8)
	assert.Zero(t, server.Count("update", "deployments"))
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// normal returns a Deployment without the order of its keyed lists.
func normal(d *appsv1.Deployment) map[string]any {
	body, _ := json.Marshal(d)
	var content map[string]any
	_ = json.Unmarshal(body, &content)
	return sorted(content).(map[string]any)
}

// hideTyped hides parts of a built-in object. What identifies an element, and the metadata that a change is based on, stay.
func hideTyped(r *random, obj map[string]any) {
	keep := []string{"name", "namespace", "uid", "resourceVersion", "metadata", "containerPort", "mountPath", "key", "kind", "apiVersion"}
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if slices.Contains(keep, name) && name != "metadata" {
			continue
		}
		if r.IntN(5) == 0 && name != "metadata" && name != "spec" {
			delete(obj, name)
			continue
		}
		switch v := obj[name].(type) {
		case map[string]any:
			hideTyped(r, v)
		case []any:
			if name != "args" && name != "tolerations" && r.IntN(2) == 0 {
				v = slices.DeleteFunc(v, func(any) bool { return r.IntN(4) == 0 })
			}
			for _, element := range v {
				if e, ok := element.(map[string]any); ok {
					hideTyped(r, e)
				}
			}
			obj[name] = v
		}
	}
}

// Two ports of a Service may differ in the protocol alone, which a strategic merge patch does not look at.
//
// Promise client/3
func TestPortsOfOneNumberAreTwo(t *testing.T) {
	t.Parallel()
	c, _ := connect[*corev1.Service](t, corev1.SchemeGroupVersion.WithResource("services"), client.Options{})
	_, s := full()
	made, err := c.Create(t.Context(), s)
	require.NoError(t, err)
	got, err := c.ModifyFrom(t.Context(), made, func(s *corev1.Service) error { s.Spec.Ports[1].Name = "dns"; return nil })
	require.NoError(t, err)
	want := made.Spec.Ports
	want[1].Name = "dns"
	assert.Equal(t, want, got.Spec.Ports)
	got, err = c.ModifyFrom(t.Context(), got, func(s *corev1.Service) error { s.Spec.Ports = s.Spec.Ports[1:]; return nil })
	require.NoError(t, err)
	assert.Equal(t, want[1:], got.Spec.Ports)
}

// Narrow is the type of a program that reads only some fields of a Loose.
type Narrow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Rules []struct {
			Host string `json:"host"`
		} `json:"rules,omitempty"`
		Config map[string]string `json:"config,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

func (n *Narrow) DeepCopyObject() runtime.Object {
	body, _ := json.Marshal(n)
	out := &Narrow{}
	_ = json.Unmarshal(body, out)
	return out
}

// Promise client/3
func TestAChangeOfATypeThatLacksFields(t *testing.T) {
	t.Parallel()
	all, server := startLoose(t, client.Options{})
	c, err := client.New[*Narrow](server.Config(), looses, client.Options{Kind: "Loose"})
	require.NoError(t, err)
	made, err := all.Create(t.Context(), loose(map[string]any{
		"large": int64(1)<<62 + 1, "config": map[string]any{"a": "1"}, "none": nil,
		"rules": []any{map[string]any{"host": "a", "paths": []any{map[string]any{"path": "/", "weight": int64(1)<<60 + 1, "none": nil}}}, map[string]any{"host": "b", "port": int64(80)}},
	}))
	require.NoError(t, err)
	key := client.KeyOf(made)
	rules := func() []any {
		u, err := all.Get(t.Context(), key)
		require.NoError(t, err)
		require.EqualValues(t, int64(1)<<62+1, u.Object["spec"].(map[string]any)["large"])
		require.Contains(t, u.Object["spec"], "none")
		list, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
		return list
	}
	first, second := rules()[0].(map[string]any), rules()[1].(map[string]any)
	server.ResetRequests()

	_, err = c.Modify(t.Context(), key, func(n *Narrow) error { n.Spec.Rules[1].Host = "c"; return nil })
	require.NoError(t, err)
	second["host"] = "c"
	assert.Equal(t, []any{first, second}, rules())
	assert.Equal(t, 1, server.Count("get", "looses")-1, "the text is read once; the test reads, too")

	_, err = c.Modify(t.Context(), key, func(n *Narrow) error {
		n.Spec.Rules = slices.Insert(n.Spec.Rules, 0, struct {
			Host string `json:"host"`
		}{"new"})
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []any{map[string]any{"host": "new"}, first, second}, rules())
	_, err = c.Modify(t.Context(), key, func(n *Narrow) error { n.Spec.Rules = n.Spec.Rules[1:]; client.AddFinalizer(n, "x.test/y"); return nil })
	require.NoError(t, err)
	assert.Equal(t, []any{first, second}, rules())
	_, err = c.Modify(t.Context(), key, func(n *Narrow) error {
		n.Spec.Rules = n.Spec.Rules[:1]
		n.Spec.Rules[0].Host = "z" // which of the two is it now?
		return nil
	})
	require.ErrorContains(t, err, "the elements of the list spec.rules cannot be matched")
	require.ErrorContains(t, err, "ListMapKeys")
	assert.Equal(t, []any{first, second}, rules())
	_, err = c.Modify(t.Context(), key, func(n *Narrow) error { delete(n.Spec.Config, "a"); client.RemoveFinalizer(n, "x.test/y"); return nil })
	require.NoError(t, err)
	u, err := all.Get(t.Context(), key)
	require.NoError(t, err)
	assert.NotContains(t, u.Object["spec"], "config", "empty, and removed")
	assert.Empty(t, u.GetFinalizers())

	_, err = c.Status().Modify(t.Context(), key, func(n *Narrow) error {
		n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True"})
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []any{first, second}, rules())
	u, err = all.Get(t.Context(), key)
	require.NoError(t, err)
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	assert.Len(t, conditions, 1)
}

// The cache of an informer with a Transform has a part of each object.
//
// Promise client/3
func TestAChangeOfWhatATransformHasLeft(t *testing.T) {
	t.Parallel()
	c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	full := configMap("c")
	full.Finalizers, full.Data = []string{"example.com/other"}, map[string]string{"p": "1", "a": "1"}
	full.Annotations = map[string]string{"other": "1", "own": "1"}
	made, err := c.Create(t.Context(), full)
	require.NoError(t, err)
	u, err := client.New[*unstructured.Unstructured](server.Config(), configMaps, client.Options{})
	require.NoError(t, err)
	cached := func() *corev1.ConfigMap {
		m, err := c.Get(t.Context(), client.KeyOf(made))
		require.NoError(t, err)
		m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == "example.com/other" })
		delete(m.Annotations, "other")
		return m
	}
	server.ResetRequests()

	got, err := c.ModifyFrom(t.Context(), cached(), func(m *corev1.ConfigMap) error { client.AddFinalizer(m, "example.com/own"); return nil })
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"example.com/other", "example.com/own"}, got.Finalizers)
	assert.Equal(t, 1, server.Count("get", "configmaps"), "the one of the test")
	got, err = c.ModifyFrom(t.Context(), cached(), func(m *corev1.ConfigMap) error {
		m.Finalizers, m.Annotations = nil, nil
		m.Data["p"] = "2"
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"example.com/other"}, got.Finalizers)
	assert.Equal(t, map[string]string{"other": "1"}, got.Annotations)
	assert.Equal(t, map[string]string{"p": "2", "a": "1"}, got.Data)

	// An untyped object, with a cache that is behind.
	old, err := u.Get(t.Context(), client.KeyOf(made))
	require.NoError(t, err)
	old.SetFinalizers(nil)
	_, err = c.Patch(t.Context(), client.KeyOf(made), types.MergePatchType, []byte(`{"data":{"b":"2"}}`))
	require.NoError(t, err)
	_, err = u.ModifyFrom(t.Context(), old, func(u *unstructured.Unstructured) error { client.AddFinalizer(u, "example.com/own"); return nil })
	require.NoError(t, err)
	require.NoError(t, c.Delete(t.Context(), client.KeyOf(made), client.Exactly(made)))
	old, err = u.Get(t.Context(), client.KeyOf(made))
	require.NoError(t, err)
	old.SetFinalizers([]string{"example.com/own"})
	_, err = u.ModifyFrom(t.Context(), old, func(u *unstructured.Unstructured) error { client.RemoveFinalizer(u, "example.com/own"); return nil })
	require.NoError(t, err)
	now, err := c.Get(t.Context(), client.KeyOf(made))
	require.NoError(t, err, "the other finalizer holds it")
	assert.Equal(t, []string{"example.com/other"}, now.Finalizers)
	assert.Equal(t, map[string]string{"p": "2", "a": "1", "b": "2"}, now.Data)
	before := server.Count("", "configmaps")
	_, err = c.ModifyFrom(t.Context(), now, func(m *corev1.ConfigMap) error { m.BinaryData = map[string][]byte{}; return nil })
	require.NoError(t, err)
	assert.Equal(t, before, server.Count("", "configmaps"), "an empty difference is not sent")
	assert.Zero(t, server.Count("update", ""))
}
