package intern

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type oneText struct{ Text string }

// What never repeats is left alone after some time, and the pool forgets it.
//
// Promise informer/intern/5
func TestPartsThatNeverRepeatAreLeftAlone(t *testing.T) {
	r := newRig[oneText]()
	for i := range 5 * window {
		r.intern(oneText{fmt.Sprint("unique-", i)})
	}
	st := r.pool.Stats()
	assert.EqualValues(t, window, st.Missed)
	assert.Zero(t, st.Parts)
	r.pool.collect()
	assert.Zero(t, r.pool.Stats().Seen)
}

// It is looked at again, longer after longer, and shared when it begins to repeat.
func TestPausedSitesAreTriedAgain(t *testing.T) {
	r := newRig[oneText]()
	for i := range minPause + 3*window {
		r.intern(oneText{fmt.Sprint("unique-", i)})
	}
	st := r.pool.Stats()
	assert.EqualValues(t, 2*window, st.Missed)
	for range 2*minPause + window {
		r.intern(oneText{"it repeats now"})
	}
	assert.Greater(t, r.pool.Stats().Found, uint64(window-10))
}

func TestSmallPartsThatRepeatRarelyAreLeftAlone(t *testing.T) {
	r := newRig[oneText]()
	for i := range 4 * window {
		r.intern(oneText{fmt.Sprint(1000 + i%900)})
	}
	assert.Less(t, r.pool.Stats().Found+r.pool.Stats().Missed, uint64(3*window))
}

// One place of a type that never repeats does not keep others from it.
func TestSitesAreJudgedOneByOne(t *testing.T) {
	type value struct{ Name, Kind string }
	r := newRig[value]()
	var kept []*value
	for i := range 3 * window {
		kept = append(kept, r.intern(value{fmt.Sprint("unique-", i), "the same kind"}))
	}
	assert.EqualValues(t, 3*window-1-1, r.pool.Stats().Found)
	runtime.KeepAlive(kept)
}

// The plans of one Go type are one, those of objects that may have any fields are not.
func TestPlansAreSharedByGoType(t *testing.T) {
	p := NewPool()
	typed, dynamic := reflect.TypeFor[oneText](), reflect.TypeFor[unstructured.Unstructured]()
	assert.Same(t, p.plan(typed), p.plan(typed))
	assert.NotSame(t, p.plan(dynamic), p.plan(dynamic))
	assert.NotSame(t, p.plan(typed), NewPool().plan(typed))
}
