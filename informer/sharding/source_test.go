package sharding

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/reflector"
)

type (
	configMapEvent = reflector.WatchEvent[*corev1.ConfigMap]
	// answered is an object of a list, or the error in its place.
	answered struct {
		obj *corev1.ConfigMap
		err error
	}
)

const lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"

// fixedSource answers each list and watch alike, and notes the options.
type fixedSource struct {
	objs   []answered
	events []configMapEvent
	info   *metav1.ShardInfo
	err    error
	asked  []metav1.ListOptions
}

func (s *fixedSource) List(_ context.Context, req reflector.Request, each func(configMapEvent) error) (metav1.ListMeta, error) {
	s.asked = append(s.asked, req.ListOptions)
	for _, o := range s.objs {
		if err := each(configMapEvent{Type: watch.Added, Object: o.obj, Err: o.err}); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: "9", ShardInfo: s.info}, s.err
}

func (s *fixedSource) Watch(_ context.Context, req reflector.Request) (reflector.Stream[*corev1.ConfigMap], error) {
	s.asked = append(s.asked, req.ListOptions)
	return &fixedStream{s.events}, s.err
}

type fixedStream struct{ events []configMapEvent }

func (s *fixedStream) Next() (ev configMapEvent, err error) {
	if len(s.events) == 0 {
		return ev, io.EOF
	}
	ev, s.events = s.events[0], s.events[1:]
	return ev, nil
}

func (*fixedStream) Close() error { return nil }

// named returns an object; those whose names begin with "in" are in the part of these tests.
func namedConfigMap(name, rv string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: rv}}
}

func partOf(s *fixedSource, change func(*shard)) reflector.ListerWatcher[*corev1.ConfigMap] {
	return &source[*corev1.ConfigMap]{s, func() shard {
		sh := shard{selector: lowerHalf, holds: func(obj metav1.Object) bool { return strings.HasPrefix(obj.GetName(), "in") }}
		if change != nil {
			change(&sh)
		}
		return sh
	}}
}

// unreadable returns the error of an object of which the identity is known as far as uid is not empty.
func unreadable(name string, uid types.UID) error {
	return &reflector.ObjectError{Key: types.NamespacedName{Name: name}, UID: uid, ResourceVersion: "5", Class: reflector.ClassDecode, Err: errors.New("bad")}
}

func TestShardedListHasThePartWhetherOrNotTheServerSelects(t *testing.T) {
	t.Parallel()
	s := &fixedSource{objs: []answered{
		{obj: namedConfigMap("in-1", "1")}, {obj: namedConfigMap("out-1", "2")}, {obj: namedConfigMap("in-2", "3")},
		{err: unreadable("in-3", "in-3")}, {err: unreadable("out-2", "out-2")}, {err: unreadable("out-3", "")},
		{err: errors.New("of no object")},
	}}
	list := func(lw reflector.ListerWatcher[*corev1.ConfigMap]) (names []string) {
		meta, err := lw.List(t.Context(), reflector.Request{ListOptions: metav1.ListOptions{ResourceVersion: "7"}}, func(ev reflector.WatchEvent[*corev1.ConfigMap]) error {
			obj, err := ev.Object, ev.Err
			if err != nil {
				names = append(names, err.Error())
			} else {
				names = append(names, obj.Name)
			}
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, "9", meta.ResourceVersion)
		return names
	}
	var stated []bool
	note := func(sh *shard) { sh.listed = func(is bool) { stated = append(stated, is) } }
	got := list(partOf(s, note))
	// What may be in the part is reported, rather than lost.
	assert.Equal(t, []string{"in-1", "in-2", unreadable("in-3", "in-3").Error(), unreadable("out-3", "").Error(), "of no object"}, got)
	s.info = &metav1.ShardInfo{Selector: lowerHalf}
	list(partOf(s, note))
	s.info = &metav1.ShardInfo{}
	list(partOf(s, note))
	assert.Equal(t, []bool{false, true, false}, stated)
	assert.Equal(t, metav1.ListOptions{ResourceVersion: "7", ShardSelector: lowerHalf}, s.asked[0])

	// If objects move, who an unreadable one belongs to is not known from its identity.
	got = list(partOf(s, func(sh *shard) { sh.moves = true }))
	assert.Len(t, got, 6)
	assert.Contains(t, got, unreadable("out-2", "out-2").Error())

	stated, s.err = nil, errors.New("boom")
	_, err := partOf(s, note).List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[*corev1.ConfigMap]) error { return nil })
	require.ErrorIs(t, err, s.err)
	assert.Empty(t, stated, "a list that has failed says nothing")
	_, err = partOf(s, nil).Watch(t.Context(), reflector.Request{})
	require.ErrorIs(t, err, s.err)
	stop := errors.New("enough")
	_, err = partOf(s, nil).List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[*corev1.ConfigMap]) error { return stop })
	require.ErrorIs(t, err, stop)
}

func TestShardedWatchAdvancesWithObjectsOutside(t *testing.T) {
	t.Parallel()
	yes := true
	stream := []configMapEvent{
		{Type: watch.Added, Object: namedConfigMap("out-1", "1"), ResourceVersion: "1"},
		{Type: watch.Added, Object: namedConfigMap("in-1", "2"), ResourceVersion: "2"},
		{Type: watch.Bookmark, ResourceVersion: "3", InitialEventsEnd: true},
		{Type: watch.Modified, Object: namedConfigMap("out-1", "4"), ResourceVersion: "4"},
		{Type: watch.Deleted, Object: namedConfigMap("in-1", "5"), ResourceVersion: "5"},
		{Type: watch.Deleted, Object: namedConfigMap("out-1", "6"), ResourceVersion: "6"},
		{Type: watch.Modified, Err: unreadable("out-2", "out-2"), ResourceVersion: "7"},
		{Type: watch.Modified, Err: unreadable("in-2", "in-2"), ResourceVersion: "8"},
	}
	without := append(append([]configMapEvent(nil), stream[:2]...), stream[3:]...) // no bookmark
	for name, test := range map[string]struct {
		opts   metav1.ListOptions
		events []configMapEvent
		moves  bool
		want   []string
	}{
		"initial events": {
			opts: metav1.ListOptions{SendInitialEvents: &yes, ResourceVersion: "1"}, events: stream,
			want: []string{"ADDED in-1 2", "BOOKMARK  3", "BOOKMARK  4", "DELETED in-1 5", "BOOKMARK  6", "BOOKMARK  7", "MODIFIED  8"},
		},
		"resumed": {
			opts: metav1.ListOptions{ResourceVersion: "1"}, events: without,
			want: []string{"BOOKMARK  1", "ADDED in-1 2", "BOOKMARK  4", "DELETED in-1 5", "BOOKMARK  6", "BOOKMARK  7", "MODIFIED  8"},
		},
		"from no version": { // existing objects come in no order: none is a position
			opts: metav1.ListOptions{ResourceVersion: "0"}, events: without,
			want: []string{"ADDED in-1 2", "DELETED in-1 5", "MODIFIED  8"},
		},
		"objects that move": { // one that is outside may have been inside
			opts: metav1.ListOptions{ResourceVersion: "1"}, events: without, moves: true,
			want: []string{"DELETED out-1 1", "ADDED in-1 2", "DELETED out-1 4", "DELETED in-1 5", "DELETED out-1 6", "MODIFIED  7", "MODIFIED  8"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fixedSource{events: test.events}
			w, err := partOf(s, func(sh *shard) { sh.moves = test.moves }).Watch(t.Context(), reflector.Request{ListOptions: test.opts})
			require.NoError(t, err)
			var got []string
			for {
				ev, err := w.Next()
				if err != nil {
					require.ErrorIs(t, err, io.EOF)
					break
				}
				name := ""
				if ev.Object != nil {
					name = ev.Object.Name
				}
				got = append(got, string(ev.Type)+" "+name+" "+ev.ResourceVersion)
				assert.Equal(t, ev.Type == watch.Bookmark && ev.ResourceVersion == "3", ev.InitialEventsEnd)
			}
			assert.Equal(t, test.want, got)
			require.NoError(t, w.Close())
			assert.Equal(t, lowerHalf, s.asked[0].ShardSelector)
		})
	}
}

// Each request asks what it is to read: a watch may read less than the list before it.
func TestShardedAsksForEachRequest(t *testing.T) {
	t.Parallel()
	s := &fixedSource{events: []configMapEvent{
		{Type: watch.Modified, Object: namedConfigMap("in-1", "2"), ResourceVersion: "2"},
		{Type: watch.Modified, Object: namedConfigMap("in-2", "3"), ResourceVersion: "3"},
	}}
	selectors := []string{"a", "b"}
	asked := 0
	lw := &source[*corev1.ConfigMap]{s, func() shard {
		asked++
		return shard{selector: selectors[asked-1], holds: func(obj metav1.Object) bool { return asked == 1 || obj.GetName() == "in-2" }}
	}}
	_, err := lw.List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[*corev1.ConfigMap]) error { return nil })
	require.NoError(t, err)
	w, err := lw.Watch(t.Context(), reflector.Request{ListOptions: metav1.ListOptions{ResourceVersion: "1"}})
	require.NoError(t, err)
	for _, want := range []watch.EventType{watch.Bookmark, watch.Modified} {
		ev, err := w.Next()
		require.NoError(t, err)
		assert.Equal(t, want, ev.Type)
	}
	assert.Equal(t, 2, asked, "not for each event")
	assert.Equal(t, "a", s.asked[0].ShardSelector)
	assert.Equal(t, "b", s.asked[1].ShardSelector)
}
