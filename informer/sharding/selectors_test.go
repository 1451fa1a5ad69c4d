package sharding

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
)

var shardRange = regexp.MustCompile(`^shardRange\(([a-z.]+), '(0x[0-9a-f]+)', '(0x[0-9a-f]+)'\)(?: \|\| |$)`)

// parseShards parses a shard selector as a server does, with the package that has its
// meaning.
func parseShards(selector string) sharding.Selector {
	var all []sharding.ShardRangeRequirement
	for selector != "" {
		m := shardRange.FindStringSubmatch(selector)
		if m == nil {
			panic("no shard selector: " + selector)
		}
		all = append(all, sharding.ShardRangeRequirement{Key: m[1], Start: m[2], End: m[3]})
		selector = selector[len(m[0]):]
	}
	return sharding.NewSelector(all...)
}

// selector returns what a request selects. It is called with mu held.
func (c *cluster) selector(opts metav1.ListOptions) func(*pod) bool {
	if !c.gate {
		return func(*pod) bool { return true }
	}
	selector := parseShards(opts.ShardSelector)
	return func(p *pod) bool {
		ok, err := selector.Matches(p)
		return ok && err == nil
	}
}

// setGate makes the cluster honour shard selectors, or ignore them, from the next request
// on.
func (c *cluster) setGate(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = on
}
