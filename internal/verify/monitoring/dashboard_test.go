package monitoring

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what is checked of the JSON.
type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ UID string }
	}
}

// Every query of the dashboard can be evaluated, and every metric of informers and queues
// is on it.
func TestDashboardNamesWhatIsExported(t *testing.T) {
	var d dashboard
	require.NoError(t, json.Unmarshal(read(t, "dashboard.json"), &d))
	all := live(t)
	used := map[string]bool{}
	legend := regexp.MustCompile(`{{(\w+)}}`)
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			// Grafana replaces these before it asks.
			expr := strings.NewReplacer("$__rate_interval", "5m", "$informer", ".*", "$queue", ".*", "$replica", ".*").Replace(q.Expr)
			assert.NotContains(t, expr, "$")
			names := all.check(t, expr)
			for _, name := range names {
				used[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
			}
			for _, m := range legend.FindAllStringSubmatch(q.LegendFormat, -1) {
				assert.True(t, all[names[0]][m[1]], "%s: the legend needs the label %s", q.Expr, m[1])
			}
		}
	}
	for name := range all {
		family := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		assert.True(t, used[family], "%s is on no panel", family)
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
			require.NotNil(t, m, v.Definition)
			assert.True(t, all[m[1]][m[2]], v.Definition)
		}
	}
}

// A panel says what it shows, in which unit, and covers no other one.
func TestDashboardIsComplete(t *testing.T) {
	t.Parallel()
	var d dashboard
	require.NoError(t, json.Unmarshal(read(t, "dashboard.json"), &d))
	assert.NotEmpty(t, d.Title)
	assert.NotEmpty(t, d.UID)
	ids, place := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		assert.NotEmpty(t, p.Title)
		assert.Empty(t, ids[p.ID], "of %s and another panel", p.Title)
		ids[p.ID] = p.Title
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				assert.Empty(t, place[[2]int{x, y}], "covered by %s", p.Title)
				place[[2]int{x, y}] = p.Title
			}
		}
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		if p.Type == "row" {
			continue
		}
		assert.NotEmpty(t, p.Description, p.Title)
		assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		assert.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, q := range p.Targets {
			assert.Equal(t, "${datasource}", q.Datasource.UID, p.Title)
			assert.NotEmpty(t, q.LegendFormat, p.Title)
		}
	}
}
