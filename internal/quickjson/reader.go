package quickjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of values. The other decoder goes deeper.
const maxDepth = 500

const (
	cachedStrings = 256
	// maxCached is the longest string in bytes that is kept: longer ones tend to
	// be different in each object.
	maxCached = 64
)

// reader goes through the data. Its methods report whether they have found what
// they are for; if not, the position has no meaning any more.
type reader struct {
	data    []byte
	pos     int
	depth   int
	strings [cachedStrings]string
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) atEnd() bool { return r.peek() == 0 && r.pos == len(r.data) }

// literal consumes null, true or false.
func (r *reader) literal(s string) bool {
	if len(r.data)-r.pos < len(s) || string(r.data[r.pos:r.pos+len(s)]) != s {
		return false
	}
	r.pos += len(s)
	return true
}

// open consumes the bracket that begins an object or array, and the other one if
// there is nothing between them.
func (r *reader) open(first, last byte) (empty, ok bool) {
	if r.peek() != first {
		return false, false
	}
	r.pos++
	if r.peek() == last {
		r.pos++
		return true, true
	}
	r.depth++
	return false, r.depth <= maxDepth
}

// more consumes the comma before another member, or the bracket at the end.
func (r *reader) more(last byte) (more, ok bool) {
	switch c := r.peek(); c {
	case ',':
		r.pos++
		return true, true
	case last:
		r.pos++
		r.depth--
		return false, true
	}
	return false, false
}

// key consumes the name of a field and the colon.
func (r *reader) key() (name []byte, ok bool) {
	if r.peek() != '"' {
		return nil, false
	}
	start := r.pos + 1
	end := r.plain(start)
	if end == len(r.data) || r.data[end] != '"' {
		return nil, false
	}
	r.pos = end + 1
	if r.peek() != ':' {
		return nil, false
	}
	r.pos++
	return r.data[start:end], true
}

// str consumes a string.
func (r *reader) str() (s string, ok bool) {
	if r.peek() != '"' {
		return "", false
	}
	start := r.pos + 1
	end := r.plain(start)
	if end < len(r.data) && r.data[end] == '"' {
		r.pos = end + 1
		return r.cached(r.data[start:end]), true
	}
	return r.oddString()
}

// oddString consumes a string with escapes or characters beyond ASCII.
func (r *reader) oddString() (string, bool) {
	start := r.pos
	if !r.skipString() {
		return "", false
	}
	var s string
	err := json.Unmarshal(r.data[start:r.pos], &s)
	return s, err == nil
}

// plain returns the position of the first byte at i or behind it that is not
// simply a character of a string: the quote, a backslash, a control character or
// a part of a longer character.
func (r *reader) plain(i int) int {
	const ones = 0x0101010101010101
	for ; len(r.data)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(r.data[i:])
		// The lowest high bit that is set marks the first such byte; those above
		// it may be wrong, because of the borrows.
		if odd := (x | (x - ' '*ones) | (x ^ '"'*ones - ones) | (x ^ '\\'*ones - ones)) & (0x80 * ones); odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for ; i < len(r.data); i++ {
		if c := r.data[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			break
		}
	}
	return i
}

var seed = maphash.MakeSeed()

// cached returns b as a string, which others may have as well.
func (r *reader) cached(b []byte) string {
	if len(b) == 0 || len(b) > maxCached {
		return string(b)
	}
	s := &r.strings[maphash.Bytes(seed, b)%cachedStrings]
	if *s != string(b) {
		*s = string(b)
	}
	return *s
}

// number consumes a number, and reports whether it is written as an integer.
func (r *reader) number() (digits []byte, integer, ok bool) {
	r.peek()
	start := r.pos
	accept := func(c byte) bool {
		if r.pos < len(r.data) && r.data[r.pos] == c {
			r.pos++
			return true
		}
		return false
	}
	some := func() bool {
		begin := r.pos
		for r.pos < len(r.data) && r.data[r.pos]-'0' <= 9 {
			r.pos++
		}
		return r.pos > begin
	}
	accept('-')
	if !accept('0') && !some() {
		return nil, false, false
	}
	integer = true
	if accept('.') {
		if integer = false; !some() {
			return nil, false, false
		}
	}
	if accept('e') || accept('E') {
		if integer = false; !accept('+') {
			accept('-')
		}
		if !some() {
			return nil, false, false
		}
	}
	return r.data[start:r.pos], integer, true
}

// skip consumes any value and returns its bytes.
func (r *reader) skip() (raw []byte, ok bool) {
	c := r.peek()
	start := r.pos
	switch c {
	case '{', '[':
		ok = r.skipMembers(c, c+2) // the brackets are two apart
	case '"':
		ok = r.skipString()
	case 'n':
		ok = r.literal("null")
	case 't':
		ok = r.literal("true")
	case 'f':
		ok = r.literal("false")
	default:
		_, _, ok = r.number()
	}
	return r.data[start:r.pos], ok
}

func (r *reader) skipMembers(first, last byte) bool {
	empty, ok := r.open(first, last)
	for more := ok && !empty; more; {
		if first == '{' {
			if r.peek() != '"' || !r.skipString() || r.peek() != ':' {
				return false
			}
			r.pos++
		}
		if _, ok := r.skip(); !ok {
			return false
		}
		if more, ok = r.more(last); !ok {
			return false
		}
	}
	return ok
}

// skipString consumes a string at whose quote the reader is.
func (r *reader) skipString() bool {
	for i := r.pos + 1; ; {
		i = r.plain(i)
		if i == len(r.data) {
			return false
		}
		switch c := r.data[i]; {
		case c == '"':
			r.pos = i + 1
			return true
		case c >= 0x80:
			i++
		case c != '\\' || i+1 == len(r.data):
			return false
		case r.data[i+1] == 'u':
			if len(r.data)-i < 6 {
				return false
			}
			for _, h := range r.data[i+2 : i+6] {
				if !strings.ContainsRune("0123456789abcdefABCDEF", rune(h)) {
					return false
				}
			}
			i += 6
		case strings.IndexByte(`"\/bfnrt`, r.data[i+1]) < 0:
			return false
		default:
			i += 2
		}
	}
}

// value consumes any value and makes of it what an empty interface gets.
func (r *reader) value() (v any, ok bool) {
	switch r.peek() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.str()
	case 'n':
		return nil, r.literal("null")
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	}
	digits, _, ok := r.number()
	if !ok {
		return nil, false
	}
	if bytes.IndexByte(digits, '.') < 0 {
		if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(string(digits), 64)
	return f, err == nil
}

func (r *reader) object() (map[string]any, bool) {
	m := map[string]any{}
	empty, ok := r.open('{', '}')
	for more := ok && !empty; more; {
		k, found := r.str()
		if !found || r.peek() != ':' {
			return nil, false
		}
		r.pos++
		v, found := r.value()
		if !found {
			return nil, false
		}
		m[k] = v
		if more, ok = r.more('}'); !ok {
			return nil, false
		}
	}
	return m, ok
}

func (r *reader) array() ([]any, bool) {
	a := []any{}
	empty, ok := r.open('[', ']')
	for more := ok && !empty; more; {
		v, found := r.value()
		if !found {
			return nil, false
		}
		a = append(a, v)
		if more, ok = r.more(']'); !ok {
			return nil, false
		}
	}
	return a, ok
}
