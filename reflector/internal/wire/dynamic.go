package wire

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
	"unique"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// What becomes an unstructured object is decoded here, in one pass, because the JSON
// package makes two and a separate string for each name of a field: 340 allocations for an
// object of 2.6 KB, whose names are those of all objects of its kind. Whatever is not
// plainly an object is left to the JSON package, and so are its errors. The results are
// the same to the last bit; FuzzDynamic compares them.

// unmarshalDynamic decodes an object, as [unmarshalJSON] would.
func unmarshalDynamic(raw []byte) (map[string]any, error) {
	p := dynamicParsers.Get().(*dynamicParser) //nolint:forcetypeassert // by New
	m, ok := p.parse(raw)
	dynamicParsers.Put(p)
	if ok {
		return m, nil
	}
	m = nil
	err := unmarshalJSON(&m, raw)
	return m, err
}

// dynamicParsers are used by all collections: there are about as many as cores, and
// objects of all kinds have metadata.
var dynamicParsers = sync.Pool{New: func() any { return &dynamicParser{seed: maphash.MakeSeed()} }}

// dynamicParser turns the bytes of a JSON object into maps and slices.
//
// The members of an object or array are collected on a stack first: when it ends, their
// number is known, and the map or slice is made in its size.
//
//	{"a": 1, "b": [x, y        stack │ a: 1 │ b: … │ x │ y │
//	                                 └ of the object ┘└ of the array
type dynamicParser struct {
	raw   []byte
	pos   int
	stack []member

	// The strings that were seen last, each near where its hash says. A string takes the
	// place of another, so that their number is bounded.
	seed    maphash.Seed
	recents recents
	// The names of fields, in a table of their own: they come back in each object, and
	// values, many of which never do, must not take their places.
	names recents
}

// member is a field of an object, or an element of an array, which has no name.
type member struct {
	name  string
	value any
}

const (
	recentStrings = 1 << 10
	// maxRecent is the length up to which a string is worth a look: longer ones are rarely
	// equal.
	maxRecent = 64
)

// recents are strings that were seen lately.
type recents [recentStrings]recentString

// recentString is a string, and the same in an interface, which is an allocation of its own.
// For a name that is what keeps its memory the one that unique knows.
type recentString struct {
	value string
	boxed any
}

// parse returns false if raw is not the text of an object, or if there is any doubt.
func (p *dynamicParser) parse(raw []byte) (m map[string]any, ok bool) {
	p.raw, p.pos = raw, 0
	if p.next() == '{' {
		m, ok = p.object(1)
		ok = ok && p.next() == 0 && p.pos == len(raw)
	}
	// Also after a failure: the parser must not keep objects alive.
	clear(p.stack[:cap(p.stack)])
	p.raw, p.stack = nil, p.stack[:0]
	return m, ok
}

// next skips white space and returns the byte behind it, which is not consumed, or 0.
func (p *dynamicParser) next() byte {
	for ; p.pos < len(p.raw); p.pos++ {
		switch c := p.raw[p.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// object consumes an object, whose opening brace is next.
func (p *dynamicParser) object(depth int) (map[string]any, bool) {
	start := len(p.stack)
	p.pos++
	for c := p.next(); c != '}'; {
		f, ok := p.field(depth)
		if !ok {
			return nil, false
		}
		p.stack = append(p.stack, f)
		if c, ok = p.more('}'); !ok {
			return nil, false
		}
	}
	p.pos++
	m := make(map[string]any, len(p.stack)-start)
	for _, f := range p.stack[start:] {
		m[f.name] = f.value // of a name that comes twice the last one counts
	}
	p.stack = p.stack[:start]
	return m, true
}

// field consumes a field of an object.
func (p *dynamicParser) field(depth int) (f member, ok bool) {
	name, ok := p.text(&p.names)
	if !ok || p.next() != ':' {
		return f, false
	}
	p.pos++
	f.name = name.value
	f.value, ok = p.value(depth)
	return f, ok
}

// array consumes an array, whose opening bracket is next.
func (p *dynamicParser) array(depth int) ([]any, bool) {
	start := len(p.stack)
	p.pos++
	for c := p.next(); c != ']'; {
		value, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		p.stack = append(p.stack, member{value: value})
		if c, ok = p.more(']'); !ok {
			return nil, false
		}
	}
	p.pos++
	all := make([]any, len(p.stack)-start)
	for i, e := range p.stack[start:] {
		all[i] = e.value
	}
	p.stack = p.stack[:start]
	return all, true
}

// more consumes the comma between two members, and returns the byte after it; or it
// returns the end bracket. ok is false for anything else, such as a comma and then the end.
func (p *dynamicParser) more(end byte) (c byte, ok bool) {
	switch c = p.next(); c {
	case end:
		return end, true
	case ',':
		p.pos++
		c = p.next()
		return c, c != end
	default:
		return c, false
	}
}

// value consumes any value. depth is that of what it is in.
func (p *dynamicParser) value(depth int) (any, bool) {
	switch c := p.next(); c {
	case '{', '[':
		if depth >= maxDepth {
			return nil, false
		}
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case '"':
		s, ok := p.text(&p.recents)
		if ok && s.boxed == nil {
			s.boxed = s.value
		}
		return s.boxed, ok
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	default:
		return p.number()
	}
}

// literal consumes exactly this text.
func (p *dynamicParser) literal(text string) bool {
	ok := bytes.HasPrefix(p.raw[p.pos:], []byte(text))
	p.pos += len(text)
	return ok
}

// number consumes a number: an integer is an int64 if it fits, anything else a float64.
func (p *dynamicParser) number() (any, bool) {
	start := p.pos
	p.skip("-")
	first := p.pos
	// No other digit follows a leading zero.
	if !p.skip("0") && !p.digits() {
		return nil, false
	}
	whole := p.pos
	if p.skip(".") && !p.digits() {
		return nil, false
	}
	if p.skip("eE") {
		p.skip("+-")
		if !p.digits() {
			return nil, false
		}
	}
	const certain = 18 // so many digits fit into an int64
	if p.pos == whole && whole-first <= certain {
		n := int64(0)
		for _, c := range p.raw[first:whole] {
			n = 10*n + int64(c-'0')
		}
		if first > start {
			n = -n
		}
		return n, true
	}
	text := string(p.raw[start:p.pos])
	if p.pos == whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// digits consumes at least one digit.
func (p *dynamicParser) digits() bool {
	first := p.pos
	for p.pos < len(p.raw) && p.raw[p.pos] >= '0' && p.raw[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > first
}

// skip consumes the next byte if it is one of these.
func (p *dynamicParser) skip(these string) bool {
	ok := p.pos < len(p.raw) && strings.IndexByte(these, p.raw[p.pos]) >= 0
	if ok {
		p.pos++
	}
	return ok
}

// text consumes a string. One of those that were seen lately is not made again; boxed is nil
// for others.
func (p *dynamicParser) text(seen *recents) (s recentString, ok bool) {
	quoted, plain, ok := p.quoted()
	switch {
	case !ok:
		return s, false
	case plain:
		return p.recent(seen, quoted[1:len(quoted)-1]), true
	default:
		return unquoted(quoted)
	}
}

// quoted consumes a string and returns it with its quotes. plain is whether the bytes
// between them are those of the string.
func (p *dynamicParser) quoted() (quoted []byte, plain, ok bool) {
	if p.next() != '"' {
		return nil, false, false
	}
	raw, start := p.raw, p.pos
	plain = true
	for i := start + 1; i < len(raw); i++ {
		c := raw[i]
		if ordinary[c] {
			continue
		}
		switch {
		case c == '"':
			p.pos = i + 1
			b := raw[start+1 : i]
			return raw[start:p.pos], plain || bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b), true
		case c == '\\':
			i++ // whatever is escaped is not the end
			plain = false
		case c < ' ':
			return nil, false, false
		default:
			plain = false
		}
	}
	return nil, false, false
}

// ordinary are the bytes of a string that are nothing but themselves.
var ordinary = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// unquoted returns a string with escapes, or with bytes that are no UTF-8. It has its own
// variable for what escapes to the heap here.
func unquoted(raw []byte) (recentString, bool) {
	var value string
	err := k8sjson.Unmarshal(raw, &value)
	return recentString{value: value}, err == nil
}

// recent returns b as a string. A string has two places where it may be, so that two that
// come by turns do not take each other's.
func (p *dynamicParser) recent(seen *recents, b []byte) recentString {
	if len(b) > maxRecent {
		return recentString{value: string(b)}
	}
	at := maphash.Bytes(p.seed, b) % recentStrings
	first, second := &seen[at], &seen[at^1]
	switch {
	case first.boxed != nil && first.value == string(b):
		return *first
	case second.boxed != nil && second.value == string(b):
		return *second
	}
	*second = *first // the older of the two is forgotten
	if seen == &p.names {
		// In the memory that all parsers use, and package intern for the fields it knows.
		name := unique.Make(string(b))
		first.value, first.boxed = name.Value(), name
		return *first
	}
	first.value = string(b)
	first.boxed = first.value
	return *first
}
