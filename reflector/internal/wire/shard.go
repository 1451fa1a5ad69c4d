package wire

import (
	"context"
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
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
//
// is one half of a collection, and the same from the middle to 2^64 the other one.
//
// The check costs one hash of a short string per object, and finds the server's mistake
// with the first object of another shard.
type shard struct {
	namespace bool // the field is the namespace, not the UID
	ranges    []hashRange
}

// hashRange holds the hashes from first to last, both included.
//
// Both ends are included because 2^64, the end of the last range, does not fit into 64
// bits.
type hashRange struct{ first, last uint64 }

// parseShard parses shardRange(field, 'start', 'end'), or several of them joined
// by ||, as kube-apiserver does: start is in the range and end is not; both have
// 16 hexadecimal digits, or the end is 2^64.
func parseShard(selector string) (*shard, error) {
	out := &shard{}
	// A literal cannot contain "||", so the parts can be split off before they are
	// parsed.
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

// parseRange parses one shardRange(field, 'start', 'end'). Its errors name what is
// wrong with it, since a selector that the server would refuse is better refused when
// the source is made.
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

// twoTo64 is the end of the last range, which has one digit more than any hash.
const twoTo64 = "0x10000000000000000"

// isTwoTo64 reports whether a literal is 2^64, which parseHash returns as 0.
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

// holds reports whether an object belongs to the shard. It is called for each object of
// a list and each event, after the object was decoded.
func (s *shard) holds(obj metav1.Object) bool {
	value := string(obj.GetUID())
	if s.namespace {
		value = obj.GetNamespace()
	}
	// The hash is part of the protocol: server and client must compute the same.
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
//
// The server may write the selector in another form than it was sent, with other spaces
// or quotes, so the parsed forms are compared.
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

// ShardError is an answer of a server that ignores the shard selector.
type ShardError struct {
	selector string
	why      string
}

// Error names the feature gate, which is off by default in Kubernetes 1.36.
func (e *ShardError) Error() string {
	return fmt.Sprintf("the server ignores the shard selector %s: %s; is its feature gate ShardedListAndWatch on?", Cut(e.selector), e.why)
}

// checkObject returns an error for an object that is not in the shard.
func (s *shard) checkObject(selector string, obj metav1.Object) error {
	if s == nil || s.holds(obj) {
		return nil
	}
	return &ShardError{selector, "it sends objects of other shards"}
}

// checkList returns an error for a list that does not say that it is the shard.
// A server with the feature says so for the resources that are built in
// (required), and not for custom resources.
func (s *shard) checkList(selector string, info *metav1.ShardInfo, required bool) error {
	switch {
	case s == nil:
		return nil
	// A list without objects would pass checkObject, hence this check of the list
	// itself.
	case info == nil && required:
		return &ShardError{selector, "the list has no shardInfo"}
	case info == nil:
		return nil
	}
	if other, err := parseShard(info.Selector); err != nil || !s.equal(other) {
		return &ShardError{selector, fmt.Sprintf("the list is that of the selector %q", Cut(info.Selector))}
	}
	return nil
}

// anyShardKey is the key of what WithAnyShard notes.
type anyShardKey struct{}

// WithAnyShard returns a context under which a request may name a shard of its own. The
// answer is not compared with it: that is up to the caller.
func WithAnyShard(ctx context.Context) context.Context {
	return context.WithValue(ctx, anyShardKey{}, true)
}

// requestShard returns the shard selector to be sent: that of the source, or that of the
// request under WithAnyShard.
func (r *Resource[T]) requestShard(ctx context.Context, requested string) (string, error) {
	own := r.opts.ShardSelector
	if requested == "" || requested == own {
		return own, nil
	}
	if ctx.Value(anyShardKey{}) == nil {
		return "", fmt.Errorf("the request is for the shard %s, but the source is not; set ResourceOptions.ShardSelector", Cut(requested))
	}
	if own != "" {
		return "", fmt.Errorf("the request is for the shard %s, but ResourceOptions.ShardSelector is %s; leave it empty", Cut(requested), Cut(own))
	}
	return requested, nil
}
