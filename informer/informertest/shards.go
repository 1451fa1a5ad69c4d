package informertest

import (
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// SetShardedListAndWatch switches the feature gate of that name on or off, as an upgrade
// of the server does: for requests from now on. Watches that are running stay as they
// are; [Server.BreakConnections] ends them. See [Options].ShardedListAndWatch.
func (s *Server) SetShardedListAndWatch(on bool) { s.sharded.Store(on) }

// shardRange is one range of a shard selector.
var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*(object\.metadata\.(?:uid|namespace))\s*,\s*['"](0x[0-9a-f]{16})['"]\s*,\s*['"](0x[0-9a-f]{16}|0x10000000000000000)['"]\s*\)\s*(?:\|\||$)`)

// parseShards reads the shard selector of a request. A server without the feature
// ignores it, whatever it is.
func (s *Server) parseShards(selector string) (sharding.Selector, error) {
	if selector == "" || !s.sharded.Load() {
		return sharding.Everything(), nil
	}
	var all []sharding.ShardRangeRequirement
	for rest := selector; rest != ""; {
		m := shardRange.FindStringSubmatch(rest)
		if m == nil || !sharding.HexLess(m[2], m[3]) || len(all) > 0 && all[0].Key != m[1] {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to parse shard selector: %q", selector))
		}
		all = append(all, sharding.ShardRangeRequirement{Key: m[1], Start: m[2], End: m[3]})
		rest = rest[len(m[0]):]
	}
	return sharding.NewSelector(all...), nil
}

// shardInfo is what a list says about the selection: those of built-in kinds do.
func (vw view) shardInfo(shards sharding.Selector) *metav1.ShardInfo {
	if shards.Empty() || vw.res.RequireResourceVersion {
		return nil
	}
	return &metav1.ShardInfo{Selector: shards.String()}
}

// inShards reports whether a version is of the shards of a selection.
func (v *version) inShards(sel selection) bool {
	if sel.shards == nil || sel.shards.Empty() {
		return true
	}
	ok, err := sel.shards.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(v.uid), Namespace: v.namespace}})
	return ok && err == nil
}
