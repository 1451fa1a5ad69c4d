package scripted

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InTurn answers the n-th request of a verb with the n-th answer, and those after
// the last with the last.
func InTurn(answers ...Answer) Answer {
	return func(w http.ResponseWriter, r *http.Request, n int) { answers[min(n, len(answers))-1](w, r, n) }
}

// Lists answers with a list of ConfigMaps, which has one page.
func Lists(rv string, items ...string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { WriteList(w, rv, "", items...) }
}

// Fails answers with an error, whose message is the reason.
func Fails(code int, reason metav1.StatusReason, causes ...metav1.StatusCause) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		WriteStatus(w, code, reason, string(reason), causes...)
	}
}

// Quiet begins a watch that sends nothing until the client ends it.
func Quiet(w http.ResponseWriter, r *http.Request, _ int) {
	Begin(w)
	Hang(r)
}

// Body answers with what next returns, in one piece.
func Body(contentType string, next func() string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(next()))
	}
}
