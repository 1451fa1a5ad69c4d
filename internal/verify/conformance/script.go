package conformance

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed testdata
var scripts embed.FS

// script is one file of scenarios.
type script struct {
	name      string
	scenarios []*scenario
}

// scenario is a sequence of steps in a separate namespace.
type scenario struct {
	title string
	steps []*step
}

// step is one request, or one event of a watch, with the recorded answer.
type step struct {
	line    string   // "METHOD path", "WATCH name path", "EVENT name", "END name", "COMPACT" or "WAIT duration"
	headers []string // "Name: value"
	body    string
	answer  *answer // nil if there is none
}

// answer is a response, an event, or the end of a watch.
type answer struct {
	head     string   // the code, with the media type if that names a view ("as="); or the type of the event
	warnings []string // sorted
	body     string   // JSON; empty if it is not compared
}

// readScripts reads all files in the order of their names.
func readScripts() ([]script, error) {
	names, err := fs.Glob(scripts, "testdata/*.requests")
	if err != nil {
		return nil, err
	}
	var all []script
	for _, name := range names {
		content, err := scripts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		scenarios, err := parse(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, script{strings.TrimSuffix(path.Base(name), ".requests"), scenarios})
	}
	return all, nil
}

// parse reads the format that doc.go describes.
func parse(content string) ([]*scenario, error) {
	var all []*scenario
	var current *step // nil between steps
	for number, line := range strings.Split(content, "\n") {
		switch {
		case line == "":
			current = nil
		case current == nil && strings.HasPrefix(line, "# "):
		case current == nil && strings.HasPrefix(line, "## "):
			all = append(all, &scenario{title: line[3:]})
		case len(all) == 0:
			return nil, fmt.Errorf("line %d: a step before the first scenario", number+1)
		case current == nil:
			current = &step{line: line}
			s := all[len(all)-1]
			s.steps = append(s.steps, current)
		case strings.HasPrefix(line, "= "):
			current.answer = &answer{head: line[2:]}
		case current.answer == nil && current.body == "" && isHeader(line):
			current.headers = append(current.headers, line)
		case current.answer == nil:
			current.body = strings.TrimPrefix(current.body+"\n"+line, "\n")
		case strings.HasPrefix(line, "! "):
			current.answer.warnings = append(current.answer.warnings, line[2:])
		default:
			current.answer.body += line
		}
	}
	for _, s := range all {
		for _, st := range s.steps {
			var err error
			if quoted, ok := strings.CutPrefix(st.body, "quoted "); ok {
				if st.body, err = strconv.Unquote(quoted); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", s.title, st.line, err)
				}
			}
			if st.answer != nil && st.answer.body != "" && !json.Valid([]byte(st.answer.body)) {
				return nil, fmt.Errorf("%s: %s: the answer is not valid JSON", s.title, st.line)
			}
		}
	}
	return all, nil
}

func isHeader(line string) bool {
	name, _, ok := strings.Cut(line, ": ")
	return ok && (name == "Accept" || name == "Content-Type" || name == "User-Agent")
}

// compactJSON is how values are shown.
func compactJSON(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // it was decoded from JSON
	return strings.TrimSpace(out.String())
}
