package reflector

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func roundObject(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i), ResourceVersion: "1"}}
}

func unreadableEvent(i int) *ObjectError {
	return &ObjectError{Key: types.NamespacedName{Name: fmt.Sprint("o", i)}, Class: ClassDecode, Err: errors.New("bad")}
}

// If each good event looked through all the bad ones, this would take a minute.
func TestGoodNewsOfManyBadInitialEventsIsCheap(t *testing.T) {
	t.Parallel()
	const n = 60_000
	r := (&Reflector[*corev1.ConfigMap]{}).newCollectedList(true)
	for i := range n {
		require.NoError(t, r.refuse(unreadableEvent(i)))
		require.NoError(t, r.refuse(unreadableEvent(i)))
	}
	for i := n; i < 2*n; i++ {
		r.put(roundObject(i))
	}
	for i := 2; i < n; i++ {
		if i%2 == 0 {
			r.put(roundObject(i))
		} else {
			r.remove(types.NamespacedName{Name: fmt.Sprint("o", i)})
		}
	}
	r.good = 1
	require.NoError(t, r.unreadable())
	require.Len(t, r.bad, 2, "each object once, without those of which there is good news")
	require.Equal(t, "o0 o1", r.bad[0].Key.Name+" "+r.bad[1].Key.Name)
	require.Len(t, r.finish(), n+n/2-1)
}

func TestACollectionWithGoodNewsOnlyIsReadable(t *testing.T) {
	t.Parallel()
	r := (&Reflector[*corev1.ConfigMap]{}).newCollectedList(true)
	require.NoError(t, r.refuse(unreadableEvent(0)))
	require.ErrorContains(t, r.unreadable(), "none of the 1 objects could be read")
	r.remove(types.NamespacedName{Name: "o0"})
	require.NoError(t, r.unreadable(), "it was deleted")
}

func TestAnObjectErrorWithoutANameStays(t *testing.T) {
	t.Parallel()
	r := (&Reflector[*corev1.ConfigMap]{}).newCollectedList(true)
	require.NoError(t, r.refuse(&ObjectError{Err: errors.New("first")}))
	require.NoError(t, r.refuse(&ObjectError{Err: errors.New("second")}))
	r.remove(types.NamespacedName{})
	require.ErrorContains(t, r.unreadable(), "none of the 2 objects")
}
