package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

type partial = metav1.PartialObjectMetadata

// nowhere is a sink that keeps nothing.
type nowhere struct{}

func (nowhere) Add(context.Context, *partial) error               { return nil }
func (nowhere) Update(context.Context, *partial) error            { return nil }
func (nowhere) Delete(context.Context, *partial) error            { return nil }
func (nowhere) Replace(context.Context, []*partial, string) error { return nil }
func (nowhere) Bookmark(context.Context, string) error            { return nil }

func named(name, version string) partial {
	return partial{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", ResourceVersion: version}}
}

// An object differs for lack of an event if the watch gets past the answer without one, or
// if none comes for long and a second answer is the same.
//
// Promise reflector/1
func TestADifferenceMustLastOrBePassed(t *testing.T) {
	t.Parallel()
	type answer struct {
		version, at string // of the object, none if it is empty, and of the list
		err         error
	}
	const held, other, third = "50", "60", "70"
	for name, c := range map[string]struct {
		answers []answer
		reached string // by the watch, after 3 s
		moved   bool   // an event about it comes with the second answer
		differs bool
		ok      bool
		took    time.Duration
	}{
		"the same":             {answers: []answer{{version: held, at: "101"}}, ok: true},
		"an error":             {answers: []answer{{err: errors.New("boom")}}},
		"an older answer":      {answers: []answer{{version: other, at: "99"}}},
		"passed":               {answers: []answer{{version: other, at: "101"}}, reached: "102", differs: true, ok: true, took: 3 * time.Second},
		"just reached":         {answers: []answer{{version: other, at: "101"}}, reached: "101", differs: true, ok: true, took: 3 * time.Second},
		"missing, and passed":  {answers: []answer{{at: "101"}}, reached: "102", differs: true, ok: true, took: 3 * time.Second},
		"lasting":              {answers: []answer{{version: other, at: "101"}, {version: other, at: "101"}}, differs: true, ok: true, took: lasting},
		"lasting, as of begin": {answers: []answer{{version: other, at: "100"}, {version: other, at: "100"}}, reached: "99", differs: true, ok: true, took: lasting},
		"changing":             {answers: []answer{{version: other, at: "101"}, {version: third, at: "103"}}, took: lasting},
		"changing, and moved":  {answers: []answer{{version: other, at: "101"}, {version: third, at: "103"}}, moved: true, ok: true, took: lasting},
		"moved at last":        {answers: []answer{{version: other, at: "101"}, {version: other, at: "101"}}, moved: true, ok: true, took: lasting},
		"an error at last":     {answers: []answer{{version: other, at: "101"}, {version: other, err: errors.New("boom")}}, took: lasting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &sample{key: types.NamespacedName{Namespace: "ns", Name: "x"}, held: objectVersion{"u", held}}
				n := 0
				list := func(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
					a := c.answers[n]
					n++
					require.Equal(t, "metadata.namespace=ns,metadata.name=x", o.FieldSelector)
					if n == 2 && c.moved {
						s.moved.Store(true)
					}
					l := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: a.at}}
					if a.version != "" {
						l.Items = append(l.Items, named("x", a.version))
					}
					l.Items = append(l.Items, named("another", "1")) // not every source knows the selector
					return l, a.err
				}
				lw := FromFuncs[*partial](list, func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil })
				r, err := New[*partial](lw, nowhere{}, Options{})
				require.NoError(t, err)
				live := &liveStream[*partial]{}
				live.idle.Store(newDeadline(nil, 0, nil))
				if c.reached != "" {
					time.AfterFunc(3*time.Second-1, func() { r.status.update(func(h *Health) { h.ResourceVersion = c.reached }) })
				}
				l := &look[*partial]{r: r, live: live, metadata: lw, rv: "100"}
				begun := time.Now()
				differs, ok := l.differs(t.Context(), s, reserve+1)
				require.Equal(t, c.differs, differs)
				require.Equal(t, c.ok, ok)
				require.Equal(t, c.took, time.Since(begun))
				require.Len(t, c.answers, n)
				require.Equal(t, n, l.asks)
				require.Equal(t, n, r.Health().Lists)
			})
		})
	}
}

func TestAnObjectIsAskedForByWhatTheSourceDoesNotSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, namespace, want string }{
		{"", "", "metadata.name=x"}, // not in a namespace
		{"", "ns", "metadata.namespace=ns,metadata.name=x"},
		{"ns", "ns", "metadata.name=x"},
	} {
		asked := ""
		list := func(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
			asked = o.FieldSelector
			return &metav1.PartialObjectMetadataList{}, nil
		}
		lw := FromFuncs[*partial](list, func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil })
		r, err := New[*partial](lw, nowhere{}, Options{})
		require.NoError(t, err)
		r.namespace = c.of
		l := &look[*partial]{r: r, metadata: lw, rv: "100"}
		_, _, err = l.ask(t.Context(), types.NamespacedName{Namespace: c.namespace, Name: "x"}, 1)
		require.NoError(t, err)
		require.Equal(t, c.want, asked)
	}
}
