package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// count returns a number with its unit: "1 item", "1,200 items". The unit is always
// there: a bare number on a page with ten others says nothing.
func count(n int, unit string) string { return many(n, unit, unit+"s") }

// many is count for a unit with another plural.
func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + more
}

// are is count with a verb.
func are(n int, unit string) string {
	if n == 1 {
		return "1 " + unit + " is"
	}
	return count(n, unit) + " are"
}

// grouped writes a number in groups of three digits. The JSON has plain numbers.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	// Not before the first digit, nor between the sign and it.
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// enumerate names the first few of many. A sentence with a hundred names would bury the
// rest of the page; the list on the card has more of them.
func enumerate(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// title returns a name as it is shown. Options.Name is optional, and an empty place
// would look like a fault of the page.
func title(name string) string {
	if name == "" {
		return "(without a name)"
	}
	return printable(name)
}

// since says for how long something has been so. Nothing for a time that is not known,
// so that it can follow any state.
func since(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " for " + ago(now, at)
}

// agoOrNever says how long ago that was.
func agoOrNever(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return ago(now, at) + " ago"
}

// ago returns how long ago that was, or "-" for never.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return short(now.Sub(at))
}

// short rounds a duration for people. Clocks are read one after the other, so it
// may come out below zero. Each range has about three significant digits.
func short(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	// String writes all units, "2h0m0s". Those that are zero at the end are cut off,
	// first the seconds.
	case d < 48*time.Hour:
		text := d.Round(time.Second).String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return text
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}
