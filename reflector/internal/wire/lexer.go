package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// defaultMaxObject bounds the size in bytes of one object on the wire, unless
// [Options] says otherwise. etcd refuses objects above 1.5 MiB by
// default, so whatever exceeds this is hardly an object of an API server, and a
// decoded object can take 80 times the memory of its bytes.
const defaultMaxObject = 8 << 20

// errTooLarge ends a list or stream: the bytes behind the object have not been read.
var errTooLarge = errors.New("the answer holds an object that is too large")

// tooLarge is the error for an object of more bytes than limit. In JSON it cannot be
// skipped as one bad object: the end of the value is not known before it was read.
func tooLarge(limit int) error {
	return fmt.Errorf("%w: more than %d bytes; ResourceOptions.MaxObjectSize sets the limit", errTooLarge, limit)
}

// lexer finds the bounds of JSON values in a stream without decoding them, so
// that a list or a watch is decoded value by value, and each value only once.
// It checks no more than it needs for that; decoding a value finds what
// is wrong inside it.
//
//	buf  ……………│ {"a": [1, 2, {"b": … │ … }]} , {"a": ……… │      │
//	           keep                   pos                 len    cap
//	     gone  │ of the value so far  │ read, not consumed│ room │
//
// A value is handed over as buf[keep:pos], without a copy. So the buffer holds one
// value and what came with it in the same Read, and grows only for a value that is
// larger than all before.
type lexer struct {
	// src is nil for a value in memory; err is set from the start then, and fill never
	// reads.
	src  io.Reader
	buf  []byte // buf[pos:] is read and not consumed
	pos  int
	keep int // fill preserves buf[keep:], keep <= pos
	err  error

	// limit also ends an answer that is no JSON at all but a string without an end, for
	// example.
	limit int  // bytes of one value; 0: it is in memory
	deep  bool // the last value is nested more than maxDepth deep
}

// newLexer returns a lexer of a stream. Its buffer grows up to the size of the largest
// value.
func newLexer(src io.Reader) *lexer {
	return &lexer{src: src, buf: make([]byte, 0, 16<<10), limit: defaultMaxObject}
}

// lexBytes returns a lexer of a value that is in memory. It never writes to b, and its
// values are slices of b.
func lexBytes(b []byte) *lexer { return &lexer{buf: b, err: io.EOF} }

// fill reads more behind buf, moving buf[keep:] to the front first.
func (l *lexer) fill() error {
	if l.err != nil {
		return l.err
	}
	// All offsets into buf change here. Callers therefore hold positions relative to
	// keep, and no slices, across a call of fill.
	if l.keep > 0 {
		n := copy(l.buf, l.buf[l.keep:])
		l.buf, l.pos, l.keep = l.buf[:n], l.pos-l.keep, 0
	}
	// The kept bytes fill the buffer: one value is larger than it. Doubling keeps the
	// copying proportional to the size of the value.
	if len(l.buf) == cap(l.buf) {
		if len(l.buf) >= l.limit {
			return tooLarge(l.limit)
		}
		l.buf = append(make([]byte, 0, min(2*cap(l.buf), l.limit)), l.buf...)
	}
	// io.Reader discourages, but allows, returning 0 bytes without an error.
	// bufio.Reader also stops after 100 of those.
	for range 100 {
		n, err := l.src.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		if err != nil {
			// Kept for the next call: a Read may return bytes and the error together,
			// and the bytes come first.
			l.err = err
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// peek skips white space and returns the next byte without consuming it. It
// returns io.EOF at the end of the stream.
func (l *lexer) peek() (byte, error) {
	for blank := 0; ; {
		for ; l.pos < len(l.buf); l.pos++ {
			switch c := l.buf[l.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c, nil
			}
		}
		// White space has no other bound: it belongs to no value, so limit does not
		// count it.
		if blank += l.pos - l.keep; blank > maxEnvelope {
			return 0, errEnvelope
		}
		l.keep = l.pos
		if err := l.fill(); err != nil {
			return 0, err
		}
	}
}

// expect consumes the byte c. White space before it is skipped, as JSON permits it
// between any two tokens (RFC 8259, section 2).
func (l *lexer) expect(c byte) error {
	got, err := l.peek()
	if err != nil {
		return midValue(err)
	}
	// One byte of what a server sent may be quoted; more could be part of a Secret.
	if got != c {
		return fmt.Errorf("invalid JSON: %q instead of %q", got, c)
	}
	l.pos++
	return nil
}

// value consumes the next value and returns its bytes, which are valid until
// the next call. It returns io.EOF if there is none.
func (l *lexer) value() ([]byte, error) {
	c, err := l.peek()
	if err != nil {
		return nil, err
	}
	l.keep = l.pos
	// Of this value only: the caller looks at it before the next one.
	l.deep = false
	switch c {
	case '{', '[':
		err = l.compound()
	case '"':
		l.pos++
		err = l.str()
	case '}', ']', ',', ':':
		return nil, fmt.Errorf("invalid JSON: %q instead of a value", c)
	default:
		err = l.literal()
	}
	if err != nil {
		return nil, midValue(err)
	}
	// The caller must be done with the bytes before the next call, which may move them.
	v := l.buf[l.keep:l.pos]
	l.keep = l.pos
	if l.limit > 0 && len(v) > l.limit { // smaller than the first buffer
		return nil, tooLarge(l.limit)
	}
	return v, nil
}

// compound consumes an object or array, the opening bracket included.
//
// Only brackets and strings matter. It does not check that an opening { is closed by }:
// the decoder of the value does, and reports the object that is wrong. It does not
// recurse, so the depth of a hostile value costs no stack.
func (l *lexer) compound() error {
	for depth := 0; ; {
		for l.pos < len(l.buf) {
			c := l.buf[l.pos]
			l.pos++
			switch c {
			case '"':
				if err := l.str(); err != nil {
					return err
				}
			case '{', '[':
				// The value is still consumed to its end, so that the next object can be
				// read.
				if depth++; depth > maxDepth {
					l.deep = true
				}
			case '}', ']':
				if depth--; depth == 0 {
					return nil
				}
			}
		}
		if err := l.fill(); err != nil {
			return err
		}
	}
}

// str consumes the rest of a string whose opening quote is consumed. What is between
// the quotes is not checked; the decoder of the value does that.
func (l *lexer) str() error {
	start := l.pos - l.keep // relative, because fill moves the bytes
	for {
		// Strings are a large part of an object, and IndexByte looks at many of them at
		// a time.
		i := bytes.IndexByte(l.buf[l.pos:], '"')
		if i < 0 {
			l.pos = len(l.buf)
			if err := l.fill(); err != nil {
				return err
			}
			continue
		}
		l.pos += i + 1
		// The quote is part of the string if an odd number of backslashes
		// precedes it.
		n := 0
		for j := l.pos - 2; j >= l.keep+start && l.buf[j] == '\\'; j-- {
			n++
		}
		if n%2 == 0 {
			return nil
		}
	}
}

// literal consumes a number, true, false or null (or garbage of that shape). At the end
// of the stream it is complete as well: a bare number is a JSON text.
func (l *lexer) literal() error {
	for {
		for ; l.pos < len(l.buf); l.pos++ {
			switch l.buf[l.pos] {
			case ' ', '\t', '\n', '\r', ',', ':', '{', '}', '[', ']', '"':
				// A literal has no end mark of its own; whatever cannot be part of one
				// ends it.
				return nil
			}
		}
		if err := l.fill(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// fields consumes an object and calls fn for every field, with the value not yet
// consumed. fn must consume exactly the value. Names are not remembered, so a name that
// comes twice is up to fn.
func (l *lexer) fields(fn func(name string) error) error {
	if err := l.expect('{'); err != nil {
		return err
	}
	if c, err := l.peek(); err != nil {
		return midValue(err)
	} else if c == '}' {
		l.pos++
		return nil
	}
	for {
		if c, err := l.peek(); err != nil {
			return midValue(err)
		} else if c != '"' {
			return fmt.Errorf("invalid JSON: %q instead of a field name", c)
		}
		raw, err := l.value()
		if err != nil {
			return err
		}
		var name string
		// Unmarshal, because a name may contain escapes: "\u006detadata" must not pass
		// for an unknown field while a decoder takes it for another.
		if err := json.Unmarshal(raw, &name); err != nil {
			return fmt.Errorf("invalid JSON: %w", quoteless(err))
		}
		if err := l.expect(':'); err != nil {
			return err
		}
		if err := fn(name); err != nil {
			return midValue(err)
		}
		if more, err := l.more('}'); err != nil || !more {
			return err
		}
	}
}

// elements consumes an array and calls fn for every element, with its bytes. A
// null counts as an empty array.
func (l *lexer) elements(fn func(raw []byte) error) error {
	// Go encodes a nil slice as null, and an empty list of some servers is one.
	if c, err := l.peek(); err != nil {
		return midValue(err)
	} else if c == 'n' {
		raw, err := l.value()
		if err == nil && string(raw) != "null" {
			err = errors.New("invalid JSON: a literal instead of an array")
		}
		return err
	}
	if err := l.expect('['); err != nil {
		return err
	}
	if c, err := l.peek(); err != nil {
		return midValue(err)
	} else if c == ']' {
		l.pos++
		return nil
	}
	for {
		raw, err := l.value()
		if err != nil {
			return midValue(err)
		}
		if err := fn(raw); err != nil {
			return err
		}
		if more, err := l.more(']'); err != nil || !more {
			return err
		}
	}
}

// more consumes the comma that announces another member, or the end bracket. It reports
// whether another member follows. A comma before the end bracket is found by the next
// call, which gets a bracket where a value must be.
func (l *lexer) more(end byte) (bool, error) {
	c, err := l.peek()
	switch {
	case err != nil:
		return false, midValue(err)
	// A missing comma is an error here, as two values that are joined would otherwise
	// be taken for two elements.
	case c != ',' && c != end:
		return false, fmt.Errorf("invalid JSON: %q instead of ',' or %q", c, end)
	}
	l.pos++
	return c == ',', nil
}

// midValue is the error for a stream that ends where it must not.
func midValue(err error) error {
	if err == io.EOF { //nolint:errorlint // io.Reader promises the bare value
		return io.ErrUnexpectedEOF
	}
	return err
}
