package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxForeign bounds in bytes each text of a server that is kept or logged: the
// message of an error, a kind, the type of an event. A broken server could send
// one of many megabytes, which [Health] would keep and each log line repeat.
const maxForeign = 1 << 10

// maxCauses bounds the causes that are kept of one Status.
const maxCauses = 16

// Cut returns a text of at most maxForeign bytes that does not keep a longer one
// in memory, and that says so if it was longer.
func Cut[S ~string](s S) S {
	if len(s) <= maxForeign {
		return s
	}
	mark := fmt.Sprintf("… (%d bytes)", len(s))
	end := maxForeign - len(mark)
	// Half a character would be invalid UTF-8, in a log line or a Status.
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	// A substring would keep all of the original in memory.
	return S(strings.Clone(string(s[:end])) + mark)
}

// cutStatus cuts the texts of a Status. It builds a new Status, so that a field which a
// later version of the API adds is left out rather than kept at any size.
func cutStatus(s metav1.Status) metav1.Status {
	out := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: Cut(s.APIVersion), Kind: Cut(s.Kind)},
		Status:   Cut(s.Status), Message: Cut(s.Message), Reason: Cut(s.Reason), Code: s.Code,
	}
	if d := s.Details; d != nil {
		out.Details = &metav1.StatusDetails{
			Name: Cut(d.Name), Group: Cut(d.Group), Kind: Cut(d.Kind), UID: Cut(d.UID), RetryAfterSeconds: d.RetryAfterSeconds,
		}
		// An invalid object can have a cause per field.
		for _, c := range d.Causes[:min(len(d.Causes), maxCauses)] {
			out.Details.Causes = append(out.Details.Causes, metav1.StatusCause{Type: Cut(c.Type), Message: Cut(c.Message), Field: Cut(c.Field)})
		}
	}
	return out
}

// CutError returns err, or one that says the same in at most maxForeign bytes
// and does not keep the rest in memory. It is for errors of functions that are
// not part of this package. A Status stays one.
func CutError(err error) error {
	if err == nil || len(err.Error()) <= maxForeign {
		return err
	}
	// Callers look at the reason and code of a Status, for example to see that a version
	// is expired, so it must not become a plain error.
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return &apierrors.StatusError{ErrStatus: cutStatus(status.Status())}
	}
	return errors.New(Cut(err.Error()))
}

// identifier returns a name, UID or resourceVersion of an object that cannot be
// decoded, or "" for what is too long to be one: half a name is another name.
func identifier[B ~string | ~[]byte](b B) string {
	if len(b) > maxForeign {
		return ""
	}
	return string(b)
}

// CheckVersion refuses what is too long to be a resourceVersion, which is kept.
func CheckVersion(rv string) error {
	if len(rv) > maxForeign {
		return fmt.Errorf("a resourceVersion of %d bytes", len(rv))
	}
	return nil
}

// maxContinue bounds the bytes of a continue token, which is part of a URL.
const maxContinue = 8 << 10

// CheckPosition refuses a list whose resourceVersion or continue token is too
// long to be one.
func CheckPosition(rv, token string) error {
	if len(rv) > maxForeign || len(token) > maxContinue {
		return fmt.Errorf("the list has a resourceVersion of %d bytes and a continue token of %d bytes", len(rv), len(token))
	}
	return nil
}
