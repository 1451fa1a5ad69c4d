package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// format is a form that an answer can have. All are made of one report, so they agree.
type format struct {
	contentType string
	write       func(io.Writer, *report) error
	explain     func(io.Writer, *explanation) error
}

var (
	formatHTML = format{"text/html; charset=utf-8", writePage, writeExplainPage}
	formatText = format{"text/plain; charset=utf-8", writeText, writeExplainText}
	formatJSON = format{"application/json", func(w io.Writer, r *report) error { return writeJSON(w, r) }, func(w io.Writer, e *explanation) error { return writeJSON(w, e) }}
)

// formats are those of the parameter format, by its values.
var formats = map[string]format{"html": formatHTML, "text": formatText, "json": formatJSON}

// request is what a request asks for.
type request struct {
	format  format
	explain bool   // one key
	key     string // its text
}

// parse returns what a request asks for. The error is for the one who asks. Parameters
// that are unknown are refused rather than ignored: "?fromat=json" would otherwise answer
// with text, and the script that asked fails somewhere else.
func parse(r *http.Request) (asked request, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return asked, fmt.Errorf("the query cannot be read: %w", err)
	}
	for name, values := range query {
		switch {
		case name != "format" && name != "key":
			return asked, fmt.Errorf("unknown parameter %q; there are format, which is html, text or json, and key, such as default/web", name)
		// net/url keeps all values. Taking the first would be a guess.
		case len(values) > 1:
			return asked, fmt.Errorf("%s is given %d times; give it once", name, len(values))
		}
	}
	if asked.explain = query.Has("key"); asked.explain {
		// A person who pastes a key may paste a space with it. No key has one at its ends.
		asked.key = strings.TrimSpace(query.Get("key"))
		switch {
		case asked.key == "":
			return asked, errors.New("the key is empty; give one such as default/web, or node-1 for what is in no namespace")
		case len(asked.key) > maxKey:
			return asked, fmt.Errorf("the key has %d bytes; at most %d are looked up", len(asked.key), maxKey)
		case !utf8.ValidString(asked.key):
			return asked, errors.New("the key is not valid UTF-8")
		}
	}
	asked.format, err = formatOf(r, query)
	return asked, err
}

// formatOf returns the format of an answer: what the query says, else what the header
// Accept prefers, else text.
func formatOf(r *http.Request, query url.Values) (format, error) {
	if !query.Has("format") {
		// The query wins over the header: it is what a person can change in the address
		// bar.
		return accepted(r.Header.Values("Accept")), nil
	}
	f, ok := formats[query.Get("format")]
	if !ok {
		return format{}, fmt.Errorf("unknown format %q; use html, text or json", query.Get("format"))
	}
	return f, nil
}

// accepted returns the first format that an Accept header names. Browsers name text/html first. A client
// that names none, as curl does, gets text; wildcards such as */* name none.
func accepted(accept []string) format {
	byType := map[string]format{"text/html": formatHTML, "text/plain": formatText, "application/json": formatJSON}
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaType, _, _ := strings.Cut(part, ";")
		if f, ok := byType[strings.ToLower(strings.TrimSpace(mediaType))]; ok {
			return f
		}
	}
	return formatText
}

// writeJSON writes JSON that a terminal can show. The encoder escapes only some
// control characters; all others are within strings, too.
func writeJSON(w io.Writer, r any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	// Names come from the cluster. One with an escape sequence in it must not take over
	// the terminal in which curl runs.
	var safe bytes.Buffer
	for _, c := range text.String() {
		switch {
		// The line ends between the members are the encoder's own. Those within strings
		// are escaped by it already.
		case c == '\n' || unicode.IsPrint(c):
			safe.WriteRune(c)
		case c > 0xffff:
			// JSON escapes are UTF-16: beyond its first plane, two are needed.
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, c)
		}
	}
	_, err := safe.WriteTo(w)
	return err
}

// size prints bytes as people read them. In powers of 1000, as the letters k and M
// mean. Small sizes are shown to the byte, where a rounded kilobyte would say little.
func size(bytes int) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
