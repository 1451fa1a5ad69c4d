package sharding

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
)

// quotas returns how many parts each replica is to have. They differ by one at most, and those that
// have one more already keep it, before those with lower IDs: parts stay where they are while counts
// differ by one at most, and a replica that joins or leaves moves exactly the parts
// that it gets, or had. Replicas are in order of their IDs, holders as for [plan].
func quotas(holders, replicas []string) map[string]int {
	has := map[string]int{}
	for _, h := range holders {
		has[h]++
	}
	q := make(map[string]int, len(replicas))
	if len(replicas) == 0 {
		return q
	}
	// Not those that have the most: while parts are taken, that changes from view to view.
	floor, more := len(holders)/len(replicas), len(holders)%len(replicas)
	for _, r := range replicas {
		q[r] = floor
		if has[r] > floor && more > 0 {
			q[r]++
			more--
		}
	}
	for _, r := range replicas {
		if q[r] == floor && more > 0 {
			q[r]++
			more--
		}
	}
	return q
}

// score says how much a replica prefers a part (rendezvous hashing). Replicas that
// look at the same Leases agree on who takes a free part, so they do not compete for
// it; and a replica which is to give parts up gives those that it prefers least.
func score(replica string, part int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(replica))
	_, _ = h.Write([]byte{'/'})
	_, _ = h.Write([]byte(strconv.Itoa(part)))
	// FNV's upper bits hardly depend on the last bytes. This is the mixer of splitmix64.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// plan says who is to take each part that is free: holders[i] is the ID of the session
// that has part i, or "". replicas are those that take parts, in order. The result has ""
// for a part that has a holder, and for all if there are no replicas.
func plan(holders, replicas []string) []string {
	next := make([]string, len(holders))
	if len(replicas) == 0 {
		return next
	}
	room := quotas(holders, replicas)
	for _, h := range holders {
		if _, ok := room[h]; ok {
			room[h]--
		}
	}
	for i, h := range holders {
		if h != "" {
			continue
		}
		var best uint64
		for _, r := range replicas {
			if s := score(r, i); room[r] > 0 && (next[i] == "" || s > best) {
				next[i], best = r, s
			}
		}
		if next[i] != "" {
			room[next[i]]--
		}
	}
	return next
}

// keep returns which of the given parts a replica keeps: quota of them.
func keep(replica string, parts []int, quota int) map[int]bool {
	kept := map[int]bool{}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b int) int { return cmp.Compare(score(replica, b), score(replica, a)) })
	for _, p := range parts[:min(len(parts), quota)] {
		kept[p] = true
	}
	return kept
}
