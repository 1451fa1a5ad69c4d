package rows

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// feed is an API server of pods in memory, for one informer: one list, then one
// watch. It hands over the objects as they are, so that what is measured is what
// happens to them afterwards.
type feed struct {
	initial []*corev1.Pod
	events  chan watch.Event
}

// feedBuffer is how many events may be on their way, as there are in the buffers
// of a connection.
const feedBuffer = 1000

func newFeed() *feed { return &feed{events: make(chan watch.Event, feedBuffer)} }

func (f *feed) send(t watch.EventType, p *corev1.Pod) {
	f.events <- watch.Event{Type: t, Object: p}
}

// List is the list function of a clientset.
func (f *feed) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(1_900_000)},
		Items:    make([]corev1.Pod, len(f.initial)),
	}
	for i, p := range f.initial {
		list.Items[i] = *p
	}
	return list, nil
}

// Watch is the watch function of a clientset.
func (f *feed) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) { return f, nil }

// ResultChan and Stop implement watch.Interface.
func (f *feed) ResultChan() <-chan watch.Event { return f.events }

// Stop does nothing: the process ends soon.
func (f *feed) Stop() {}
