package httpclient

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The bounds on what a server can send. They hold for every package that reads a response.
const (
	// MaxObject bounds the bytes of one object.
	MaxObject = 8 << 20
	// MaxObjects and MaxBytes bound a collection: several times what the largest clusters have of one
	// resource, whose objects share a database of at most 8 GiB.
	MaxObjects = 2_000_000
	MaxBytes   = 4 << 30
	// MaxContinue bounds the bytes of a continue token, which becomes part of a URL.
	MaxContinue = 8 << 10
	// MaxError bounds the bytes that are read of a response that is an error.
	MaxError = 64 << 10
	// MaxText bounds in bytes each text of a server that is kept or logged: the message of an error, a kind,
	// the holder of a Lease. A broken server could send one of many megabytes.
	MaxText = 1 << 10
	// MaxRetryAfter bounds how long a server can ask to be left alone.
	MaxRetryAfter = 5 * time.Minute
)

// maxCauses bounds the causes that are kept of one Status.
const maxCauses = 16

// RetryAfter returns the seconds that the server wants to be left alone, in either form of the header, up to
// MaxRetryAfter. It is 0 if there is no such header, or an invalid one, and at least 1 otherwise: a server
// that asks for no pause at all would be asked as fast as it responds.
func RetryAfter(resp *http.Response) int {
	h := resp.Header.Get("Retry-After")
	// A number that does not fit is math.MaxInt64, with an error.
	if s, err := strconv.ParseInt(h, 10, 64); err == nil && s >= 0 || s == math.MaxInt64 {
		return int(min(max(s, 1), int64(MaxRetryAfter/time.Second)))
	}
	// A date is rounded up to whole seconds: a moment too late does no harm, one too
	// early is refused again.
	if t, err := http.ParseTime(h); err == nil {
		return int(max((min(time.Until(t), MaxRetryAfter)+time.Second-1)/time.Second, 1))
	}
	return 0
}

// Cut returns a text of at most MaxText bytes that does not keep a longer one
// in memory, and that says so if it was longer.
func Cut[S ~string](s S) S {
	if len(s) <= MaxText {
		return s
	}
	mark := fmt.Sprintf("… (%d bytes)", len(s))
	end := MaxText - len(mark)
	// Half a character would be invalid UTF-8, in a log line or a Status.
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	// A substring would keep all of the original in memory.
	return S(strings.Clone(string(s[:end])) + mark)
}

// CutStatus cuts the texts of a Status. It builds a new Status, so that a field which a
// later version of the API adds is left out rather than kept at any size.
func CutStatus(s metav1.Status) metav1.Status {
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

// CutError returns err, or one that says the same in at most MaxText bytes
// and does not keep the rest in memory. It is for errors of functions that are
// not part of this package. A Status stays one.
func CutError(err error) error {
	if err == nil || len(err.Error()) <= MaxText {
		return err
	}
	// Callers look at the reason and code of a Status, for example to see that a version
	// is expired, so it must not become a plain error.
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return &apierrors.StatusError{ErrStatus: CutStatus(status.Status())}
	}
	return errors.New(Cut(err.Error()))
}
