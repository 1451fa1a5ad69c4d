package inspect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
)

func TestMemoryIsShown(t *testing.T) {
	u := informer.MemoryUsage{
		Structure: indexer.Usage{Objects: 2_300_000, Indexes: map[string]int{"node": 560_000, "app": 10}},
		Plain:     430_000_000, Own: 153_000_000, Pool: 31_000_000,
	}
	assert.Equal(t, "memory: about 153.0 MB of objects and 31.0 MB of the pool of equal parts; without it 430.0 MB; "+
		"table 2.3 MB, index app 10 B, index node 560.0 kB\n", reportMemory(u).text())
	u.Pool = 0
	assert.Contains(t, reportMemory(u).text(), "memory: about 153.0 MB of objects; table")
}

func TestMemoryIsEstimatedForOnePercentOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		slow := func() map[string]informer.MemoryUsage {
			time.Sleep(10 * time.Millisecond)
			calls++
			return map[string]informer.MemoryUsage{"pods": {Objects: calls}}
		}
		e := new(estimate)
		for range 250 { // a page that is refreshed without a break
			e.usage(slow)
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, 3, calls)
		assert.Equal(t, 3, e.usage(slow)["pods"].Objects, "as it was last")
		time.Sleep(time.Second)
		assert.Equal(t, 4, e.usage(slow)["pods"].Objects)
	})
}
