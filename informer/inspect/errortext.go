package inspect

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// withheld stands for a text that may quote an object.
const withheld = "not shown, since it may quote an object; it is in the log"

// message returns the text of the last error, unless it may quote an object: one of
// decoding or transforming, or one of a source or a sink of which nothing is known. All
// other classes are about the request or the answer as a whole, whose texts the library
// or the server writes.
func message(h *reflector.Health) string {
	switch h.LastErrorClass {
	case reflector.ClassDecode, reflector.ClassTransform, "sink", "other":
		return withheld
	}
	return shorten(h.LastError.Error(), maxMessage)
}

// errorText returns the text of an error that the program's own function returned. What
// such a text contains is up to the program, hence HideErrors. One kind is known to
// quote objects and is reduced in any case: a 422.
func (o *Options) errorText(err error) string {
	// A captured panic is an error in this queue. Its text repeats the value, whose
	// type decides what may be shown.
	var panicked *workqueue.PanicError
	if errors.As(err, &panicked) {
		return o.panicText(panicked.Value)
	}
	var status apierrors.APIStatus
	switch {
	case o.HideErrors:
		return "not shown, since HideErrors is set; it is in the log"
	// Anywhere in the chain: a program usually wraps the server's answer in a sentence.
	case errors.As(err, &status) && status.Status().Code == http.StatusUnprocessableEntity:
		return invalidText(status)
	}
	return shorten(fmt.Sprint(err), maxMessage) // Sprint survives a panic in Error
}

// invalidText describes an answer about an invalid object without the values, which the
// server quotes: the fields alone. API servers put "Invalid value: …" into the message
// of a 422, and into that of each cause. Field and type of a cause are a path and a
// constant (metav1.StatusCause).
func invalidText(err apierrors.APIStatus) string {
	text, details := "the server finds the object invalid (422)", err.Status().Details
	if details != nil {
		var fields []string
		for _, c := range details.Causes {
			fields = append(fields, fmt.Sprintf("%s (%s)", c.Field, c.Type))
		}
		text = fmt.Sprintf("the server finds %s %q invalid (422): %s", details.Kind, details.Name, strings.Join(fields, ", "))
	}
	return shorten(text, maxMessage) + "; the text is " + withheld
}

// panicText returns the text of a panic of the program's own function. A string is what
// most programs panic with, and it was written for people. Any other value is shown as
// its type, because printing it would print what hangs on it.
func (o *Options) panicText(value any) string {
	if err, ok := value.(error); ok {
		return "panic: " + o.errorText(err)
	}
	if o.HideErrors {
		return "panic: not shown, since HideErrors is set; it is in the log"
	}
	if text, ok := value.(string); ok {
		return "panic: " + shorten(text, maxMessage)
	}
	return fmt.Sprintf("panic: a value of type %T, %s", value, withheld)
}
