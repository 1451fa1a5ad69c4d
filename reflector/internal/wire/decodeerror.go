package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// quoteless returns an error that says what is wrong with the bytes of an object
// without repeating any of them: an object may be a Secret, and errors go into
// logs. The text of an error whose origin is not known is left out; programs
// find the error itself with [errors.As].
//
// The errors of encoding/json, time and strconv quote their input. Each kind is
// therefore known here by its type and described by what does not come from the object:
// a Go type, a position, a field of T.
func quoteless(err error) error {
	// Done before: an error passes through here at each level that adds to it.
	var hidden *hiddenError
	if err == nil || errors.As(err, &hidden) {
		return err
	}
	var (
		typ     *json.UnmarshalTypeError
		syntax  *json.SyntaxError
		parse   *time.ParseError
		number  *strconv.NumError
		corrupt base64.CorruptInputError
		text    string
	)
	switch {
	case errors.As(err, &typ):
		// The value of a number is its digits.
		value, _, _ := strings.Cut(typ.Value, " ")
		text = fmt.Sprintf("cannot decode a JSON %s into a %s", value, typ.Type)
		// Struct and Field name parts of the Go type.
		if field := strings.TrimPrefix(typ.Struct+"."+typ.Field, "."); typ.Field != "" {
			text = fmt.Sprintf("cannot decode a JSON %s into the field %s of type %s", value, field, typ.Type)
		}
	case errors.As(err, &syntax):
		text = fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
	case errors.As(err, &parse):
		text = "a time has the wrong format"
	// Err is ErrSyntax or ErrRange. Num, which Error prints as well, is the input.
	case errors.As(err, &number):
		text = "a number is invalid: " + number.Err.Error()
	case errors.As(err, &corrupt):
		text = corrupt.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = io.ErrUnexpectedEOF.Error()
	case errors.Is(err, errProto), strings.HasPrefix(err.Error(), "proto: "):
		text = err.Error() // generated decoders name fields and numbers
	default:
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
