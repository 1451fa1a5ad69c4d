package clientgo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDeletedPodStaysDoomedUntilTheCacheDoesNotShowIt(t *testing.T) {
	var (
		d          doomedPods
		web, other = types.NamespacedName{Name: "web"}, types.NamespacedName{Name: "other"}
		a, b       = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
		both       = []*corev1.Pod{a, b}
	)
	assert.Equal(t, both, d.Without(web, both))
	d.Add(web, "a")
	assert.Equal(t, both, d.Without(other, both))
	assert.Equal(t, []*corev1.Pod{b}, d.Without(web, both))
	assert.Equal(t, []*corev1.Pod{b}, d.Without(web, both), "for as long as it is shown")
	d.Remove(web, "a")
	assert.Equal(t, both, d.Without(web, both), "its deletion has failed")

	d.Add(web, "a")
	d.Without(web, []*corev1.Pod{b})
	d.Without(web, nil)
	d.Add(other, "b")
	d.Forget(other)
	d.Remove(other, "never there")
	assert.Empty(t, d.bySet, "nothing is left of pods and sets that are gone")
}
