package sharding

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Promise informer/sharding/3
func TestPromise3AChangeOfOneReplicaMovesFewParts(t *testing.T) {
	for _, parts := range []int{1, 7, 64} {
		t.Run(fmt.Sprint("parts=", parts), func(t *testing.T) {
			inWorld(t, parts, func(w *world) {
				t := w.t
				moved := func() (n int) {
					for _, m := range w.members {
						n += int(m.replica.Health().Took)
					}
					return n
				}
				var present []*member
				for n := range 7 {
					before := moved()
					present = append(present, w.start())
					assert.LessOrEqual(t, moved()-before, ceil(parts, n+1), "the replica %d has joined", n+1)
					w.checkShares(present)
				}
				for n := 7; n > 1; n-- {
					before := moved()
					if n%2 == 0 {
						present[0].leave()
					} else {
						present[0].crash()
						time.Sleep(leaseDuration)
					}
					present = present[1:]
					w.settle()
					assert.LessOrEqual(t, moved()-before, ceil(parts, n), "one of %d has left", n)
					w.checkShares(present)
				}
				assert.Empty(t, w.overlaps)
			})
		})
	}
}

// Replicas that join at the same time take parts that they give up before they have
// begun to work on them. What is counted is what they have worked on.
func TestPartsThatAreTakenGivenUpAndLostAddUp(t *testing.T) {
	inWorld(t, 24, func(w *world) {
		t := w.t
		check := func() {
			t.Helper()
			for _, m := range w.members {
				h := m.replica.Health()
				assert.EqualValues(t, len(h.Held), h.Took-h.Gave-h.Lost, "%s took %d, gave %d, lost %d", h.Identity, h.Took, h.Gave, h.Lost)
			}
		}
		for range 3 {
			w.prepare().run()
		}
		w.settle()
		check()
		cut := w.members[0]
		cut.conn.sever(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		assert.EqualValues(t, 8, cut.replica.Health().Lost)
		cut.conn.sever(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		// Work that fails, and is lost or handed over while it waits to be called again.
		w.mu.Lock()
		cut.fail = errors.New("not now")
		w.mu.Unlock()
		w.members[1].leave()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		check()
		cut.conn.sever(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		cut.conn.sever(false)
		time.Sleep(time.Minute)
		cut.leave()
		check()
	})
}

func ceil(a, b int) int { return (a + b - 1) / b }

// checkShares is promise 4.
func (w *world) checkShares(present []*member) {
	w.t.Helper()
	total := 0
	for _, m := range present {
		h := m.replica.Health()
		total += m.held()
		assert.Contains(w.t, []int{w.opts.Parts / len(present), ceil(w.opts.Parts, len(present))}, m.held())
		assert.Len(w.t, h.Held, h.Quota)
		assert.Equal(w.t, h.Quota, m.held())
		assert.Zero(w.t, h.Free)
	}
	assert.Equal(w.t, w.opts.Parts, total)
}
