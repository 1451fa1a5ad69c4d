package reflector

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func objectEvent(typ watch.EventType, i int) WatchEvent[*corev1.ConfigMap] {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i), ResourceVersion: "1"}}
	return WatchEvent[*corev1.ConfigMap]{Type: typ, Object: obj}
}

func unreadableEvent(i int) WatchEvent[*corev1.ConfigMap] {
	oe := &ObjectError{Key: types.NamespacedName{Name: fmt.Sprint("o", i)}, Position: i, Class: ClassDecode, Err: errors.New("bad")}
	return WatchEvent[*corev1.ConfigMap]{Type: watch.Added, Err: oe}
}

// take has a list take over events.
func take(t *testing.T, list *collectedList[*corev1.ConfigMap], events ...WatchEvent[*corev1.ConfigMap]) {
	t.Helper()
	for _, ev := range events {
		_, err := list.take(ev)
		require.NoError(t, err)
	}
}

func newTestList() *collectedList[*corev1.ConfigMap] {
	return (&Reflector[*corev1.ConfigMap]{}).newCollectedList()
}

// If each good event looked through all the bad ones, this would take a minute.
func TestGoodNewsOfManyBadInitialEventsIsCheap(t *testing.T) {
	t.Parallel()
	const n = 60_000
	list := newTestList()
	for i := range n {
		take(t, list, unreadableEvent(i), unreadableEvent(i))
	}
	for i := n; i < 2*n; i++ {
		take(t, list, objectEvent(watch.Added, i))
	}
	for i := 2; i < n; i++ {
		typ := watch.Modified
		if i%2 == 1 {
			typ = watch.Deleted
		}
		take(t, list, objectEvent(typ, i))
	}
	bad, err := list.unreadable()
	require.NoError(t, err)
	require.Len(t, bad, 2, "each object once, without those of which there is good news")
	require.Equal(t, "o0 o1", bad[0].Key.Name+" "+bad[1].Key.Name)
	require.Len(t, list.finish(), n+n/2-1)
}

func TestACollectionWithGoodNewsOnlyIsReadable(t *testing.T) {
	t.Parallel()
	list := newTestList()
	take(t, list, unreadableEvent(0))
	_, err := list.unreadable()
	require.ErrorContains(t, err, "none of the 1 objects could be read")
	take(t, list, objectEvent(watch.Deleted, 0))
	_, err = list.unreadable()
	require.NoError(t, err, "it was deleted")
}

func TestAnObjectErrorWithoutANameStays(t *testing.T) {
	t.Parallel()
	list := newTestList()
	for _, text := range []string{"first", "second"} {
		take(t, list, WatchEvent[*corev1.ConfigMap]{Type: watch.Added, Err: &ObjectError{Err: errors.New(text)}})
	}
	take(t, list, WatchEvent[*corev1.ConfigMap]{Type: watch.Deleted, Object: &corev1.ConfigMap{}})
	_, err := list.unreadable()
	require.ErrorContains(t, err, "none of the 2 objects")
}
