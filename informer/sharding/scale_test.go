package sharding

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The calculated costs of SCALE.md follow from its measured units, by its formulas.
func TestCosts(t *testing.T) {
	t.Parallel()
	units := scaleTable(t, "unit")
	table := scaleTable(t, "")
	require.Len(t, units, 7)
	require.Len(t, table, 21)
	for column := range 6 {
		filter := column < 3
		m, n, r, c := table[0][column], table[1][column], table[2][column], table[3][column]
		b, e, l, h, p, perObject := units[0][0], units[1][0], units[2][0], units[3][0], units[4][0], units[5][0]
		receivers, joined, left := 1.0, m/n, m/(n-1) // of a change; objects in a list after a move
		if !filter {
			receivers, joined, left, perObject = n, m, m, units[6][0]
		}
		const lease, renewals, handover = 15.0, 6.0, 1.0 // renewals is the default of RenewInterval
		most := math.Ceil(r / n)
		listers := min(n-1, most)
		leave := handover + left*perObject
		for i, want := range []float64{
			c * e * receivers / n, c * e * receivers, n * c, c * p * receivers / n,
			n * renewals / lease, n * n * renewals / lease * l,
			m * h * (1/n + 1/r), most * m / r,
			2 * joined * b, listers, listers * left * b, listers * m,
			2 * math.Floor(r/n), 2 * most,
			handover + joined*perObject, leave, lease + leave,
		} {
			assert.InEpsilon(t, want, table[4+i][column], 0.05, "line %d, column %d: cells have two digits or more", 4+i, column)
		}
	}
}

// scaleTable returns the values of the table of SCALE.md whose header starts with a cell, the last one
// if there are several: a line for each of its lines, without the first cell.
func scaleTable(t *testing.T, header string) (lines [][]float64) {
	t.Helper()
	page, err := os.ReadFile("SCALE.md")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case !inside:
			if inside = strings.TrimSpace(cells[0]) == header; inside {
				lines = [][]float64{nil}
			}
		case strings.HasPrefix(line, "| ---"):
		default:
			var values []float64
			for _, cell := range cells[1:] {
				values = append(values, scaleValue(cell))
			}
			lines = append(lines, values)
		}
	}
	return lines[1:]
}

// scaleValue is the value of a cell in its base unit, or NaN.
func scaleValue(cell string) float64 {
	number, unit, _ := strings.Cut(strings.TrimSuffix(strings.ReplaceAll(strings.TrimSpace(cell), ",", ""), "/s"), " ")
	value, err := strconv.ParseFloat(number, 64)
	factor, known := map[string]float64{"": 1, "B": 1, "s": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "ms": 1e-3, "µs": 1e-6}[unit]
	if err != nil || !known {
		return math.NaN()
	}
	return value * factor
}
