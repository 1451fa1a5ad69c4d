package shards

import (
	"fmt"
	"strconv"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// table is one of a result.
type table struct {
	name  string // of its place in the page
	title string
	measure.Table
}

// newTable returns a table without rows. Only its first column has words.
func newTable(name, title string, header ...string) table {
	return table{name, title, measure.Table{Header: header, Left: []int{0}}}
}

// number returns a number with three digits that count.
func number(x float64) string {
	switch {
	case x >= 100 || x == float64(int(x)):
		return amount(x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// amount returns a whole number with its digits in groups.
func amount(x float64) string {
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// size returns bytes in powers of 1000.
func size(x float64) string {
	units := []string{"B", "kB", "MB", "GB"}
	for x >= 1000 && len(units) > 1 {
		x, units = x/1000, units[1:]
	}
	if x >= 100 || units[0] == "B" {
		return fmt.Sprintf("%.0f %s", x, units[0])
	}
	return fmt.Sprintf("%.1f %s", x, units[0])
}

// seconds returns a time.
func seconds(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.1:
		return fmt.Sprintf("%.1f ms", x*1000)
	case x < 1:
		return fmt.Sprintf("%.0f ms", x*1000)
	}
	return fmt.Sprintf("%.1f s", x)
}

// onOff names the two settings of the gate.
func onOff(filter bool) string {
	if filter {
		return "on"
	}
	return "off"
}
