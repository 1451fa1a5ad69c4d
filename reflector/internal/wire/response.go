package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MaxRetryAfter bounds how long a server can ask to be left alone.
const MaxRetryAfter = 5 * time.Minute

// errorBody is how many bytes of an error answer are read.
const errorBody = 64 << 10

// answerError returns the error that an HTTP answer stands for, or nil if it is
// a good answer in an encoding that can be read.
//
//	200, JSON or protobuf, or no type │ nil: the body is read as what it says
//	3xx with a Location               │ NotAPIError that names the other server
//	a Status in the body              │ StatusError, with the server's reason and text
//	200 of another type, or HTML      │ NotAPIError: a login page, a proxy, a web server
//	anything else                     │ StatusError made of the code and some of the text
func answerError(resp *http.Response, gr schema.GroupResource) error {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	// Only 200: no other status of success carries a list or a watch.
	good := resp.StatusCode == http.StatusOK
	if good && (mediaType == "" || strings.HasSuffix(mediaType, "json") || strings.HasPrefix(mediaType, mimeProto)) {
		return nil
	}
	// A redirect gets here because sameServer did not follow it.
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		return &NotAPIError{code: resp.StatusCode, redirect: Cut(to.Scheme + "://" + to.Host), again: resp.Request != nil && to.Scheme == resp.Request.URL.Scheme && to.Host == resp.Request.URL.Host}
	}
	// An error while reading it does not matter: the status is known, the text is a
	// help.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	if status, ok := parseStatus(body); ok {
		// Functions such as apierrors.IsNotFound look at the Status rather than at HTTP.
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		// The header wins over the body: a load balancer in front may have set it.
		if s := retryAfter(resp); s > 0 {
			if status.Details == nil {
				status.Details = &metav1.StatusDetails{}
			}
			status.Details.RetryAfterSeconds = int32(s)
		}
		return &apierrors.StatusError{ErrStatus: cutStatus(status)}
	}
	// A login page is an answer of status 200, and the page of a proxy one of any
	// status: neither is from an API server, whatever the code says.
	if good || looksLikeHTML(mediaType, body) {
		return &NotAPIError{code: resp.StatusCode, mediaType: Cut(mediaType), html: looksLikeHTML(mediaType, body)}
	}
	// Plain text, as proxies and old servers send it: enough of it to recognise where
	// it comes from.
	text := strings.TrimSpace(string(body[:min(len(body), 300)]))
	return apierrors.NewGenericServerResponse(resp.StatusCode, "GET", gr, "", text, retryAfter(resp), true)
}

// parseStatus reads the Status that API servers answer errors with, in JSON or
// protobuf.
func parseStatus(body []byte) (metav1.Status, bool) {
	var status metav1.Status
	// By its first bytes rather than by its Content-Type, which errors often lack.
	if bytes.HasPrefix(body, protoMagic) {
		tm, raw, err := unwrapProto(body, typeMeta{})
		return status, err == nil && tm.kind == "Status" && unmarshalProto(&status, raw) == nil
	}
	err := json.Unmarshal(body, &status)
	return status, err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess
}

// looksLikeHTML recognises the page of a proxy, which often has no proper Content-Type.
func looksLikeHTML(mediaType string, body []byte) bool {
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// retryAfter returns the seconds that the server wants to be left alone, in
// either form of the header; 0 if it does not say.
func retryAfter(resp *http.Response) int {
	h := resp.Header.Get("Retry-After")
	if s, err := strconv.Atoi(h); err == nil && s > 0 {
		return min(s, int(MaxRetryAfter/time.Second))
	}
	// A date is rounded up to whole seconds: a moment too late does no harm, one too
	// early is refused again.
	if t, err := http.ParseTime(h); err == nil {
		if d := time.Until(t); d > 0 {
			return min(int((d+time.Second-1)/time.Second), int(MaxRetryAfter/time.Second))
		}
	}
	return 0
}

// isProto selects the decoder by what the server says it has sent, not by what was
// requested. A server that does not know protobuf for a resource answers with JSON.
func isProto(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), mimeProto)
}

// drain reads what is left of a good answer, little as it is, so that its
// connection can be used again.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 16<<10) }
