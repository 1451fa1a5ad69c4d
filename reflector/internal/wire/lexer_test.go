package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// valuesByStdlib splits a stream of JSON values with encoding/json.
func valuesByStdlib(data []byte) (out []string, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		out = append(out, string(raw))
	}
}

func valuesByLexer(src io.Reader) (out []string, err error) {
	l := newLexer(src)
	for {
		raw, err := l.value()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(raw))
	}
}

// FuzzLexer compares the bounds of values with those that encoding/json finds.
func FuzzLexer(f *testing.F) {
	for _, s := range []string{
		`{"type":"ADDED","object":{"a":"\\\"}"}}` + "\n" + `{"b":[1,2,{"c":"]"}]}`,
		`1 2 "three" null true [] {}`, `"\\" "\\\\\"" `, "", " \n", `{"a":`, `"\`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantErr := valuesByStdlib(data)
		got, err := valuesByLexer(bytes.NewReader(data))
		// encoding/json takes "00" for two values. Streams of bare literals are
		// none of our business.
		bare := slices.ContainsFunc(want, func(v string) bool { return !strings.ContainsAny(v[:1], `{["`) })
		if wantErr == nil && !bare {
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		slow, slowErr := valuesByLexer(iotest.OneByteReader(bytes.NewReader(data)))
		require.Equal(t, got, slow, "the bounds do not depend on how the bytes arrive")
		require.Equal(t, err == nil, slowErr == nil)
	})
}

// FuzzSplitFrame compares the fields of a watch event with those that
// encoding/json finds.
func FuzzSplitFrame(f *testing.F) {
	for _, s := range []string{
		`{"type":"ADDED","object":{"a":1}}`, `{"object":{"a":1},"type":"ADDED"}`,
		`{"type":"ADDED","object":{"a":1},"more":{}}`, `{"type":"ADDED","object":{"a":"}"} }`, `{"type":"A","object":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		typ, object, err := splitFrame(data)
		var want struct {
			Type   string
			Object json.RawMessage
		}
		if json.Unmarshal(data, &want) != nil || want.Type == "" || ambiguous(data, "type", "object") {
			return // anything goes but a panic
		}
		require.NoError(t, err)
		require.Equal(t, want.Type, string(typ))
		require.Equal(t, string(want.Object), string(object))
		if typ, object, ok := cutFrame(data); ok && json.Valid(object) {
			require.Equal(t, want.Type, string(typ))
			require.JSONEq(t, string(want.Object), string(object))
		}
	})
}

// ambiguous reports whether data may use field names in other cases, escaped, or
// twice, of which encoding/json has its own opinion.
func ambiguous(data []byte, names ...string) bool {
	lower := strings.ToLower(string(data))
	for _, name := range names {
		if n := strings.Count(lower, name); n > 1 || n != strings.Count(string(data), `"`+name+`"`) {
			return true
		}
	}
	return bytes.ContainsAny(data, `\ſK`)
}

func TestLexerCopesWithValuesLargerThanItsBuffer(t *testing.T) {
	t.Parallel()
	long := `{"s":"` + strings.Repeat(`x\"`, 100_000) + `"}`
	got, err := valuesByLexer(iotest.HalfReader(strings.NewReader(long + long)))
	require.NoError(t, err)
	require.Equal(t, []string{long, long}, got)
}

func TestLexerRefusesValuesThatCannotBeObjects(t *testing.T) {
	t.Parallel()
	_, err := valuesByLexer(io.MultiReader(strings.NewReader(`"`), endless{}))
	require.ErrorIs(t, err, errTooLarge)
}

// endless never stops.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLexerGivesUpOnAReaderWithoutProgress(t *testing.T) {
	t.Parallel()
	_, err := valuesByLexer(iotest.ErrReader(nil))
	require.ErrorIs(t, err, io.ErrNoProgress)
}
