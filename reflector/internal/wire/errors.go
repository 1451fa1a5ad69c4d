package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// ObjectError concerns one object, which could not be decoded. What follows it in
// the list or stream is not affected.
//
// It exists so that one object that T cannot represent does not stop the whole cache.
type ObjectError struct {
	// Key, UID and ResourceVersion are as much of the identity as could be read.
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	// Position is the index of the object in its list, or of the event in its
	// stream, from 0.
	Position int
	// Err is the cause.
	Err error
}

// Error names the object by its position.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("object at position %d: %v", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// NotAPIError is an answer that no API server gives.
//
// It has its own type because retrying soon does not help: a person has to log in, or to
// correct an address.
type NotAPIError struct {
	code      int
	mediaType string
	html      bool
	redirect  string // the server that it names
	again     bool   // which is the same one
	text      string // of a page with an error status
}

// Error says what answered instead, since the usual causes are in front of the API
// server: a proxy's login page (HTML), a redirect to it, or a wrong address.
func (e *NotAPIError) Error() string {
	if e.again {
		return fmt.Sprintf("the server %s redirects to itself (HTTP status %d), again and again", e.redirect, e.code)
	}
	if e.redirect != "" {
		return fmt.Sprintf("the server redirects to %s (HTTP status %d), which is not given the credentials", e.redirect, e.code)
	}
	if e.html && e.code != http.StatusOK {
		return fmt.Sprintf("the server answered with HTML (HTTP status %d) instead of JSON: %q", e.code, e.text)
	}
	if e.html {
		return fmt.Sprintf("the server answered with HTML (HTTP status %d) instead of JSON", e.code)
	}
	return fmt.Sprintf("the server answered with %q (HTTP status %d) instead of JSON", e.mediaType, e.code)
}

// DecodeError is an answer that is not what it should be.
type DecodeError struct{ Err error }

// Error begins with what has failed.
func (e *DecodeError) Error() string { return "cannot decode the answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// What an error of a request means is not in one place: some of it is in the types of
// net and crypto/tls, some in a Status, and some only in texts. The functions of this
// file know where, so that the reflector's classes need not.

// IsRefused reports whether nothing listens at the server's address. It is a class of
// its own among network errors, because it says that the host was reached and the
// server is not running, or listens elsewhere.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// IsStuck reports whether a transport blocks. The error names it, and the server may not have
// been asked.
func IsStuck(err error) bool {
	var stuck *httpclient.StuckError
	return errors.As(err, &stuck)
}

// IsNetwork reports whether an error says that a connection could not be made or
// broke.
//
// A broken connection is an everyday event for a watch; anything else that ends one is
// worth a closer look.
func IsNetwork(err error) bool {
	var (
		op  *net.OpError
		dns *net.DNSError
		u   *url.Error
	)
	return errors.As(err, &op) || errors.As(err, &dns) || errors.As(err, &u) ||
		// A body that ends before its declared length, or within a chunk.
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		// The errors of HTTP/2 have no exported types.
		strings.Contains(err.Error(), "http2: ") || strings.Contains(err.Error(), "stream error: ") || strings.Contains(err.Error(), "connection error: ")
}

// IsFuture recognises the three forms in which servers have said that a
// resourceVersion is ahead of them: a cause type since 1.18.6, a cause message
// from 1.17.0, and before that only the message of a timeout.
//
// All three answer a read with a resourceVersion that the server's watch cache has not
// reached within a few seconds (API concepts, "Resource versions"). It is not a timeout
// of the network, and the same request succeeds once the replica has caught up.
func IsFuture(err error, s metav1.Status) bool {
	const text = "Too large resource version"
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	if !apierrors.IsTimeout(err) {
		return false
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Message == text {
				return true
			}
		}
	}
	return strings.Contains(s.Message, text)
}

// IsTLS reports whether the two sides could not agree on a secure connection.
//
// It includes a server that answers in plain HTTP, which is a mistake in the scheme of
// the address or in a proxy (ErrSchemeMismatch, RecordHeaderError).
func IsTLS(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return isAlert(err) || errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// isAlert reports whether the server has refused the handshake by a TLS alert, whose type crypto/tls does not export.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// ConnectionAdvice says what to do about an error of the connection that is not what it looks like, or nothing.
func ConnectionAdvice(err error) string {
	var invalid x509.CertificateInvalidError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		of := "of the server"
		if invalid.Cert.IsCA {
			of = "of the CA"
		}
		return fmt.Sprintf("the certificate %s, %q, is valid from %s to %s; renew it, or set the clock of this machine", of, Cut(invalid.Cert.Subject.String()),
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime))
	case isAlert(err):
		return "the server has refused the TLS handshake; is there a client certificate in the configuration, signed by the CA that the server expects, and still valid?"
	// net/http returns the status text of a proxy that refuses CONNECT, and nothing else.
	case errors.As(err, &status) && status.Status().Code == http.StatusProxyAuthRequired,
		strings.HasSuffix(Cause(err).Error(), http.StatusText(http.StatusProxyAuthRequired)):
		return "the proxy wants credentials; add them to HTTPS_PROXY, or to proxy-url in the kubeconfig, as http://USER:PASSWORD@HOST:PORT"
	}
	return ""
}

// IsTimeout reports whether err is a timeout, of the network or of a context.
// os.ErrDeadlineExceeded, the errors of net, and those of http.Client implement
// Timeout.
func IsTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// Cause leaves out what net/http puts in front of an error: the method and the URL with
// all its parameters. Selectors and resourceVersions make URLs long, and the log line
// names the collection already.
func Cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

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
	body, _ := io.ReadAll(io.LimitReader(resp.Body, httpclient.MaxError))
	if status, ok := parseStatus(body); ok {
		// Functions such as apierrors.IsNotFound look at the Status rather than at HTTP.
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		status.Message = cmp.Or(status.Message, fmt.Sprintf("HTTP status %d", resp.StatusCode))
		// The header wins over the body: a load balancer in front may have set it.
		if s := httpclient.RetryAfter(resp); s > 0 {
			if status.Details == nil {
				status.Details = &metav1.StatusDetails{}
			}
			status.Details.RetryAfterSeconds = int32(s)
		}
		return &apierrors.StatusError{ErrStatus: httpclient.CutStatus(status)}
	}
	// A login page is an answer of status 200, and the page of a proxy one of any
	// status: neither is from an API server, whatever the code says.
	// Enough of the text to recognize where it comes from.
	text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), 300)]), ""))
	if html := looksLikeHTML(mediaType, body); good || html {
		return &NotAPIError{code: resp.StatusCode, mediaType: Cut(mediaType), html: html, text: text}
	}
	// Plain text, as proxies and old servers send it, or JSON that is not a Status.
	err := apierrors.NewGenericServerResponse(resp.StatusCode, "GET", gr, "", text, httpclient.RetryAfter(resp), true)
	// Of a 404 or another 4xx the message does not contain the text.
	if quoted := strconv.Quote(text); !strings.Contains(err.ErrStatus.Message, quoted) {
		err.ErrStatus.Message += fmt.Sprintf(" (HTTP status %d, with the text %s)", resp.StatusCode, quoted)
	}
	return err
}

// parseStatus reads the Status that API servers answer errors with, in JSON or
// protobuf.
func parseStatus(body []byte) (metav1.Status, bool) {
	var status metav1.Status
	// By its first bytes rather than by its Content-Type, which errors often lack.
	if bytes.HasPrefix(body, protoMagic) {
		it, err := unwrapProto(body)
		return status, err == nil && it.kind.kind == "Status" && unmarshalProto(&status, it.raw) == nil
	}
	err := json.Unmarshal(body, &status)
	return status, err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess
}

// statusError is the error that a Status stands for in an answer that began well.
func statusError(status metav1.Status) error {
	if status.Code == 0 && status.Reason == "" && status.Message == "" {
		status.Message = "the server ended the answer with an empty error"
	}
	return &apierrors.StatusError{ErrStatus: httpclient.CutStatus(status)}
}

// looksLikeHTML recognises the page of a proxy, which often has no proper Content-Type.
func looksLikeHTML(mediaType string, body []byte) bool {
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// isProto selects the decoder by what the server says it has sent, not by what was
// requested. A server that does not know protobuf for a resource answers with JSON.
func isProto(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), mimeProto)
}

// drain reads what is left of a good answer, little as it is, so that its
// connection can be used again.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 16<<10) }

// maxForeign bounds in bytes each text of a server that is kept or logged.
const maxForeign = httpclient.MaxText

// Cut is [httpclient.Cut].
func Cut[S ~string](s S) S { return httpclient.Cut(s) }

// CutError is [httpclient.CutError].
func CutError(err error) error { return httpclient.CutError(err) }

// identifier returns a name, UID or resourceVersion of an object that cannot be
// decoded, or "" for what is too long to be one: half a name is another name.
func identifier[S ~string](s S) S {
	if len(s) > maxForeign {
		return ""
	}
	return s
}

// CheckVersion refuses what is too long to be a resourceVersion, which is kept.
func CheckVersion(rv string) error {
	if len(rv) > maxForeign {
		return fmt.Errorf("a resourceVersion of %d bytes", len(rv))
	}
	return nil
}

// CheckPosition refuses a list whose resourceVersion or continue token is too
// long to be one.
func CheckPosition(rv, token string) error {
	if len(rv) > maxForeign || len(token) > httpclient.MaxContinue {
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
