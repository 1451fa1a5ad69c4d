package reflector_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// relisted runs a reflector through two lists, of which the second has one changed
// object of 300, and returns the sink, what it had before, and how many objects the
// second list has decoded.
func relisted(t *testing.T, mode reflector.SyncMode, opts reflector.Options) (sink *recorder, before map[string]*corev1.ConfigMap, decoded int) {
	objects := func(round int) (items []string) {
		for i := range 300 {
			rv := 1
			if i == 7 {
				rv = round
			}
			items = append(items, scripted.ConfigMap(fmt.Sprint("o", i), fmt.Sprint(rv)))
		}
		return items
	}
	s := &scripted.Server{
		List: func(w httpWriter, _ *httpRequest, n int) { scripted.WriteList(w, fmt.Sprint(n*10), "", objects(n)...) },
		WatchList: func(w httpWriter, r *httpRequest, n int) {
			for _, o := range objects(n) {
				scripted.Send(w, "ADDED", o)
			}
			scripted.Send(w, "BOOKMARK", scripted.Bookmark(fmt.Sprint(n*10), true))
			scripted.Linger(r, time.Minute)
		},
		Watch: scripted.InTurn(scripted.Fails(410, ""), scripted.Quiet),
	}
	var n atomic.Int32
	source := reflector.Transform(sourceOf(t, s), func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		n.Add(1)
		return o, nil
	})
	sink = newRecorder()
	opts.Sync = mode
	r := run(t, source, knowing{sink}, opts)
	after(time.Millisecond)
	require.EqualValues(t, 300, n.Swap(0))
	before = map[string]*corev1.ConfigMap{}
	for key, o := range sink.objects() {
		before[key.Name] = o
	}
	after(90 * time.Second)
	require.Equal(t, "20", r.Health().ResourceVersion)
	require.Len(t, sink.objects(), 300)
	return sink, before, int(n.Load())
}

// Promise reflector/8
func TestARelistDecodesOnlyWhatHasChanged(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		t.Run(string(mode), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sink, before, decoded := relisted(t, mode, reflector.Options{})
				require.Equal(t, 1, decoded)
				for key, o := range sink.objects() {
					require.Equal(t, key.Name != "o7", before[key.Name] == o, key.Name)
				}
			})
		})
	}
}

func TestDecodeUnchangedDecodesEverything(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		t.Run(string(mode), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sink, before, decoded := relisted(t, mode, reflector.Options{DecodeUnchanged: true})
				require.Equal(t, 300, decoded)
				for key, o := range sink.objects() {
					require.NotSame(t, before[key.Name], o)
				}
			})
		})
	}
}

func TestAFirstListOverInitialObjectsDecodesOnlyWhatDiffers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sink := newRecorder()
		old := &corev1.ConfigMap{}
		old.Namespace, old.Name, old.UID, old.ResourceVersion = "ns", "a", "uid-a", "1"
		sink.state[keyOf(old)] = old
		var decoded []string
		s := &scripted.Server{List: scripted.Lists("10", scripted.ConfigMap("a", "1"), scripted.ConfigMap("b", "2")), Watch: scripted.Quiet}
		source := reflector.Transform(sourceOf(t, s), func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			decoded = append(decoded, o.Name)
			return o, nil
		})
		run(t, source, knowing{sink}, listMode)
		after(time.Second)
		require.Equal(t, "a@1 b@2", sink.holds())
		require.Equal(t, []string{"b"}, decoded)
		require.Same(t, old, sink.objects()[keyOf(old)])
	})
}
