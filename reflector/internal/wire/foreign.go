package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
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

// quoteless returns an error that says what is wrong with the bytes of an object
// without repeating any of them: an object may be a Secret, and errors go into
// logs. The text of an error whose origin is not known is left out; programs
// find the error itself with [errors.As].
func quoteless(err error) error {
	// Done before: an error passes through here at each level that adds to it.
	var hidden *hiddenError
	if err == nil || errors.As(err, &hidden) {
		return err
	}
	var (
		typ    *json.UnmarshalTypeError
		syntax *json.SyntaxError
		text   string
	)
	switch {
	case errors.As(err, &typ):
		// The value of a number is its digits. Struct and Field name parts of the Go type.
		value, _, _ := strings.Cut(typ.Value, " ")
		text = fmt.Sprintf("cannot decode a JSON %s into the field %q of type %s", value, strings.TrimPrefix(typ.Struct+"."+typ.Field, "."), typ.Type)
	case errors.As(err, &syntax):
		text = fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = io.ErrUnexpectedEOF.Error()
	case errors.Is(err, errTooDeep), errors.As(err, new(*sizeError)), errors.As(err, new(*kindError)),
		errors.Is(err, errProto), strings.HasPrefix(err.Error(), "proto: "):
		text = err.Error() // generated decoders name fields and numbers
	default: // such as that of a time or a number, which quotes it
		text = fmt.Sprintf("the decoder failed with a %T, whose text may quote the object", err)
	}
	if len(err.Error()) > maxForeign {
		err = nil // it would be kept as long as the error is
	}
	return &hiddenError{Cut(text), err}
}

// panicked is the error for a panic of a decoder. What was passed to panic may be an
// object, or a text with a part of one.
func panicked(p any) error {
	var err error
	// An index out of range, or a nil pointer: the text is the runtime's, and quotes no
	// more than an index.
	if err, ok := p.(runtime.Error); ok {
		return &hiddenError{Cut("panic: " + err.Error()), err}
	}
	err = fmt.Errorf("panic: %v", p)
	if len(err.Error()) > maxForeign {
		err = nil
	}
	return &hiddenError{fmt.Sprintf("the decoder panicked with a %T, whose text may quote the object", p), err}
}

// hiddenError shows another text than the error has that it wraps.
//
// Logs print Error, which hides the text; errors.Is and errors.As still find the cause.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the cause, or nil if it was too long to keep.
func (e *hiddenError) Unwrap() error { return e.err }
