package wire

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Each event in protobuf states the type of its object. That costs no object anything:
// neither an allocation nor, in a cache, strings of its own.
func TestObjectsOfAWatchShareTheirType(t *testing.T) {
	list := busyPods(2)
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	var body []byte
	for i := range list.Items {
		body = append(body, frame(t, watch.Modified, envelope(t, "Pod", &list.Items[i]))...)
	}
	d := &decoder[*corev1.Pod]{codec: c, proto: true}
	frames := newProtoFrames(bytes.NewReader(body), c.limit)
	var pods []*corev1.Pod
	for i := range list.Items {
		it, err := frames.next()
		require.NoError(t, err)
		ev, err := d.event(it, i)
		require.NoError(t, err)
		pods = append(pods, ev.Object)
	}
	for _, pod := range pods {
		assert.Equal(t, "v1/Pod", pod.APIVersion+"/"+pod.Kind)
	}
	assert.Same(t, unsafe.StringData(pods[0].Kind), unsafe.StringData(pods[1].Kind))
	assert.Same(t, unsafe.StringData(pods[0].APIVersion), unsafe.StringData(pods[1].APIVersion))

	plain, err := list.Items[1].Marshal()
	require.NoError(t, err)
	alone := testing.AllocsPerRun(100, func() { _ = new(corev1.Pod).Unmarshal(plain) })
	src := bytes.NewReader(nil)
	again := testing.AllocsPerRun(100, func() {
		src.Reset(body)
		frames.r.Reset(src)
		for range list.Items {
			it, _ := frames.next()
			_, _ = d.event(it, 2)
		}
	})
	assert.LessOrEqual(t, again, float64(len(list.Items))*(alone+1), "one for the pod itself")
}

func TestTypeOfAProtobufEnvelope(t *testing.T) {
	known := typeMeta{"v1", "Pod"}
	read := func(apiVersion, kind string) typeMeta {
		t.Helper()
		msg := append([]byte{1<<3 | 2, byte(len(apiVersion))}, apiVersion...)
		msg = append(append(msg, 2<<3|2, byte(len(kind))), kind...)
		var tm typeMeta
		w := newProtoReader(bytes.NewReader(msg), 16, 100)
		w.left = uint64(len(msg))
		err := w.typeMeta(&tm, known, w.left)
		require.NoError(t, err)
		return tm
	}
	assert.Equal(t, known, read("v1", "Pod"))
	assert.Equal(t, typeMeta{"v2", "Po"}, read("v2", "Po"), "known is no answer for another type")
	assert.Equal(t, typeMeta{}, read("", ""), "nor for one that states none")
	assert.Less(t, len(read("v1", strings.Repeat("k", 127)).kind), 128)
}
