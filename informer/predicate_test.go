package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/workqueue"
)

func TestPredicatesChooseUpdatesByWhatChanged(t *testing.T) {
	t.Parallel()
	base := labelled("1")
	base.ResourceVersion = "1"
	update := func(change func(p *pod)) Event[*pod] {
		p := base.DeepCopy()
		change(p)
		return Event[*pod]{Type: Updated, Old: base, New: p}
	}
	nothing := update(func(*pod) {})
	generation := update(func(p *pod) { p.Generation++ })
	label := update(func(p *pod) { p.Labels["n"] = "2" })
	annotation := update(func(p *pod) { p.Annotations = map[string]string{"a": "b"} })
	version := update(func(p *pod) { p.ResourceVersion = "2" })
	all := []Event[*pod]{nothing, generation, label, annotation, version}

	chosen := func(p Predicate[*pod]) (which []int) {
		for i, e := range all {
			When(p, HandlerFunc[*pod](func(Event[*pod]) { which = append(which, i) })).OnEvent(e)
		}
		return which
	}
	g, v := GenerationChanged[*pod](), ResourceVersionChanged[*pod]()
	assert.Equal(t, []int{1}, chosen(g))
	assert.Equal(t, []int{4}, chosen(v))
	assert.Equal(t, []int{1, 4}, chosen(Or(g, v)))
	assert.Empty(t, chosen(Or[*pod]()))
	old, now := *base, *base
	old.ResourceVersion, now.ResourceVersion = "", ""
	assert.True(t, v(Event[*pod]{Type: Updated, Old: &old, New: &now}), "some APIs serve objects without a version")
	assert.False(t, v(Event[*pod]{Type: Updated, Old: &old, New: &old, Origin: Resync}))
	for _, p := range []Predicate[*pod]{g, v} {
		assert.True(t, p(Event[*pod]{Type: Added, New: base}))
		assert.True(t, p(Event[*pod]{Type: Deleted, Old: base}))
	}
}

func TestBackgroundChoosesWhatIsNoNews(t *testing.T) {
	t.Parallel()
	var chosen, rest []string
	name := func(to *[]string) Handler[*pod] {
		return HandlerFunc[*pod](func(e Event[*pod]) { *to = append(*to, fmt.Sprint(e.Type, " ", e.Origin)) })
	}
	h := WhenElse(InitialOrResync[*pod](), name(&chosen), name(&rest))
	for _, origin := range []Origin{Watch, InitialList, Relist, CatchUp} {
		for _, typ := range []ChangeType{Added, Updated, Deleted} {
			h.OnEvent(Event[*pod]{Type: typ, Origin: origin})
		}
	}
	h.OnEvent(Event[*pod]{Type: Updated, Origin: Resync})
	assert.Equal(t, []string{"Added InitialList", "Updated Resync"}, chosen)
	assert.Equal(t, []string{
		"Added Watch", "Updated Watch", "Deleted Watch",
		"Updated InitialList", "Deleted InitialList",
		"Added Relist", "Updated Relist", "Deleted Relist",
		"Added CatchUp", "Updated CatchUp", "Deleted CatchUp",
	}, rest)
}

// A start and a resync of many objects leave what changes at the head of the
// queue, and a change raises an object that waits in the background.
func TestFreshChangesOvertakeTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
		for i := range 100 {
			createPod(t, s, "default", fmt.Sprint("old-", i))
		}
		fac, err := NewFactory(s.Config(), FactoryOptions{})
		require.NoError(t, err)
		pods, err := For(fac, ForOptions[*pod]{Resource: podResource})
		require.NoError(t, err)
		queue := workqueue.New(workqueue.Options[types.NamespacedName]{MaxWait: []time.Duration{0, time.Hour}})
		_, err = pods.AddHandler(WhenElse(InitialOrResync[*pod](), EnqueueKey[*pod](queue.PriorityClass(1)), EnqueueKey[*pod](queue)),
			HandlerOptions{ResyncPeriod: time.Minute})
		require.NoError(t, err)
		fac.Start(t.Context())
		synctest.Wait()
		change := func(n string) {
			require.NoError(t, s.Modify(podResource, "default", "old-42", func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"n": n})
			}))
			createPod(t, s, "default", "new-"+n)
			synctest.Wait()
		}
		next := func() string {
			key, ok := queue.Get(t.Context())
			require.True(t, ok)
			queue.Done(key)
			return key.Name
		}
		for _, round := range []string{"1", "2"} { // the first list, and then the resync
			assert.Equal(t, 0, queue.Inspect(0).PriorityClasses[0].Queued, "only what does not report a change is there")
			background := queue.Inspect(0).PriorityClasses[1].Queued
			assert.GreaterOrEqual(t, background, 100)
			change(round)
			assert.Equal(t, []string{"old-42", "new-" + round}, []string{next(), next()})
			assert.Equal(t, background-1, queue.Len())
			for queue.Len() > 0 {
				next()
			}
			time.Sleep(time.Minute + time.Second)
			synctest.Wait()
		}
		require.NoError(t, fac.Shutdown(t.Context()))
		s.Close()
	})
}
