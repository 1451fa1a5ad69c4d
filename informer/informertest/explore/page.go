package explore

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageRow is an event, on the side of the server or of the controller.
type pageRow struct {
	At, Who, Text, View, Class string
	Server                     bool
}

// writePage writes the page about a finding: what happened to the server on the left, what
// the controller saw and did on the right.
func writePage(file string, f *Finding) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("page about the finding: %w", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	var rows []pageRow
	for _, e := range untilFailure(f.events) {
		row := pageRow{At: formatTime(e.at), Who: e.who, Text: firstLines(e.numbered()), View: e.view}
		switch e.kind {
		case eventSeen:
			row.Class = "seen"
		case eventStep:
			row.Class, row.Server = "step", true
		case eventWrite:
			row.Class = "write"
		case eventFault:
			row.Class, row.Server = "fault", e.who == "fault"
		case eventFailure:
			row.Class, row.Server = "failure", true
		}
		rows = append(rows, row)
	}
	return page.Execute(out, map[string]any{"Finding": f, "Schedule": f.name(), "Again": f.again(), "Rows": rows})
}
