package reflector

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shard is a parsed shard selector (KEP-5866): ranges of the 64-bit FNV-1a hash
// of one field of an object's metadata.
//
// A server without the feature ignores the selector and answers with everything,
// and nothing in a watch says which of the two happened. Therefore each object
// received is compared with the selector here, too.
type shard struct {
	namespace bool // the field is the namespace, not the UID
	ranges    []hashRange
}

// hashRange holds the hashes from first to last, both included.
type hashRange struct{ first, last uint64 }

// parseShard parses shardRange(field, 'start', 'end'), or several of them joined
// by ||, as kube-apiserver does: start is in the range and end is not; both have
// 16 hexadecimal digits, or the end is 2^64.
func parseShard(selector string) (*shard, error) {
	out := &shard{}
	for i, part := range strings.Split(selector, "||") {
		field, r, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		switch {
		case field != "object.metadata.uid" && field != "object.metadata.namespace":
			return nil, fmt.Errorf("%q is neither object.metadata.uid nor object.metadata.namespace", field)
		case i > 0 && out.namespace != (field == "object.metadata.namespace"):
			return nil, errors.New("all ranges must be of the same field")
		}
		out.namespace = field == "object.metadata.namespace"
		out.ranges = append(out.ranges, r)
	}
	return out, nil
}

func parseRange(s string) (field string, r hashRange, err error) {
	rest, ok := strings.CutPrefix(s, "shardRange")
	rest = strings.TrimSpace(rest)
	args := strings.Split(strings.TrimSuffix(strings.TrimPrefix(rest, "("), ")"), ",")
	if !ok || !strings.HasPrefix(rest, "(") || !strings.HasSuffix(rest, ")") || len(args) != 3 {
		return "", r, errors.New("it must be shardRange(field, 'start', 'end'), or several of them joined by ||")
	}
	start, err1 := parseHash(args[1])
	end, err2 := parseHash(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return "", r, err
	}
	// An end of 2^64 is 0 here, and the last hash before it is still right.
	r = hashRange{start, end - 1}
	if r.last < r.first || isTwoTo64(args[1]) {
		return "", r, fmt.Errorf("the range from %s to %s is empty", strings.TrimSpace(args[1]), strings.TrimSpace(args[2]))
	}
	if end == 0 && !isTwoTo64(args[2]) {
		return "", r, errors.New("the range ends at 0")
	}
	return strings.TrimSpace(args[0]), r, nil
}

const twoTo64 = "0x10000000000000000"

func isTwoTo64(arg string) bool { return strings.Trim(strings.TrimSpace(arg), `'"`) == twoTo64 }

// parseHash returns the number in a quoted literal; 2^64 is 0.
func parseHash(arg string) (uint64, error) {
	arg = strings.TrimSpace(arg)
	if len(arg) < 2 || arg[0] != arg[len(arg)-1] || arg[0] != '\'' && arg[0] != '"' {
		return 0, fmt.Errorf("%s is not a quoted number", arg)
	}
	text := arg[1 : len(arg)-1]
	if text == twoTo64 {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || len(digits) != 16 || err != nil || digits != strings.ToLower(digits) {
		return 0, fmt.Errorf("%s is not 0x and 16 lower-case hexadecimal digits", arg)
	}
	return n, nil
}

// holds reports whether an object belongs to the shard.
func (s *shard) holds(obj metav1.Object) bool {
	value := string(obj.GetUID())
	if s.namespace {
		value = obj.GetNamespace()
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(value))
	sum := h.Sum64()
	for _, r := range s.ranges {
		if r.first <= sum && sum <= r.last {
			return true
		}
	}
	return false
}

// equal compares what two selectors select, as far as they say it in the same
// order.
func (s *shard) equal(o *shard) bool {
	if s.namespace != o.namespace || len(s.ranges) != len(o.ranges) {
		return false
	}
	for i, r := range s.ranges {
		if r != o.ranges[i] {
			return false
		}
	}
	return true
}

// shardError is an answer of a server that ignores the shard selector.
type shardError struct {
	selector string
	why      string
}

func (e *shardError) Error() string {
	return fmt.Sprintf("the server ignores the shard selector %s: %s; is its feature gate ShardedListAndWatch on?", cut(e.selector), e.why)
}

// checkObject returns an error for an object that is not in the shard.
func (s *shard) checkObject(selector string, obj metav1.Object) error {
	if s == nil || s.holds(obj) {
		return nil
	}
	return &shardError{selector, "it sends objects of other shards"}
}

// checkList returns an error for a list that does not say that it is the shard.
// A server with the feature says so for the resources that are built in
// (required), and not for custom resources.
func (s *shard) checkList(selector string, info *metav1.ShardInfo, required bool) error {
	switch {
	case s == nil:
		return nil
	case info == nil && required:
		return &shardError{selector, "the list has no shardInfo"}
	case info == nil:
		return nil
	}
	if other, err := parseShard(info.Selector); err != nil || !s.equal(other) {
		return &shardError{selector, fmt.Sprintf("the list is that of the selector %q", cut(info.Selector))}
	}
	return nil
}
