package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, got string
		matches      bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"…":"…"}`, `{"a":1,"b":2}`, true},
		{`{"a":1,"…":"…"}`, `{"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[2,"…"]`, `[1,2]`, true},
		{`["…"]`, `[]`, false},
		{`["a…"]`, `["ab","b"]`, false},
		{`"a…c"`, `"abc"`, true},
		{`"a…c"`, `"abcd"`, false},
		{`"a…"`, `"b"`, false},
		{`"…b…"`, `"abc"`, true},
		{`"ab…bc"`, `"abc"`, false},
		{`"$NS"`, `"$NS"`, true},
		{`["$rv1","$rv2","$rv1"]`, `["3","4","3"]`, true},
		{`["$rv1","$rv2"]`, `["4","3"]`, false},
		{`["$rv1","$rv2"]`, `["3","3"]`, false},
		{`["$rv1","$list1"]`, `["3","3"]`, true},
		{`["$rv1","$list1"]`, `["3","2"]`, false},
		{`["$uid1","$uid2"]`, `["a","a"]`, false},
		{`["$uid1","of $uid1"]`, `["a","of a"]`, true},
		{`"$value1"`, `""`, false},
		{`"$time1"`, `"2001-01-01T00:00:00Z"`, false},
		{`["$port1","$port1"]`, `[3,3]`, true},
	} {
		differences := newSymbols("$NS").match("", decodeBody([]byte(c.pattern)), decodeBody([]byte(c.got)))
		assert.Equal(t, c.matches, len(differences) == 0, "%s %s: %v", c.pattern, c.got, differences)
	}
}

func TestAnObjectHasOneContentAtAVersion(t *testing.T) {
	s := newSymbols("")
	object := func(data string) any {
		return decodeBody([]byte(`{"data":"` + data + `","metadata":{"uid":"a","resourceVersion":"1"}}`))
	}
	require.NoError(t, s.unchanged(object("v")))
	require.NoError(t, s.unchanged(object("v")))
	assert.Error(t, s.unchanged(object("w")))
}

func TestScriptsAreParsed(t *testing.T) {
	all, err := parse("## t\nPOST:yaml /a\nAccept: b\nc: d\ne: f\n= 201 text/plain\n! w\n{}\n\nGET /a\nquoted \"\\x00\"\n")
	require.NoError(t, err)
	assert.Equal(t, []*scenario{{title: "t", steps: []*step{
		{line: "POST:yaml /a", headers: []string{"Accept: b"}, body: "c: d\ne: f", answer: &answer{head: "201 text/plain", warnings: []string{"w"}, body: "{}"}},
		{line: "GET /a", body: "\x00"},
	}}}, all)
	for _, wrong := range []string{"GET /a\n", "## t\nGET /a\n= 200\n{\n", "## t\nGET /a\nquoted x\n"} {
		_, err := parse(wrong)
		assert.Error(t, err, wrong)
	}
}
