package checks

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cronFields are the bounds of the fields of a schedule.
var cronFields = []struct {
	first, last int
	names       string // of the values from first on
}{{0, 59, ""}, {0, 23, ""}, {1, 31, ""}, {1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {0, 6, "sun mon tue wed thu fri sat"}}

// schedule checks the schedule of a CronJob, with the words of the parser that clusters use.
func schedule(v any, _ *scope, path *field.Path, _ []string) field.ErrorList {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	var errs field.ErrorList
	plain := s
	if zone := strings.HasPrefix(s, "TZ=") || strings.HasPrefix(s, "CRON_TZ="); zone {
		_, plain, _ = strings.Cut(s, " ")
	}
	if err := parseSchedule(strings.TrimSpace(plain)); err != nil {
		errs = append(errs, field.Invalid(path, s, err.Error()))
	}
	if strings.Contains(s, "TZ") {
		errs = append(errs, field.Invalid(path, s, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	return errs
}

func parseSchedule(s string) error {
	if strings.HasPrefix(s, "@") {
		switch s {
		case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
			return nil
		}
		if every, ok := strings.CutPrefix(s, "@every "); ok && every != "" {
			return nil
		}
		return fmt.Errorf("unrecognized descriptor: %s", s)
	}
	words := strings.Fields(s)
	if len(words) != len(cronFields) {
		return fmt.Errorf("expected exactly %d fields, found %d: %v", len(cronFields), len(words), words)
	}
	for i, word := range words {
		for part := range strings.SplitSeq(word, ",") {
			if err := parseRange(part, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseRange checks "*", "n", "n-m", each with or without "/step".
func parseRange(s string, i int) error {
	f := cronFields[i]
	span, step, stepped := strings.Cut(s, "/")
	if strings.Contains(step, "/") {
		return fmt.Errorf("too many slashes: %s", s)
	}
	from, to, ranged := strings.Cut(span, "-")
	if strings.Contains(to, "-") {
		return fmt.Errorf("too many hyphens: %s", s)
	}
	start, end := f.first, f.last
	var err error
	if from != "*" && from != "?" {
		if start, err = cronNumber(from, i); err != nil {
			return err
		}
		switch {
		case ranged:
			if end, err = cronNumber(to, i); err != nil {
				return err
			}
		case !stepped:
			end = start
		}
	}
	if stepped {
		if n, err := cronNumber(step, -1); err != nil {
			return err
		} else if n == 0 {
			return fmt.Errorf("step of range should be a positive number: %s", s)
		}
	}
	switch {
	case start < f.first:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", start, f.first, s)
	case end > f.last:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", end, f.last, s)
	case start > end:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", start, end, s)
	}
	return nil
}

// cronNumber reads a number, or the name of a month or day.
func cronNumber(s string, i int) (int, error) {
	if i >= 0 {
		for n, name := range strings.Fields(cronFields[i].names) {
			if strings.EqualFold(s, name) {
				return cronFields[i].first + n, nil
			}
		}
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("failed to parse int from %s: %s", s, err)
	case n < 0:
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	}
	return n, nil
}
