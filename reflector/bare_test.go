package reflector_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// bare may have no metadata, and then the methods of metav1.Object panic.
type bare struct {
	metav1.TypeMeta    `json:",inline"`
	*metav1.ObjectMeta `json:"metadata"`
}

func (b *bare) DeepCopyObject() runtime.Object { return &bare{b.TypeMeta, b.ObjectMeta.DeepCopy()} }

// untyped may have no type.
type untyped struct {
	*metav1.TypeMeta  `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (u *untyped) DeepCopyObject() runtime.Object { return &untyped{u.TypeMeta, *u.DeepCopy()} }

// unlabeled panics where selectors look.
type unlabeled struct{ slim }

func (*unlabeled) GetLabels() map[string]string { panic("no labels") }

// badItems are objects in each place where a server can send them, of which those without a name
// have no metadata.
func badItems(good, bad string) *scripted.Server {
	return &scripted.Server{
		List: scripted.Lists("5", good, bad),
		WatchList: func(w http.ResponseWriter, r *http.Request, _ int) {
			scripted.Send(w, "ADDED", good)
			scripted.Send(w, "ADDED", bad)
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("5", true))
			scripted.Linger(r, time.Minute)
		},
		Watch: func(w http.ResponseWriter, r *http.Request, _ int) {
			scripted.Begin(w)
			for _, typ := range []string{"ADDED", "MODIFIED", "DELETED"} {
				scripted.Send(w, typ, bad)
			}
			scripted.Linger(r, time.Minute)
		},
	}
}

// readAll makes each request once, and returns the names and the errors of the objects.
func readAll[T reflector.Object](t *testing.T, lw reflector.ListerWatcher[T]) (names []string, errs []error) {
	t.Helper()
	each := func(ev reflector.WatchEvent[T]) error {
		if ev.Err != nil {
			errs = append(errs, ev.Err)
		} else if ev.Type != watch.Bookmark {
			names = append(names, ev.Object.GetName())
		}
		return nil
	}
	_, err := lw.List(t.Context(), reflector.Request{}, each)
	require.NoError(t, err)
	yes := true
	for _, req := range []reflector.Request{{ListOptions: metav1.ListOptions{SendInitialEvents: &yes}}, {}} {
		s, err := lw.Watch(t.Context(), req)
		require.NoError(t, err)
		for range 3 {
			ev, err := s.Next()
			require.NoError(t, err)
			require.NoError(t, each(ev))
		}
		require.NoError(t, s.Close())
	}
	return names, errs
}

func requireBad[T reflector.Object](t *testing.T, good, bad, want string, opts reflector.ResourceOptions) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		opts.Kind, opts.Encoding = "ConfigMap", reflector.EncodingJSON
		lw, err := reflector.NewResource[T](badItems(good, bad).Config(t), scripted.ConfigMaps, opts)
		require.NoError(t, err)
		names, errs := readAll(t, lw)
		require.Equal(t, []string{"a", "a"}, names)
		require.Len(t, errs, 5, "in a list, initial events and a watch")
		for _, err := range errs {
			require.ErrorContains(t, err, want)
		}
	})
}

// Promise reflector/6
func TestAnObjectWhoseTypeCannotHoldItIsQuarantined(t *testing.T) {
	const good = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`
	t.Run("no metadata", func(t *testing.T) {
		requireBad[*bare](t, good, `{}`, "*reflector_test.bare panicked", reflector.ResourceOptions{})
	})
	t.Run("no type", func(t *testing.T) {
		requireBad[*untyped](t, good, `{"metadata":{"name":"b"}}`, "its type cannot be read", reflector.ResourceOptions{})
	})
}

// Promise reflector/6
func TestAMethodThatPanicsWhereSelectorsLookCostsItsObject(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{List: scripted.Lists("5", scripted.ConfigMap("a", "1"))}
	lw, err := reflector.NewResource[*unlabeled](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{LabelSelector: "a=b"})
	require.NoError(t, err)
	seen := 0
	_, err = lw.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[*unlabeled]) error {
		seen++
		require.ErrorContains(t, ev.Err, "no labels")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
}

// ofUser is a source that hands over whatever it has.
type ofUser struct{ objs []*bare }

func (u ofUser) List(_ context.Context, _ reflector.Request, each func(reflector.WatchEvent[*bare]) error) (metav1.ListMeta, error) {
	for _, o := range u.objs {
		if err := each(reflector.WatchEvent[*bare]{Type: watch.Added, Object: o}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: "5"}, nil
}

func (u ofUser) Watch(context.Context, reflector.Request) (reflector.Stream[*bare], error) {
	return &events{objs: u.objs}, nil
}

type events struct{ objs []*bare }

func (e *events) Next() (ev reflector.WatchEvent[*bare], err error) {
	if len(e.objs) == 0 {
		return ev, context.Canceled
	}
	ev = reflector.WatchEvent[*bare]{Type: watch.Modified, Object: e.objs[0], ResourceVersion: "6"}
	e.objs = e.objs[1:]
	return ev, nil
}
func (*events) Close() error { return nil }

// bareSink notes names.
type bareSink struct{ names []string }

func (s *bareSink) Add(_ context.Context, o *bare) error {
	s.names = append(s.names, o.Name)
	return nil
}
func (s *bareSink) Update(_ context.Context, o *bare) error { return s.Add(nil, o) } //nolint:staticcheck // unused
func (s *bareSink) Delete(context.Context, *bare) error     { return nil }
func (s *bareSink) Bookmark(context.Context, string) error  { return nil }
func (s *bareSink) Replace(_ context.Context, objs []*bare, _ string) error {
	for _, o := range objs {
		s.names = append(s.names, o.Name)
	}
	return nil
}

// Promise reflector/6
func TestAnObjectWithoutMetadataOfAnySourceIsQuarantined(t *testing.T) {
	named := &bare{ObjectMeta: &metav1.ObjectMeta{Name: "a"}}
	source := ofUser{[]*bare{{}, named}}
	for name, lw := range map[string]reflector.ListerWatcher[*bare]{
		"a source of the user": source,
		"a transform of it":    reflector.Transform(source, func(b *bare) (*bare, error) { return b, nil }),
		"a transform that returns one": reflector.Transform(ofUser{[]*bare{{ObjectMeta: &metav1.ObjectMeta{Name: "b"}}, named}}, func(b *bare) (*bare, error) {
			if b.Name == "b" {
				return &bare{}, nil
			}
			return b, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sink := &bareSink{}
				r, err := reflector.New(lw, sink, reflector.Options{Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				after(100 * time.Millisecond)
				require.Equal(t, 2, r.Health().Quarantined)
				cancel()
				require.NoError(t, <-done)
				require.Equal(t, []string{"a", "a"}, sink.names)
			})
		})
	}
}

// Null is the same as absent, as encoding/json has it.
func TestNullInMetadataIsAbsent(t *testing.T) {
	for _, field := range []string{
		"namespace", "uid", "resourceVersion", "labels", "annotations", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences", "finalizers", "selfLink", "generateName", "managedFields",
	} {
		obj := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a",%q:null}}`, field)
		requireNull[*unstructured.Unstructured](t, field, obj)
		requireNull[*metav1.PartialObjectMetadata](t, field, obj)
		requireNull[*corev1.ConfigMap](t, field, obj)
	}
}

func requireNull[T reflector.Object](t *testing.T, field, obj string) {
	t.Run(fmt.Sprintf("%T %s", *new(T), field), func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			lw, err := reflector.NewResource[T](badItems(obj, obj).Config(t), scripted.ConfigMaps, reflector.ResourceOptions{Encoding: reflector.EncodingJSON})
			require.NoError(t, err)
			names, errs := readAll(t, lw)
			require.Empty(t, errs)
			require.Len(t, names, 7)
		})
	})
}

// The metadata of a list or of a bookmark may be null, too.
func TestNullInTheMetadataOfAListOrABookmarkIsAbsent(t *testing.T) {
	for _, meta := range []string{`null`, `{"resourceVersion":null,"continue":null,"remainingItemCount":null,"selfLink":null}`, `{"resourceVersion":"7","annotations":null}`} {
		t.Run(meta, func(t *testing.T) {
			t.Parallel()
			s := &scripted.Server{
				List: func(w httpWriter, _ *httpRequest, _ int) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":%s,"items":[%s]}`, meta, scripted.ConfigMap("a", "1"))
				},
				Watch: func(w httpWriter, r *httpRequest, _ int) {
					scripted.Send(w, "BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":%s}`, meta))
					scripted.Linger(r, time.Minute)
				},
			}
			lw, err := reflector.NewResource[*unstructured.Unstructured](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{})
			require.NoError(t, err)
			n := 0
			_, err = lw.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[*unstructured.Unstructured]) error { n++; return ev.Err })
			require.NoError(t, err)
			require.Equal(t, 1, n)
			stream, err := lw.Watch(t.Context(), reflector.Request{})
			require.NoError(t, err)
			ev, err := stream.Next()
			require.NoError(t, err)
			require.NoError(t, ev.Err)
			require.Equal(t, watch.Bookmark, ev.Type)
			require.NoError(t, stream.Close())
		})
	}
}
