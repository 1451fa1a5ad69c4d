package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The functions of this file do not return errors: the test that reads the answer
// notices what is missing.

// WriteStatus writes a whole answer: an error as API servers send it.
func WriteStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(StatusJSON(code, reason, message, causes...))
}

// WriteList writes a whole answer: a list of ConfigMaps. If cont is not empty it
// is the token of the next page.
func WriteList(w http.ResponseWriter, rv, cont string, items ...string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`+"\n",
		rv, cont, strings.Join(items, ","))
}

// Begin sends the head of the answer to a watch.
func Begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush(w)
}

// Send begins the answer to a watch, or goes on with it: an event.
func Send(w http.ResponseWriter, typ, object string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", typ, object)
	flush(w)
}

// flush sends what is buffered.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// Hang keeps an answer open until the client ends the request.
func Hang(r *http.Request) { <-r.Context().Done() }

// Linger keeps an answer open for d, and reports whether the client still waits.
func Linger(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// Cut breaks the connection. It does not return.
func Cut() { panic(http.ErrAbortHandler) }

// StatusJSON is a Status object of a failure, as it is in the body of an answer or
// in an ERROR event.
func StatusJSON(code int, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) []byte {
	s := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
	if len(causes) > 0 {
		s.Details = &metav1.StatusDetails{Causes: causes}
	}
	b, _ := json.Marshal(s) // cannot fail
	return b
}
