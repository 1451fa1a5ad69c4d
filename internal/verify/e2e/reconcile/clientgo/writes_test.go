package clientgo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	web  = types.NamespacedName{Namespace: "n", Name: "web"}
	mail = types.NamespacedName{Namespace: "n", Name: "mail"}
)

func podAt(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: version}}
}

func uncached() (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), "pod")
}

func TestWriteIsOutstandingUntilTheCacheShowsItOrALaterOne(t *testing.T) {
	var w ownWrites
	expect(&w, web, podAt("10"), uncached)
	assert.Positive(t, w.outstanding(web))
	assert.Zero(t, w.outstanding(mail))
	w.seen(podAt("9"))
	assert.Positive(t, w.outstanding(web), "an older state is not what was written")
	w.seen(podAt("11"))
	assert.Zero(t, w.outstanding(web))
	assert.Empty(t, w.objects)
}

func TestWriteThatTheCacheShowsBeforeTheAnswerIsNotOutstanding(t *testing.T) {
	var w ownWrites
	expect(&w, web, podAt("10"), func() (*corev1.Pod, error) { return podAt("10"), nil })
	assert.Zero(t, w.outstanding(web))
}

func TestNothingIsOutstandingOfWhatIsGone(t *testing.T) {
	var w ownWrites
	expect(&w, web, podAt("10"), uncached)
	w.gone("uid")
	assert.Zero(t, w.outstanding(web))
	expect(&w, web, podAt("10"), uncached)
	w.forget(web)
	assert.Zero(t, w.outstanding(web))
	assert.Empty(t, w.objects)
}

func TestObjectIsOutstandingForItsLatestWriterOnly(t *testing.T) {
	var w ownWrites
	expect(&w, web, podAt("10"), uncached)  // released by one
	expect(&w, mail, podAt("11"), uncached) // adopted by another
	assert.Zero(t, w.outstanding(web))
	assert.Positive(t, w.outstanding(mail))
}

func TestWriteIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w ownWrites
		expect(&w, web, podAt("10"), uncached)
		time.Sleep(w.outstanding(web))
		assert.Zero(t, w.outstanding(web))
		assert.Empty(t, w.objects)
	})
}
