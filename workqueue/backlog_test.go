//go:build !race

package workqueue_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/workqueue"
)

// What a backlog costs while it builds up. These are counts, and the same on any machine.
// Not parallel: all that the process allocates is counted.
func TestBacklogCostsLittlePerItem(t *testing.T) {
	const n = 100_000
	keys := make([]benchKey, n)
	for i := range keys {
		keys[i] = benchKey{"namespace", "pod-" + strconv.Itoa(i)}
	}
	for _, c := range []struct {
		name          string
		allocs, bytes float64 // per item; the bytes are those that stay
		add           func(q *workqueue.RateLimitingQueue[benchKey], k benchKey)
	}{
		// A namespace and a name take 32 of the bytes.
		{"queued", 1.05, 150, func(q *workqueue.RateLimitingQueue[benchKey], k benchKey) { q.Add(k) }},
		{"delayed", 1.05, 180, func(q *workqueue.RateLimitingQueue[benchKey], k benchKey) { q.AddAfter(k, time.Hour) }},
		{"retried", 1.1, 280, func(q *workqueue.RateLimitingQueue[benchKey], k benchKey) { q.AddRateLimited(k) }},
	} {
		q := workqueue.NewRateLimiting(workqueue.FastSlow[benchKey](time.Hour, time.Hour, 1), workqueue.Options[benchKey]{})
		before := settled()
		for _, k := range keys {
			c.add(q, k)
		}
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		allocs := float64(after.Mallocs-before.Mallocs) / n
		after = settled()
		bytes := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / n
		t.Logf("%s: %.3f allocations, %.1f bytes", c.name, allocs, bytes)
		assert.LessOrEqual(t, allocs, c.allocs, c.name)
		assert.LessOrEqual(t, bytes, c.bytes, c.name)
		q.ShutDown()
	}
	runtime.KeepAlive(keys)
}

// settled returns what is allocated when the garbage is collected.
func settled() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
