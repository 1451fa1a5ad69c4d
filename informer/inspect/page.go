package inspect

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed explain.html
	explainHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// Parsed once, when the program starts: the file is embedded, so an error is found by
// every test.
var page = template.Must(template.New("page").Parse(pageHTML))

// explainPage shares the definitions of page.html.
var explainPage = template.Must(template.Must(page.Clone()).New("explain").Parse(explainHTML))

// contentSecurityPolicy permits the one stylesheet and the one script of the page, by
// their hashes, and requests to where the page is from.
//
// It is the second line of defence behind the escaping of html/template: even a name
// that got through as markup could load nothing and run nothing. Inline code with a
// hash is enough for one page, so that no second URL has to be mounted.
var contentSecurityPolicy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; img-src data:; "+
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'", hash(pageCSS), hash(pageJS))

// hash is how the policy names a text. The hash covers the bytes between the tags, so
// the template must add no white space there (CSP Level 3).
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// verdict says in a sentence how everything is: the worst problem, or that all is well.
// It is also the first line of the text form, and the title of the page begins with its
// severity.
func (r *report) verdict() problem {
	switch {
	case len(r.Informers)+len(r.Queues)+len(r.Replicas) == 0:
		return problem{Severity: severityNote, Sentence: "Nothing is shown yet.",
			Remedy: "Informers, factories, queues and replicas given to inspect.New or Handler.Add would be here."}
	case len(r.Problems) > 0:
		return r.Problems[0]
	}
	return problem{Severity: severityNone, Sentence: "All is well: " + r.summary() + "."}
}

// summary counts what is shown. It is used only when there is no problem, so "synced"
// is true of every informer: one that is not is a problem of its own.
func (r *report) summary() string {
	var parts []string
	if n := len(r.Informers); n > 0 {
		parts = append(parts, are(n, "informer")+" synced")
	}
	if n := len(r.Queues); n > 0 {
		queued := 0
		for i := range r.Queues {
			queued += r.Queues[i].Queued
		}
		parts = append(parts, fmt.Sprintf("%s queued in %s", are(queued, "item"), count(n, "queue")))
	}
	for i := range r.Replicas {
		parts = append(parts, "replica "+r.Replicas[i].title()+" "+r.Replicas[i].role())
	}
	return strings.Join(parts, "; ")
}

// view is what the page shows. The template has no logic beyond loops and conditions:
// everything it shows is computed here, in Go, where tests reach it.
type view struct {
	// html/template does not escape these two types. They may hold the embedded files only.
	CSS     template.CSS
	JS      template.JS
	Time    time.Time
	Verdict problem
	More    []problem // the others
	// page.js announces the verdict to screen readers when it changes, and not every
	// two seconds, when only a duration has.
	Key   string // changes when the kinds of problems do
	Cards []card
	Terms []term
}

// term is an explanation of a name.
type term struct{ Name, Text string }

// writePage writes r as HTML. The writer is memory, see ServeHTTP; an error is one of
// the template.
func writePage(w io.Writer, r *report) error {
	v := view{CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Time: r.Time, Verdict: r.verdict(), Cards: r.cards()} //nolint:gosec // our own files
	var key []string
	for i := range r.Problems {
		p := &r.Problems[i]
		key = append(key, string(p.Severity)+" "+p.Kind+" "+p.Part)
		// The verdict is the first problem, or a sentence that is none of them.
		if i > 0 || p.Sentence != v.Verdict.Sentence {
			v.More = append(v.More, *p)
		}
	}
	v.Key = strings.Join(key, "; ")
	for name, text := range explanations {
		v.Terms = append(v.Terms, term{name, text})
	}
	// Sorted, because a map has no order and the page is compared with the one before.
	slices.SortFunc(v.Terms, func(a, b term) int { return cmp.Compare(a.Name, b.Name) })
	return page.Execute(w, v)
}

// Card is the id of the card that the problem belongs to. A method, so that it is not a
// field of the JSON.
func (p problem) Card() string { return p.card }

// Word is the severity in the words of the page. Colour must not be the only sign (WCAG
// 1.4.1), so the badge has a word as well.
func (s severity) Word() string {
	switch s {
	case severityError:
		return "Error"
	case severityWarning:
		return "Warning"
	case severityNote:
		return "Note"
	}
	return "OK"
}
