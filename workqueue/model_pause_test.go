package workqueue_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// The part of the model that knows of paused groups.

// findPaused returns the request of an item that waits for its group, or nil.
func (m *model) findPaused(item int) *modelItem {
	waiting := m.paused[modelGroup(item)]
	if i := slices.IndexFunc(waiting, func(x modelItem) bool { return x.item == item }); i >= 0 {
		return &waiting[i]
	}
	return nil
}

// unpause takes the request of an item out of a paused group.
func (m *model) unpause(item int) *modelItem {
	found := m.findPaused(item)
	if found == nil {
		return nil
	}
	x, group := *found, modelGroup(item)
	m.paused[group] = slices.DeleteFunc(slices.Clone(m.paused[group]), func(o modelItem) bool { return o.item == item })
	return &x
}

func (m *model) pause(group int) {
	if _, ok := m.paused[group]; ok {
		return
	}
	var waiting []modelItem
	for class := range m.maxWait {
		for i := 0; i < len(m.queued); {
			if x := m.queued[i]; x.class == class && modelGroup(x.item) == group {
				waiting = append(waiting, m.unqueue(i))
			} else {
				i++
			}
		}
	}
	if m.shut {
		m.stats.ShutdownLosses += uint64(len(waiting))
		waiting = nil
	}
	m.paused[group] = waiting
}

func (m *model) resume(group int, now time.Time) {
	waiting := m.paused[group]
	delete(m.paused, group)
	for _, x := range waiting {
		m.push(x, now)
	}
}

func (m *model) drop(group int) (dropped int) {
	m.pause(group)
	items := map[int]bool{}
	for _, x := range m.paused[group] {
		delete(m.open, x.request)
		items[x.item] = true
	}
	m.paused[group] = nil
	for item, x := range m.again {
		if modelGroup(item) == group {
			delete(m.open, x.request)
			delete(m.again, item)
			running := m.running[item]
			running.class = x.class // the class is that of the latest request
			m.running[item] = running
			items[item] = true
		}
	}
	for item := range m.delayed {
		if modelGroup(item) == group {
			delete(m.delayed, item)
			items[item] = true
		}
	}
	for item, p := range m.parked {
		if modelGroup(item) == group {
			if p.request != nil {
				delete(m.open, p.request.request)
			}
			delete(m.parked, item)
			items[item] = true
		}
	}
	return len(items)
}

func (m *model) runningOf(group int) (n int) {
	for item := range m.running {
		if modelGroup(item) == group {
			n++
		}
	}
	return n
}

func (m *model) wantPaused() []workqueue.PausedGroup {
	var all []workqueue.PausedGroup
	for group, waiting := range m.paused {
		all = append(all, workqueue.PausedGroup{Name: fmt.Sprint(group), Queued: len(waiting), Running: m.runningOf(group)})
	}
	slices.SortFunc(all, func(a, b workqueue.PausedGroup) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// playGroup does something to the group of an item. The context has ended.
func playGroup(ended context.Context, t *testing.T, r *rand.Rand, q *workqueue.DelayingQueue[int], m *model, item int) {
	group := modelGroup(item)
	name := fmt.Sprint(group)
	switch r.IntN(8) {
	case 0, 1:
		require.NoError(t, q.PauseGroup(name))
		m.pause(group)
	case 2:
		m.pause(group)
		if err := q.DrainGroup(ended, name); m.runningOf(group) == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
	case 3:
		dropped, err := q.DropGroup(name)
		require.NoError(t, err)
		require.Equal(t, m.drop(group), dropped)
	default:
		require.NoError(t, q.ResumeGroup(name))
		m.resume(group, time.Now())
	}
}
