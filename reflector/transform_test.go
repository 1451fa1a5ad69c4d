package reflector_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// tiny is what a projection leaves of a ConfigMap.
type tiny struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	rv string
}

func (o *tiny) DeepCopyObject() runtime.Object { c := *o; return &c }

// Promise reflector/9
func TestATransformRunsOncePerObjectAndMayChangeTheType(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "11"))
			scripted.Send(w, "DELETED", scripted.ConfigMap("a", "12"))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2"))}
		var calls []string
		lw := reflector.Transform(sourceOf(t, s), func(o *corev1.ConfigMap) (*tiny, error) {
			calls = append(calls, o.Name+"@"+o.ResourceVersion)
			return &tiny{rv: o.Data["rv"]}, nil // copies no metadata at all
		})
		sink := &tinySink{}
		r, err := reflector.New(lw, sink, reflector.Options{})
		require.NoError(t, err)
		go func() { _ = r.Run(t.Context()) }()
		after(time.Second)
		require.Equal(t, []string{"a@1", "b@2", "a@11", "a@12"}, calls)
		require.Equal(t, []string{"replace ns/a uid-a 1", "replace ns/b uid-b 2", "update ns/a uid-a 11", "delete ns/a uid-a 12"}, sink.log)
		require.Equal(t, "12", r.Health().ResourceVersion)
	})
}

// Promise reflector/9
func TestATransformCannotBreakTheIdentity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1")), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", "11"))
			scripted.Hang(r)
		}}
		lw := reflector.Transform(sourceOf(t, s), func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			o.ObjectMeta = metav1.ObjectMeta{Name: "renamed", ResourceVersion: "99"}
			return o, nil
		})
		sink := newRecorder()
		r := run(t, lw, sink, listMode)
		after(time.Second)
		require.Equal(t, []string{"replace [a@1] @10", "update a@11"}, sink.calls())
		require.Equal(t, "uid-a", string(sink.objects()[keyOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})].UID))
		require.Equal(t, "11", r.Health().ResourceVersion)
	})
}

func TestClusterScopedObjectsKeepAnEmptyNamespace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		node := strings.Replace(scripted.ConfigMap("n", "1"), `"namespace":"ns",`, "", 1)
		s := &scripted.Server{List: scripted.Lists("10", node), Watch: scripted.Quiet}
		sink := newRecorder()
		run(t, reflector.Transform(sourceOf(t, s), reflector.StripManagedFields[*configMap]), sink, listMode)
		after(time.Second)
		for k := range sink.objects() {
			require.Equal(t, "/n", k.String())
		}
		require.Len(t, sink.objects(), 1)
	})
}

func TestReadyMadeTransforms(t *testing.T) {
	t.Parallel()
	obj := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace:       "ns",
			Labels:          map[string]string{"app": "web", "x": "y"},
			Annotations:     map[string]string{"example.com/a": "1", "example.com/b": "2", "big": "..."},
			Finalizers:      []string{"f"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
		}}
	}

	stripped, err := reflector.StripManagedFields(obj())
	require.NoError(t, err)
	require.Nil(t, stripped.ManagedFields)
}

// tinySink is a sink of projections.
type tinySink struct{ log []string }

func (s *tinySink) note(op string, o *tiny) error {
	s.log = append(s.log, op+" "+keyOf(o).String()+" "+string(o.UID)+" "+o.ResourceVersion)
	return nil
}
func (s *tinySink) Add(_ context.Context, o *tiny) error    { return s.note("add", o) }
func (s *tinySink) Update(_ context.Context, o *tiny) error { return s.note("update", o) }
func (s *tinySink) Delete(_ context.Context, o *tiny) error { return s.note("delete", o) }
func (s *tinySink) Bookmark(context.Context, string) error  { return nil }
func (s *tinySink) Replace(_ context.Context, objs []*tiny, _ string) error {
	for _, o := range objs {
		_ = s.note("replace", o)
	}
	return nil
}

func TestATransformThatPanicsAmongInitialEventsLosesNoOther(t *testing.T) {
	for _, encoding := range []reflector.Encoding{reflector.EncodingJSON, reflector.EncodingProtobuf} {
		t.Run(string(encoding), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
				for i := range 1000 {
					require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("cm-%03d", i)}}))
				}
				lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{Encoding: encoding})
				require.NoError(t, err)
				lw = reflector.Transform(lw, func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
					if o.Name == "cm-500" {
						panic("oh")
					}
					return o, nil
				})
				yes := true
				stream, err := lw.Watch(t.Context(), reflector.Request{ListOptions: metav1.ListOptions{
					SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
				}})
				require.NoError(t, err)
				for i := range 1000 {
					ev, err := stream.Next()
					require.NoError(t, err)
					if i == 500 {
						require.Equal(t, reflector.ClassTransform, reflector.Classify(ev.Err))
						continue
					}
					require.NoError(t, ev.Err)
					require.Equal(t, fmt.Sprintf("cm-%03d", i), ev.Object.Name)
				}
				require.NoError(t, stream.Close())
			})
		})
	}
}
