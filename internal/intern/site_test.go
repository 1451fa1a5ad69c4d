package intern

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type oneText struct{ Text string }

// What never repeats is left alone after some time, and the pool forgets it.
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

// What workers learn at the same time is learned by all of them.
func TestWorkersLearnTogether(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	r := newRig[oneText]()
	const workers = 2
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			// Each sees less than it takes to judge a site.
			for i := range window * 3 / 4 {
				r.intern(oneText{fmt.Sprint("unique-", w, "-", i)})
			}
		})
	}
	wg.Wait()
	before := r.pool.Stats().Missed
	r.intern(oneText{"it is left alone by now"})
	assert.Equal(t, before, r.pool.Stats().Missed)
}

// Interners of one Go type are one, those of objects that may have any fields are not.
func TestPlansAreSharedByGoType(t *testing.T) {
	p := NewPool()
	typed, dynamic := reflect.TypeFor[*oneText](), reflect.TypeFor[*unstructured.Unstructured]()
	assert.Same(t, p.Interner(typed), p.Interner(typed))
	assert.NotSame(t, p.Interner(dynamic), p.Interner(dynamic))
	assert.NotSame(t, p.Interner(typed), NewPool().Interner(typed))
}
