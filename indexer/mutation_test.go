package indexer

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func watched(t testing.TB, o MutationOptions) (ix *Indexer[*pod], found *[]Mutation, log *bytes.Buffer) {
	found, log = new([]Mutation), new(bytes.Buffer)
	o.OnMutation = func(m Mutation) { *found = append(*found, m) }
	ix, err := New(Options[*pod]{Mutations: o, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	return ix, found, log
}

func TestMutationIsReportedOnceWithObjectAndPath(t *testing.T) {
	t.Parallel()
	ix, found, log := watched(t, MutationOptions{SampleEvery: 1})
	pods := numbered(10)
	set(t, ix, pods...)
	require.Zero(t, ix.CheckMutations())
	pods[3].Labels["app"] = "secret"
	pods[4].Spec.NodeName = "elsewhere"
	require.Equal(t, 2, ix.CheckMutations())
	require.Zero(t, ix.CheckMutations())
	require.ElementsMatch(t, []Mutation{
		{Key: key("ns-3", "pod-3"), ResourceVersion: "4", Path: "metadata.labels.app"},
		{Key: key("ns-4", "pod-4"), ResourceVersion: "5", Path: "spec.nodeName"},
	}, *found)
	require.Contains(t, log.String(), "ns-3/pod-3")
	require.NotContains(t, log.String(), "secret", "values may be secrets")
}

func TestMutatedObjectIsComparedBeforeItLeaves(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	pods := numbered(3)
	set(t, ix, pods...)
	pods[0].Spec.Hostname = "x"
	pods[1].Spec.Hostname = "x"
	pods[1].Name = "renamed" // also then it is found under its key
	set(t, ix, newPod("ns-0", "pod-0"))
	b := ix.Batch()
	b.Delete(key("ns-1", "pod-1"))
	b.Commit()
	require.Len(t, *found, 2)
	require.Equal(t, "spec.hostname", (*found)[0].Path)
	require.Equal(t, key("ns-1", "pod-1"), (*found)[1].Key)
	require.Contains(t, (*found)[1].Path, "metadata.name")
}

func TestCommitsFindMutationsByAndBy(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	pods := numbered(20)
	set(t, ix, pods...)
	pods[7].Spec.Hostname = "x"
	for i := 0; i < 40 && len(*found) == 0; i++ {
		ix.Batch().Commit()
	}
	require.Len(t, *found, 1)
}

func TestCommitReportsWhatItFinds(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	p := newPod("a", "b")
	set(t, ix, p)
	p.Spec.Hostname = "x"
	ix.Batch().Commit()
	require.Len(t, *found, 1, "there is no other object to compare first")
}

func TestWatchedObjectsAreSampledAndBounded(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 3, MaxObjects: 10})
	pods := numbered(300)
	set(t, ix, pods[:9]...)
	require.Len(t, ix.mutations.samples, 3)
	set(t, ix, pods...)
	require.Len(t, ix.mutations.samples, 10)
	require.Len(t, ix.mutations.at, 10)
	for _, p := range pods {
		p.Spec.Hostname = "x"
	}
	require.Equal(t, 10, ix.CheckMutations())
	require.Len(t, *found, 10)
	for _, s := range ix.mutations.samples[:10] {
		require.Nil(t, s.obj, "what is not watched any more is released")
	}
}

func TestDiscardedObjectsAreNotWatched(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	p := newPod("a", "b")
	b := ix.Batch()
	_, _, err := b.Set(p)
	require.NoError(t, err)
	b.Discard()
	p.Spec.Hostname = "the caller's own again"
	require.Zero(t, ix.CheckMutations())
	require.Empty(t, *found)
}

// The writes of a discarded batch are not those of the next one.
func TestDiscardedWritesDoNotReachTheNextBatch(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	stored := newPod("a", "stored")
	set(t, ix, stored)
	discarded := newPod("a", "discarded")
	b := ix.Batch()
	_, _, err := b.Set(discarded)
	require.NoError(t, err)
	b.Delete(key("a", "stored"))
	b.Discard()
	set(t, ix, newPod("a", "other"))

	discarded.Spec.Hostname = "the caller's own again"
	stored.Spec.Hostname = "still stored"
	require.Equal(t, 1, ix.CheckMutations())
	require.Equal(t, key("a", "stored"), (*found)[0].Key)
}

func TestPanicInOnMutationFreesTheLock(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*pod]{
		Logger:    slog.New(slog.DiscardHandler),
		Mutations: MutationOptions{SampleEvery: 1, OnMutation: func(Mutation) { panic("found") }},
	})
	require.NoError(t, err)
	p := newPod("a", "b")
	set(t, ix, p)
	p.Spec.Hostname = "x"
	next := newPod("a", "b")
	require.PanicsWithValue(t, "found", func() { set(t, ix, next) })
	got, ok := ix.Get(key("a", "b"))
	require.True(t, ok)
	require.Same(t, next, got, "the batch was published")
	set(t, ix, newPod("a", "c")) // the lock is free
}

// A panic of OnMutation comes after all that the detector has to note: old versions
// are the caller's own again, and new ones are watched.
func TestPanicInOnMutationLosesNoWrite(t *testing.T) {
	t.Parallel()
	var found []Mutation
	panics := true
	ix, err := New(Options[*pod]{
		Logger: slog.New(slog.DiscardHandler),
		Mutations: MutationOptions{SampleEvery: 1, OnMutation: func(m Mutation) {
			if panics {
				panic("found")
			}
			found = append(found, m)
		}},
	})
	require.NoError(t, err)
	old := numbered(20)
	set(t, ix, old...)
	old[0].Spec.Hostname = "x"
	next := numbered(20)
	require.PanicsWithValue(t, "found", func() { set(t, ix, next...) })

	panics = false
	for _, p := range old {
		p.Spec.Hostname = "not stored any more"
	}
	require.Zero(t, ix.CheckMutations())
	for _, p := range next {
		p.Spec.Hostname = "x"
	}
	require.Equal(t, 20, ix.CheckMutations())
	require.Len(t, found, 20)
}

// What is not watched any more leaves its place to another, which is found there.
func TestMutationIsFoundAfterOthersHaveLeft(t *testing.T) {
	t.Parallel()
	ix, found, _ := watched(t, MutationOptions{SampleEvery: 1})
	pods := numbered(10)
	set(t, ix, pods...)
	for i := range pods {
		pods[9-i].Spec.Hostname = "x"
		b := ix.Batch()
		b.Delete(key(pods[i].Namespace, pods[i].Name))
		if i < 9 {
			b.Delete(key(pods[9-i].Namespace, pods[9-i].Name))
		}
		b.Commit()
		if ix.Snapshot().Len() == 0 {
			break
		}
	}
	require.Len(t, *found, 5)
}

func TestObjectThatCannotBeCopiedIsNotWatched(t *testing.T) {
	t.Parallel()
	ix, err := New(Options[*uncopyable]{Logger: slog.New(slog.DiscardHandler), Mutations: MutationOptions{SampleEvery: 1}})
	require.NoError(t, err)
	b := ix.Batch()
	_, _, err = b.Set(&uncopyable{newPod("a", "b")})
	require.NoError(t, err)
	require.Equal(t, 1, b.Commit().Len())
	require.Zero(t, ix.CheckMutations())
}

type uncopyable struct{ *pod }

func (*uncopyable) DeepCopyObject() runtime.Object { panic("no copies") }

func TestFirstDifferenceNamesTheField(t *testing.T) {
	t.Parallel()
	full := func() *pod {
		p := withPorts(newPod("a", "b", "app", "w", "a.b/c", "d"), 80, 81)
		p.Spec.Containers[1].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		p.Status.StartTime = &metav1.Time{}
		p.OwnerReferences = []metav1.OwnerReference{{UID: "x"}}
		return p
	}
	for want, change := range map[string]func(*pod){
		"":                         func(*pod) {},
		"kind":                     func(p *pod) { p.Kind = "Pod" },
		"metadata.name":            func(p *pod) { p.Name = "c" },
		"metadata.labels.app":      func(p *pod) { p.Labels["app"] = "x" },
		`metadata.labels["a.b/c"]`: func(p *pod) { delete(p.Labels, "a.b/c") },
		"metadata.labels.new":      func(p *pod) { p.Labels["new"] = "" },
		"metadata.annotations.x":   func(p *pod) { p.Annotations = map[string]string{"x": ""} },
		"spec.containers":          func(p *pod) { p.Spec.Containers = p.Spec.Containers[:1] },
		"spec.containers[1].image": func(p *pod) { p.Spec.Containers[1].Image = "x" },
		"spec.containers[0].ports[0].containerPort": func(p *pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 1 },
		"spec.containers[1].resources.requests.cpu": func(p *pod) { p.Spec.Containers[1].Resources.Requests["cpu"] = resource.MustParse("2") },
		"spec.securityContext":                      func(p *pod) { p.Spec.SecurityContext = nil },
		"spec.securityContext.runAsNonRoot":         func(p *pod) { p.Spec.SecurityContext.RunAsNonRoot = new(bool) },
		"status.startTime":                          func(p *pod) { p.Status.StartTime = new(metav1.Now()) },
		"metadata.ownerReferences[0].uid":           func(p *pod) { p.OwnerReferences[0].UID = "y" },
	} {
		p := full()
		change(p)
		path, same := firstDifference(full(), p)
		require.Equal(t, want, path)
		require.Equal(t, want == "", same)
	}
	// The same quantity, written differently, and empty for nil.
	p := full()
	p.Spec.Containers[1].Resources.Requests["cpu"] = resource.MustParse("1000m")
	p.Finalizers = []string{}
	_, same := firstDifference(full(), p)
	require.True(t, same)
}

func TestFirstDifferenceOfUnstructuredObjects(t *testing.T) {
	t.Parallel()
	obj := func(replicas any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"replicas": replicas, "list": []any{map[string]any{"a": int64(1)}}},
		}}
	}
	for want, b := range map[string]*unstructured.Unstructured{
		"Object.spec.replicas": obj(int64(2)),
		"Object.spec":          {Object: map[string]any{"spec": "text"}},
	} {
		path, same := firstDifference(obj(int64(1)), b)
		require.False(t, same)
		require.Equal(t, want, path)
	}
	_, same := firstDifference(obj(int64(1)), obj(int64(1)))
	require.True(t, same)
}

// Types with unexported fields cannot be compared semantically.
func TestFirstDifferenceOfOpaqueTypes(t *testing.T) {
	t.Parallel()
	type opaque struct {
		Name   string `json:"name"`
		hidden int
	}
	_, same := firstDifference(&opaque{"a", 1}, &opaque{"a", 1})
	require.True(t, same)
	path, same := firstDifference(&opaque{"a", 1}, &opaque{"a", 2})
	require.False(t, same)
	require.Empty(t, path, fmt.Sprintf("%v", path))
	path, _ = firstDifference(&opaque{"a", 1}, &opaque{"b", 2})
	require.Equal(t, "name", path)
}
